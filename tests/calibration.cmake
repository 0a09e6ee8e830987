find_package(Python3 REQUIRED COMPONENTS Interpreter)

# Tests of the harness stand apart: libsimgrid exports MPI symbols, so no program links both it and MPI.
file(GLOB calibration_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/calibration/*.cpp)
file(GLOB threads_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/calibration/threads/*.cpp)
file(GLOB ranks_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/calibration/ranks/*.cpp)

function(calibration_test name)
  add_executable(${name} ${ARGN})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE REHEARSE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  foreach(library rehearse_host_backend rehearse_calibration)
    if(TARGET ${library})
      target_link_libraries(${name} PRIVATE ${library})
    endif()
  endforeach()
endfunction()

function(gtest_calibration_test name label)
  if(ARGN)
    calibration_test(${name} ${ARGN})
    target_link_libraries(${name} PRIVATE GTest::gmock_main)
    precompile(${name} <gmock/gmock.h>)
    gtest_discover_tests(${name} PROPERTIES LABELS ${label} DISCOVERY_TIMEOUT 60)
  endif()
endfunction()
gtest_calibration_test(test_calibration unit ${calibration_tests})
gtest_calibration_test(test_calibration_threads threads ${threads_tests})

# Every rank is one process of the program; skipped without mpirun.
if(ranks_tests)
  calibration_test(test_calibration_ranks ${ranks_tests})
  target_link_libraries(test_calibration_ranks PRIVATE GTest::gmock)
  foreach(ranks 2 3 4)
    add_test(NAME calibration_ranks_${ranks}
      COMMAND bash ${PROJECT_SOURCE_DIR}/tests/calibration/ranks/start.sh ${ranks} $<TARGET_FILE:test_calibration_ranks>)
    set_tests_properties(calibration_ranks_${ranks} PROPERTIES
      LABELS unit SKIP_RETURN_CODE 77 TIMEOUT 120 PROCESSORS ${ranks})
  endforeach()
endif()

# The program as a user runs it: command lines, sweeps that are killed and go on.
if(TARGET rehearse-calibrate)
  add_test(NAME calibration_run
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/calibration/run_test.py $<TARGET_FILE:rehearse-calibrate>)
  set_tests_properties(calibration_run PROPERTIES LABELS unit TIMEOUT 300)
endif()

# Measure, fit, simulate, run for real: minutes of both cores.
add_test(NAME calibration_loop
  COMMAND bash ${PROJECT_SOURCE_DIR}/tests/calibration/loop_test.sh ${CMAKE_BINARY_DIR} ${PROJECT_SOURCE_DIR})
set_tests_properties(calibration_loop PROPERTIES LABELS unit SKIP_RETURN_CODE 77 TIMEOUT 600 RUN_SERIAL ON)

# Open MPI frees neither what it opens at MPI_Init nor names it: its modules are gone when leaks are looked for.
if(REHEARSE_SANITIZE)
  set(mpi_tests calibration_loop)
  if(TARGET rehearse-calibrate)
    list(APPEND mpi_tests calibration_run)
  endif()
  if(ranks_tests)
    list(APPEND mpi_tests calibration_ranks_2 calibration_ranks_3 calibration_ranks_4)
  endif()
  set_property(TEST ${mpi_tests} APPEND PROPERTY ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
endif()
