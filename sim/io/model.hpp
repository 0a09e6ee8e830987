// Model files: a transformer by its sizes.
#pragma once
#include <string>

#include "sim/io/reader.hpp"
#include "sim/spec/scenario.hpp"

namespace rehearse {

// Reads a model from a mapping; `path` is its key path ("model", or "" for a file read by itself).
ModelSpec read_model(const DocNode& node, const std::string& path, Problems& problems);

// Reads a model file. Throws InputErrors.
ModelSpec load_model(const std::string& path);

}  // namespace rehearse
