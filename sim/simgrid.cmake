# The target simgrid::simgrid. Debian's SimGrid ships no CMake package.
find_path(SIMGRID_INCLUDE_DIR simgrid/s4u.hpp REQUIRED)
find_library(SIMGRID_LIBRARY simgrid REQUIRED)
if(NOT TARGET simgrid::simgrid)
  add_library(simgrid::simgrid UNKNOWN IMPORTED GLOBAL)
  set_target_properties(simgrid::simgrid PROPERTIES IMPORTED_LOCATION ${SIMGRID_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${SIMGRID_INCLUDE_DIR})
endif()
