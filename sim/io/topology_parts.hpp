// Readings of the parts of a topology.
#pragma once
#include "sim/io/topology.hpp"

namespace rehearse {

// A key that is there and changes nothing here (E-CLUSTER-KEY).
void refuse_idle(MapReader& reader, std::string_view key, const std::string& why);

// The value of `fabric`; `nodes_given`: cluster.nodes holds, else it follows from the shape where it can.
void read_fabric(const DocNode& node, const std::string& path, bool nodes_given, Cluster& cluster,
                 Problems& problems);

void read_overrides(const DocNode& node, const std::string& path, bool nodes_known, Cluster& cluster,
                    Problems& problems);

// A file `path` with a line for each rank, under the header `gpu` (index over the cluster) or `node,gpu`
// (index in the node). `named`: what names it. Notes E-FILE-READ, E-CLUSTER-PLACEMENT.
void read_placement(const std::string& path, const DocNode& named, Cluster& cluster, Problems& problems);

// Overrides that name no link, and GPUs that cannot reach each other. `node`, `path`: of the cluster.
void check_network(const DocNode& node, const std::string& path, const Cluster& cluster, Problems& problems);

}  // namespace rehearse
