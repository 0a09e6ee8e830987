// A link from each node to each other.
#include "sim/cluster/graph.hpp"

namespace rehearse {

Network make_full_mesh(const Cluster& cluster, int first_link, const IsDown& is_down) {
  const int nodes = cluster.nodes;
  const auto link = [=](int from, int to) {
    return LinkId(first_link + from * (nodes - 1) + to - (to > from ? 1 : 0));
  };
  Network network;
  network.classes.push_back({"mesh", first_link, nodes * (nodes - 1), cluster.wire, [=](int i) {
                               const int from = i / (nodes - 1), to = i % (nodes - 1);
                               return "node" + std::to_string(from) + ">node" +
                                      std::to_string(to + (to >= from ? 1 : 0));
                             }});
  network.graph = {nodes,
                   [=](int node, std::vector<Hop>& hops) {
                     for (int to = 0; to < nodes; ++to)
                       if (to != node) hops.push_back({link(node, to), to});
                   },
                   [](int node) { return "node" + std::to_string(node); },
                   [each = cluster.ports_per_node()](int port) { return port / each; }};
  add_paths(
      network, [=](int from, int to, std::vector<LinkId>& links) { links.push_back(link(from, to)); },
      is_down, cluster.hop_latency);
  return network;
}

}  // namespace rehearse
