// Backends by name.
#pragma once
#include <memory>
#include <string>

#include "calibration/backends/backend.hpp"

namespace rehearse::calibration {

// Throws InputErrors E-BACKEND where there is no backend of that name in this build.
void check_backend(const std::string& name);

// "host" or "cuda"; on all ranks, which get it together or throw together. Throws InputErrors: E-BACKEND for
// another name, or where the device is missing.
std::unique_ptr<Backend> make_backend(const std::string& name, Ranks& ranks);

}  // namespace rehearse::calibration
