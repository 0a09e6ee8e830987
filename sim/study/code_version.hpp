// What results depend on beside their input.
#pragma once
#include <string_view>

namespace rehearse {

// "0.1.0 (1f0c...)": the program's version, and a digest of the sources that figures come from; made by the
// build.
std::string_view code_version();

}  // namespace rehearse
