// A point of a study as a scenario file of its own.
#pragma once
#include <string>
#include <vector>

#include "sim/io/paths.hpp"

namespace rehearse {

// YAML of the scenario at `path` with the settings applied, under another name: a whole file, with the keys
// of the model and the topology in it, and absolute paths where a profile or a schedule is no shipped one. It
// runs from any folder to the same figures. Throws InputErrors as read_job().
std::string scenario_text(const std::string& path, const std::vector<std::string>& sets,
                          const std::string& name, const DataRoots& roots);

}  // namespace rehearse
