# The page of `rehearse report`, bundled by esbuild where node and npm are; without them the program has no page and
# says so. npm's packages are fetched while configuring, so that a build needs no network.
find_program(NODE_EXECUTABLE node)
find_program(NPM_EXECUTABLE npm)
set(page_sources ${PROJECT_SOURCE_DIR}/sim/view/page)
set(page_lock ${PROJECT_SOURCE_DIR}/package-lock.json)
set(page_modules ${PROJECT_SOURCE_DIR}/node_modules/.package-lock.json)  # npm writes it last
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page_lock})

include(${page_sources}/packages.cmake)
set(page_missing "node, npm or npm's packages are missing")
if(NODE_EXECUTABLE AND NPM_EXECUTABLE AND ${page_lock} IS_NEWER_THAN ${page_modules})
  message(STATUS "npm ci")
  fetch_packages(${NPM_EXECUTABLE} ${PROJECT_SOURCE_DIR} page_failed)
  if(page_failed)
    file(REMOVE ${page_modules})
    set(page_missing "npm ci failed:\n${page_failed}")
  endif()
endif()

if(NODE_EXECUTABLE AND EXISTS ${page_modules})
  set(page ${CMAKE_BINARY_DIR}/page.html)
  file(GLOB page_files CONFIGURE_DEPENDS ${page_sources}/*.js ${page_sources}/*.mjs ${page_sources}/*.css ${page_sources}/*.html)
  add_custom_command(OUTPUT ${page} COMMAND ${NODE_EXECUTABLE} ${page_sources}/build.mjs ${page}
    DEPENDS ${page_files} ${page_modules} COMMENT "Bundling the page" VERBATIM)
  set_source_files_properties(view/page_template.cpp PROPERTIES
    OBJECT_DEPENDS ${page} COMPILE_DEFINITIONS "REHEARSE_PAGE=\"${page}\"")
else()
  warn_of_no_page("${page_missing}")
endif()
