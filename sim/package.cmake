# What find_package(rehearse) finds: the rooms as static libraries, with their headers as "sim/..." below include/rehearse.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rehearse)

add_library(rehearse_all INTERFACE)
target_link_libraries(rehearse_all INTERFACE rehearse_study rehearse_engine)
set_target_properties(rehearse_all PROPERTIES EXPORT_NAME rehearse)
install(TARGETS rehearse_all ${figure_room_targets} EXPORT rehearse ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(figure_room ${figure_rooms})
  install(DIRECTORY ${figure_room} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rehearse/sim
    FILES_MATCHING PATTERN "*.hpp" PATTERN "mpi" EXCLUDE PATTERN "page" EXCLUDE)
endforeach()

install(EXPORT rehearse NAMESPACE rehearse:: FILE rehearse-targets.cmake DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_SOURCE_DIR}/package.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/rehearse-config.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS CMAKE_INSTALL_DATADIR)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/rehearse-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/rehearse-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/rehearse-config-version.cmake
  simgrid.cmake DESTINATION ${package_dir})
