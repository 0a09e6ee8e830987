# Traces opened in the programs that people look at them with. Skipped where node, chromium or node_modules are missing.
add_executable(make_trace ${PROJECT_SOURCE_DIR}/tests/trace/make_trace.cpp)
target_link_libraries(make_trace PRIVATE test_support)
set(viewer_files ${CMAKE_CURRENT_BINARY_DIR}/viewers)
file(MAKE_DIRECTORY ${viewer_files})

foreach(detail chunk kernel)
  add_test(NAME trace_${detail} COMMAND make_trace ${viewer_files}/${detail}.json.gz ${detail})
  set_tests_properties(trace_${detail} PROPERTIES LABELS unit FIXTURES_SETUP trace_${detail})
  add_test(NAME trace_speedscope_${detail}
    COMMAND bash ${PROJECT_SOURCE_DIR}/tests/trace/speedscope_test.sh ${viewer_files}/${detail}.json.gz ${viewer_files}/${detail}.png)
  set_tests_properties(trace_speedscope_${detail} PROPERTIES
    LABELS viewer SKIP_RETURN_CODE 77 TIMEOUT 300 FIXTURES_REQUIRED trace_${detail})
endforeach()
