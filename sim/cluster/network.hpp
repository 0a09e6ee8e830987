// Shapes of the network between nodes: the links beyond the NICs, and which of them a path takes. One .cpp
// and one row of the table each.
#pragma once
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "sim/base/index.hpp"
#include "sim/base/names.hpp"
#include "sim/cluster/cluster.hpp"

namespace rehearse {

// Links alike in role and line rate, numbered in a row.
struct LinkClass {
  std::string name;  // "NIC up", "leaf up", "global"
  int first = 0, count = 0;
  BytesPerSec rate;                         // one link, one direction
  std::function<std::string(int)> name_of;  // of the i-th: "node3.nic5.up"
};

struct Network {
  std::vector<LinkClass> classes;
  // Links from port to port (index over the cluster: node x ports a node + place) of different nodes, in
  // order, none of the ports' own; appended. Returns the latency added. Throws std::runtime_error where no
  // way is left.
  std::function<Seconds(int from, int to, std::vector<LinkId>& links)> path;
};

// `first_link`: number of the network's first link. `is_down`: asked when a path is looked for.
using MakeNetwork = Network (*)(const Cluster& cluster, int first_link,
                                const std::function<bool(LinkId)>& is_down);

struct NetworkShape {
  FabricShape shape;
  MakeNetwork make;
};
std::span<const Named<NetworkShape>> network_shapes();

Network make_tiers(const Cluster& cluster, int first_link, const std::function<bool(LinkId)>& is_down);
// dragonfly, torus, ring, full_mesh, links: the shortest path, of equally short ones the one whose links come
// first.
Network make_graph(const Cluster& cluster, int first_link, const std::function<bool(LinkId)>& is_down);

}  // namespace rehearse
