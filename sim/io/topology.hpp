// Topology files: the nodes of a cluster and what joins them.
#pragma once
#include <string>

#include "sim/cluster/cluster.hpp"
#include "sim/io/paths.hpp"

namespace rehearse {

// Reads a topology from a mapping whose key path is `path`; one that does not say how many nodes stands for
// one.
Cluster read_topology(const DocNode& node, const std::string& path, Problems& problems);

// Reads a topology file. Throws InputErrors.
Cluster load_topology(const std::string& path);

// The keys of a scenario's `cluster`: those of its topology (a file, now in the tree, or a mapping), then its
// own, which win.
DocNode merge_cluster(const DocNode& cluster);

}  // namespace rehearse
