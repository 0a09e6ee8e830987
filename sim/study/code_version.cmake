# Writes OUTPUT: code_version(), over the sources of ROOMS below SOURCE. Leaves the file alone where nothing changed.
# usage: cmake -DSOURCE=DIR -DROOMS=a,b -DVERSION=V -DOUTPUT=FILE -P code_version.cmake
string(REPLACE "," ";" rooms "${ROOMS}")
foreach(room ${rooms})
  file(GLOB sources RELATIVE ${SOURCE} ${SOURCE}/${room}/*.cpp ${SOURCE}/${room}/*.hpp)
  list(SORT sources)
  foreach(source ${sources})
    file(SHA256 ${SOURCE}/${source} digest)
    string(APPEND digests "${source} ${digest}\n")
  endforeach()
endforeach()
string(SHA256 digest "${digests}")
string(SUBSTRING ${digest} 0 16 digest)
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
#include "sim/study/code_version.hpp"

namespace rehearse {

std::string_view code_version() { return "@VERSION@ (@digest@)"; }

}  // namespace rehearse
]])
