// Shapes of the network between nodes: the links beyond the NICs, and which of them a path takes. One .cpp
// and one row of the table each.
#pragma once
#include <functional>
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

struct Hop {
  LinkId link;
  int to;  // vertex
};

// What the links join: nodes first, then switches.
struct NetworkGraph {
  int vertices = 0;
  std::function<void(int vertex, std::vector<Hop>&)> out;  // links that leave it; appended, by number
  std::function<std::string(int vertex)> name;             // "node3", "leaf0"
  // Vertex behind a NIC port: a switch, or the port's own node where nodes pass traffic on.
  std::function<int(int port)> entry;
};

struct Network {
  std::vector<LinkClass> classes;
  NetworkGraph graph;
  // Links from port to port (index over the cluster: node x ports a node + place) of different nodes, in
  // order, none of the ports' own; appended. Returns the latency added. Throws std::runtime_error where no
  // way is left.
  std::function<Seconds(int from, int to, std::vector<LinkId>& links)> path;
};

using IsDown = std::function<bool(LinkId)>;

// `first_link`: number of the network's first link. `is_down`: asked when a path is looked for.
using MakeNetwork = Network (*)(const Cluster& cluster, int first_link, const IsDown& is_down);

struct NetworkShape {
  FabricShape shape;
  MakeNetwork make;
};
std::span<const Named<NetworkShape>> network_shapes();

Network make_tiers(const Cluster& cluster, int first_link, const IsDown& is_down);
// These take a shortest path, of several the one that falls to the destination's port, as with static routes
// by destination. On a torus it goes in dimension order: x, then y, then z; half a turn away, even
// coordinates go up and odd ones down. Around links that are down they take a shortest that is left.
Network make_torus(const Cluster& cluster, int first_link, const IsDown& is_down);  // ring too
Network make_full_mesh(const Cluster& cluster, int first_link, const IsDown& is_down);
Network make_links(const Cluster& cluster, int first_link, const IsDown& is_down);
// Minimal routing: over one global link alone, even where two and no local one would be fewer.
Network make_dragonfly(const Cluster& cluster, int first_link, const IsDown& is_down);

}  // namespace rehearse
