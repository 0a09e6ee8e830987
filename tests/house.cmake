# Tests of the house itself: include rule, format, shipped files, installation.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(house_tests ${PROJECT_SOURCE_DIR}/tests/unit)

add_test(NAME house_layers COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/check_layers)
add_test(NAME house_layers_selftest COMMAND ${Python3_EXECUTABLE} ${house_tests}/house_layers_test.py)
add_test(NAME house_setup COMMAND bash ${house_tests}/house_setup_test.sh)
add_test(NAME house_skipped COMMAND ${Python3_EXECUTABLE} ${house_tests}/house_skipped_test.py ${CMAKE_CTEST_COMMAND})
add_test(NAME house_tidy_selftest COMMAND bash ${house_tests}/house_tidy_test.sh)
set_tests_properties(house_layers house_layers_selftest house_setup house_skipped house_tidy_selftest PROPERTIES LABELS unit)
set_tests_properties(house_tidy_selftest PROPERTIES SKIP_RETURN_CODE 77)

add_test(NAME house_tidy COMMAND bash ${PROJECT_SOURCE_DIR}/tools/tidy ${CMAKE_BINARY_DIR})
set_tests_properties(house_tidy PROPERTIES LABELS slow SKIP_RETURN_CODE 77 TIMEOUT 3600)

add_test(NAME house_readme COMMAND ${Python3_EXECUTABLE} ${house_tests}/house_readme_test.py)
add_test(NAME house_install COMMAND bash ${house_tests}/house_install_test.sh ${CMAKE_BINARY_DIR})
add_test(NAME house_format COMMAND bash ${PROJECT_SOURCE_DIR}/tools/format --check)
set_tests_properties(house_readme house_install house_format PROPERTIES LABELS unit)
string(JOIN " " sanitizer_flags ${sanitizers})
if(NOT REHEARSE_FUZZ)
  add_test(NAME house_install_example COMMAND bash ${PROJECT_SOURCE_DIR}/tests/install_example/test.sh ${CMAKE_BINARY_DIR}
    ${CMAKE_CXX_COMPILER} ${CMAKE_GENERATOR} ${CMAKE_MAKE_PROGRAM} "${sanitizer_flags}")
  set_tests_properties(house_install_example PROPERTIES LABELS unit TIMEOUT 300)
endif()
set_tests_properties(house_format PROPERTIES SKIP_RETURN_CODE 77)

# Examples are tests: every scenario is read and run, every model stands in one of them.
file(GLOB_RECURSE scenarios CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/scenarios ${PROJECT_SOURCE_DIR}/scenarios/*.yaml)
list(FILTER scenarios EXCLUDE REGEX "^(models|studies)/")
foreach(scenario ${scenarios})
  foreach(command check run)
    add_test(NAME scenario_${command}:${scenario}
      COMMAND bash ${house_tests}/house_scenario_test.sh $<TARGET_FILE:rehearse> ${command} ${PROJECT_SOURCE_DIR}/scenarios/${scenario})
    set_tests_properties(scenario_${command}:${scenario} PROPERTIES LABELS scenario)
  endforeach()
endforeach()
