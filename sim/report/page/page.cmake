# The page of `rehearse report`, bundled by esbuild where node and npm are; without them the program has no page and
# says so. npm's packages are fetched while configuring, so that a build needs no network.
find_program(NODE_EXECUTABLE node)
find_program(NPM_EXECUTABLE npm)
set(page_sources ${PROJECT_SOURCE_DIR}/sim/report/page)
set(page_lock ${PROJECT_SOURCE_DIR}/package-lock.json)
set(page_modules ${PROJECT_SOURCE_DIR}/node_modules/.package-lock.json)  # npm writes it last
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page_lock})

if(NODE_EXECUTABLE AND NPM_EXECUTABLE AND ${page_lock} IS_NEWER_THAN ${page_modules})
  message(STATUS "npm ci")
  execute_process(COMMAND ${NPM_EXECUTABLE} ci --ignore-scripts --no-audit --no-fund
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} RESULT_VARIABLE page_failed OUTPUT_VARIABLE page_said ERROR_VARIABLE page_said)
  if(page_failed)
    file(REMOVE ${page_modules})
    message(WARNING "rehearse report will have no page, as npm ci failed:\n${page_said}")
  endif()
endif()

if(NODE_EXECUTABLE AND EXISTS ${page_modules})
  set(page ${CMAKE_BINARY_DIR}/page.html)
  file(GLOB page_files CONFIGURE_DEPENDS ${page_sources}/*.js ${page_sources}/*.mjs ${page_sources}/*.css ${page_sources}/*.html)
  add_custom_command(OUTPUT ${page} COMMAND ${NODE_EXECUTABLE} ${page_sources}/build.mjs ${page}
    DEPENDS ${page_files} ${page_modules} COMMENT "Bundling the page" VERBATIM)
  set_source_files_properties(report/page_template.cpp PROPERTIES
    OBJECT_DEPENDS ${page} COMPILE_DEFINITIONS "REHEARSE_PAGE=\"${page}\"")
else()
  message(WARNING "node, npm or npm's packages are missing: rehearse report will write no page, and its tests are skipped. "
    "tools/setup installs node and npm; npm's registry must be in reach when CMake configures.")
endif()
