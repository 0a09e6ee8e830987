// Whole files as text.
#pragma once
#include <string>

#include "sim/base/error.hpp"

namespace rehearse {

// The bytes of a regular file, or of standard input for "-". Throws InputErrors (E-FILE-READ) at `named`, the
// place that names the file, where it is not readable, a store of results or longer than `limit`.
std::string read_file(const std::string& path, const Place& named = {}, size_t limit = 64u << 20);

// "-" is shown as "<stdin>" in messages.
std::string shown_path(const std::string& path);

}  // namespace rehearse
