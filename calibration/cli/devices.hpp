// Backends by name.
#pragma once
#include <memory>
#include <string>

#include "calibration/backends/backend.hpp"

namespace rehearse::calibration {

// "host" or "cuda". Throws InputErrors: E-BACKEND for another name, or where the device is missing.
std::unique_ptr<Backend> make_backend(const std::string& name, Ranks& ranks);

}  // namespace rehearse::calibration
