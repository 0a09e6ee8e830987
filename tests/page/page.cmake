# The page of `rehearse report` in headless Chromium. Skipped where the build has no page, or node, chromium or npm's
# packages are missing.
add_executable(make_page ${PROJECT_SOURCE_DIR}/tests/page/make_page.cpp)
target_link_libraries(make_page PRIVATE test_support)
set(page_files ${CMAKE_CURRENT_BINARY_DIR}/page)
file(MAKE_DIRECTORY ${page_files})

function(page_test name)
  add_test(NAME page_${name}
    COMMAND bash ${PROJECT_SOURCE_DIR}/tests/page/page_test.sh ${name} $<TARGET_FILE:rehearse> $<TARGET_FILE:make_page> ${page_files})
  set_tests_properties(page_${name} PROPERTIES LABELS viewer SKIP_RETURN_CODE 77 TIMEOUT 300)
endfunction()
foreach(name run comparison hostile)
  page_test(${name})
endforeach()
page_test(sweep)
add_test(NAME page_packages COMMAND bash ${PROJECT_SOURCE_DIR}/tests/page/packages_test.sh ${CMAKE_COMMAND} ${NPM_EXECUTABLE})
set_tests_properties(page_packages PROPERTIES LABELS unit SKIP_RETURN_CODE 77 TIMEOUT 120)
set_tests_properties(page_sweep PROPERTIES RUN_SERIAL ON)  # it takes times
