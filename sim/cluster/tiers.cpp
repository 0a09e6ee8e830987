// Fat-trees, plain and by rail. A switch's uplinks are one link each way: adaptive routing spreads over them.
#include <memory>
#include <stdexcept>

#include "sim/cluster/network.hpp"

namespace rehearse {
namespace {

constexpr const char* kTierNames[] = {"leaf", "pod", "core", "top"};

struct Level {
  int nodes, switches;  // below one switch; of all planes together
  int first_up, first_down, first_vertex;
  Seconds latency;
};

struct Tree {
  int nodes, ports, planes;  // nodes; ports of one; planes: a switch for each rail, or 1
  int root;                  // vertex above the last tier: non-blocking
  std::vector<Level> levels;

  int switch_of(const Level& level, int port) const {
    return port / ports / level.nodes * planes + (planes > 1 ? port % ports : 0);
  }
  int parent_of(size_t level, int which) const {  // vertex
    if (level + 1 == levels.size()) return root;
    const Level& above = levels[level + 1];
    const int per_switch = above.nodes / levels[level].nodes;
    return above.first_vertex + which / planes / per_switch * planes + which % planes;
  }
  int level_of(int vertex) const {
    int level = 0;
    while (level + 1 < static_cast<int>(levels.size()) && levels[level + 1].first_vertex <= vertex) ++level;
    return level;
  }
  std::string switch_name(int level, int which) const {
    const std::string rail = planes > 1 ? "rail" + std::to_string(which % planes) + "." : "";
    return rail + kTierNames[level] + std::to_string(which / planes);
  }
  std::string vertex_name(int vertex) const {
    if (vertex < nodes) return "node" + std::to_string(vertex);
    if (vertex == root) return levels.empty() ? "switch" : "spine";
    const int level = level_of(vertex);
    return switch_name(level, vertex - levels[level].first_vertex);
  }
  void out(int vertex, std::vector<Hop>& hops) const {
    if (vertex < nodes) return;
    const int level = vertex == root ? static_cast<int>(levels.size()) : level_of(vertex);
    if (vertex != root) {
      const int which = vertex - levels[level].first_vertex;
      hops.push_back({LinkId(levels[level].first_up + which), parent_of(level, which)});
    }
    if (level == 0) return;
    const Level& below = levels[level - 1];
    for (int i = 0; i < below.switches; ++i)
      if (parent_of(level - 1, i) == vertex)
        hops.push_back({LinkId(below.first_down + i), below.first_vertex + i});
  }
  Seconds path(int from, int to, std::vector<LinkId>& links, const IsDown& is_down) const {
    Seconds latency;
    size_t crossed = 0;
    const auto add = [&](int first, const Level& level, int port) {
      links.emplace_back(first + switch_of(level, port));
      if (!is_down(links.back())) return;
      throw std::runtime_error("no way is left from node" + std::to_string(from / ports) + " to node" +
                               std::to_string(to / ports) + ": the links between " +
                               vertex_name(level.first_vertex + switch_of(level, port)) +
                               " and what is above it are down");
    };
    for (const Level& level : levels) {
      if (switch_of(level, from) == switch_of(level, to)) break;
      add(level.first_up, level, from);
      latency += level.latency;
      ++crossed;
    }
    for (size_t i = crossed; i-- > 0;) add(levels[i].first_down, levels[i], to);
    return latency;
  }
};

}  // namespace

Network make_tiers(const Cluster& cluster, int first_link, const IsDown& is_down) {
  Network network;
  const int each = cluster.ports_per_node();
  const auto tree = std::make_shared<Tree>(
      Tree{cluster.nodes, each, cluster.fabric == FabricShape::rail ? each : 1, cluster.nodes, {}});
  double narrowing = 1;
  for (size_t t = 0; t < cluster.tiers.size(); ++t) {
    const Tier& tier = cluster.tiers[t];
    narrowing *= tier.oversubscription;
    const int switches = (cluster.nodes + tier.nodes - 1) / tier.nodes * tree->planes;
    const BytesPerSec rate = cluster.port() * (double(tier.nodes) * each / tree->planes / narrowing);
    for (const char* end : {".up", ".down"})
      network.classes.push_back({std::string(kTierNames[t]) + " " + (end + 1),
                                 first_link + (end[1] == 'd' ? switches : 0), switches, rate,
                                 [=](int i) { return tree->switch_name(static_cast<int>(t), i) + end; }});
    tree->levels.push_back(
        {tier.nodes, switches, first_link, first_link + switches, tree->root, tier.latency});
    first_link += 2 * switches;
    tree->root += switches;
  }
  network.graph = {tree->root + 1, [=](int v, std::vector<Hop>& hops) { tree->out(v, hops); },
                   [=](int v) { return tree->vertex_name(v); },
                   [=](int port) {
                     if (tree->levels.empty()) return tree->root;
                     return tree->levels[0].first_vertex + tree->switch_of(tree->levels[0], port);
                   }};
  network.path = [=](int from, int to, std::vector<LinkId>& links) {
    return tree->path(from, to, links, is_down);
  };
  return network;
}

}  // namespace rehearse
