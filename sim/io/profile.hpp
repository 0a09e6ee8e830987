// Reads a device profile and the tables that it names.
#pragma once
#include <memory>
#include <string>

#include "sim/spec/profile.hpp"

namespace rehearse {

// `path` is a calibration/profiles/*.yaml; its tables are named relative to its folder. Throws InputErrors:
// those of the YAML reader, E-PROFILE-CSV (a table that cannot be taken, at its own file, line and column),
// E-PROFILE-TABLE (two tables where one must be), E-PROFILE-STACK (an unknown or repeated set of constants).
std::shared_ptr<const DeviceProfile> load_profile(const std::string& path);

}  // namespace rehearse
