// Topology files: the nodes of a cluster and what joins them.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "sim/cluster/cluster.hpp"
#include "sim/io/paths.hpp"

namespace rehearse {

// The path of a file that a key's value names; notes what is wrong with it.
using FindFile = std::function<std::optional<std::string>(const DocNode& value, const std::string& key)>;

// Reads a topology from a mapping whose key path is `path`, and checks its parts against each other. One that
// does not say how many nodes (says_nodes()) stands for one; what depends on their number is then not
// checked, and a placement not read.
Cluster read_topology(const DocNode& node, const std::string& path, Problems& problems,
                      const FindFile& find_file);

// Whether there is a number of nodes: given, or following from the dimensions of a torus or a list of links.
bool says_nodes(const DocNode& cluster);

// Reads a topology file; files that it names are found beside it. Throws InputErrors.
Cluster load_topology(const std::string& path);

// The keys of a scenario's `cluster`: those of its topology (a file, now in the tree, or a mapping), then its
// own, which win. Below `fabric` and `pcie` they win key by key, unless `fabric` names another shape.
DocNode merge_cluster(const DocNode& cluster);

// The word of `fabric` as the mapping it stands for.
void expand_fabric(DocNode& fabric);

}  // namespace rehearse
