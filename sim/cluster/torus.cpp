// A grid of nodes that closes on itself; a ring is one of one dimension. A dimension of two nodes has one
// link each way, not two.
#include <memory>
#include <stdexcept>

#include "sim/cluster/graph.hpp"

namespace rehearse {
namespace {

struct Direction {
  int size, stride, sign, first;  // `first`: its link from node 0; the others' follow
};

int neighbour(int node, const Direction& d) {
  const int at = node / d.stride % d.size;
  return node + ((at + d.sign + d.size) % d.size - at) * d.stride;
}

// The way around from `at`. Half a turn is as far both ways: every other coordinate takes the other one.
bool goes_up(int at, int to, int size) {
  const int away = (to - at + size) % size;
  return 2 * away == size && size > 2 ? at % 2 == 0 : 2 * away <= size;
}

// Positive and, where there is one, negative direction of each dimension that has links.
std::vector<Direction> directions_of(const std::vector<int>& dims, int nodes, int first_link) {
  std::vector<Direction> directions;
  int stride = 1;
  for (const int size : dims) {
    for (int sign = 1; sign >= -1 && size > (sign > 0 ? 1 : 2); sign -= 2) {
      directions.push_back({size, stride, sign, first_link});
      first_link += nodes;
    }
    stride *= size;
  }
  if (stride != nodes) throw std::runtime_error("the dimensions of the torus do not multiply to its nodes");
  return directions;
}

}  // namespace

Network make_torus(const Cluster& cluster, int first_link, const IsDown& is_down) {
  const bool ring = cluster.fabric == FabricShape::ring;
  const std::vector<int> dims = ring ? std::vector<int>{cluster.nodes} : cluster.dims;
  const auto directions =
      std::make_shared<const std::vector<Direction>>(directions_of(dims, cluster.nodes, first_link));
  Network network;
  for (const Direction& d : *directions) {
    size_t dimension = 0;
    for (int stride = 1; stride < d.stride || dims[dimension] == 1; ++dimension) stride *= dims[dimension];
    const std::string name = std::string(1, "xyz"[dimension]) + (d.sign > 0 ? '+' : '-');
    network.classes.push_back({(ring ? "ring " : "torus ") + name, d.first, cluster.nodes, cluster.wire,
                               [=](int i) { return "node" + std::to_string(i) + "." + name; }});
  }
  network.graph = {cluster.nodes,
                   [=](int node, std::vector<Hop>& hops) {
                     for (const Direction& d : *directions)
                       hops.push_back({LinkId(d.first + node), neighbour(node, d)});
                   },
                   [](int node) { return "node" + std::to_string(node); },
                   [each = cluster.ports_per_node()](int port) { return port / each; }};
  const Rule dimension_order = [=](int from, int to, std::vector<LinkId>& links) {
    for (const Direction& d : *directions) {
      const int at = from / d.stride % d.size, goal = to / d.stride % d.size;
      if (at == goal || goes_up(at, goal, d.size) != (d.sign > 0)) continue;
      for (int left = ((goal - at) * d.sign + d.size) % d.size; left > 0; --left) {
        links.emplace_back(d.first + from);
        from = neighbour(from, d);
      }
    }
  };
  add_paths(network, dimension_order, is_down, cluster.hop_latency);
  return network;
}

}  // namespace rehearse
