// Where files are found: beside the file that names them, then in the data that came with the program.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sim/io/reader.hpp"

namespace rehearse {

// Folders that hold topologies/, calibration/profiles/ and scenarios/; the first that has a file wins.
struct DataRoots {
  std::vector<std::string> dirs;
};

// $REHEARSE_DATA, ../share/rehearse beside the program, the installed data and the source tree (that one
// first where the program runs from a build inside it); those that exist.
DataRoots find_data_roots(const std::string& executable, const std::string& installed,
                          const std::string& source_tree);

enum class FileKind { scenario, model, topology, profile, schedule, placement };

// The path of a file that `node` names as the value of `key`. A word without '/' and ending is the name of a
// shipped file; anything else is a path, tried in `folder` (of the file that names it), then in the data.
// Notes E-FILE-MISSING, with the names there are and the nearest one, and returns nothing where there is no
// such file.
std::optional<std::string> resolve(const DocNode& node, const std::string& key, FileKind kind,
                                   const std::string& folder, const DataRoots& roots, Problems& problems);

// The same for a scenario named on the command line, tried in the working directory first. Throws
// InputErrors. "-" stays.
std::string resolve_scenario(const std::string& path, const DataRoots& roots);

// The folder of a file, "." where its path has none or is "-".
std::string folder_of(const std::string& path);

}  // namespace rehearse
