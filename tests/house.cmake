# Tests of the house itself: include rule, format, shipped files, installation.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(house_tests ${PROJECT_SOURCE_DIR}/tests/unit)

add_test(NAME house_layers COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/check_layers)
add_test(NAME house_layers_selftest COMMAND ${Python3_EXECUTABLE} ${house_tests}/house_layers_test.py)
add_test(NAME house_setup COMMAND bash ${house_tests}/house_setup_test.sh)
set_tests_properties(house_layers house_layers_selftest house_setup PROPERTIES LABELS unit)

add_test(NAME house_tidy COMMAND bash ${PROJECT_SOURCE_DIR}/tools/tidy ${CMAKE_BINARY_DIR})
set_tests_properties(house_tidy PROPERTIES LABELS slow SKIP_RETURN_CODE 77 TIMEOUT 3600)
