# Sweeps as a user runs them, and what other programs drive.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
foreach(name sweep batch scale)
  add_test(NAME study_${name} COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/study/${name}_test.py $<TARGET_FILE:rehearse>)
  set_tests_properties(study_${name} PROPERTIES LABELS unit TIMEOUT 300)
endforeach()
set(calibrate)
if(TARGET rehearse-calibrate)
  set(calibrate $<TARGET_FILE:rehearse-calibrate>)
endif()
add_test(NAME input_files COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/input/files_test.py $<TARGET_FILE:rehearse> ${calibrate})
set_tests_properties(input_files PROPERTIES LABELS unit TIMEOUT 300)
add_test(NAME input_hints COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/input/hints_test.py ${PROJECT_SOURCE_DIR} $<TARGET_FILE:rehearse>
  ${calibrate})
set_tests_properties(input_hints PROPERTIES LABELS unit TIMEOUT 300)
if(TARGET rehearse-mpi)
  add_test(NAME study_mpi COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/study/mpi_test.py
    $<TARGET_FILE:rehearse> $<TARGET_FILE:rehearse-mpi>)
  set_tests_properties(study_mpi PROPERTIES LABELS unit SKIP_RETURN_CODE 77 TIMEOUT 300 PROCESSORS 2)
  if(REHEARSE_SANITIZE)  # as in calibration.cmake
    set_property(TEST study_mpi APPEND PROPERTY ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
  endif()
endif()
