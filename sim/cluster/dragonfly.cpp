// Groups of routers: each router has a link to each other of its group, each group one to each other group.
// The links of a group to the others are dealt out over its routers in turn (Kim et al. 2008, "Technology-
// driven, highly-scalable dragonfly topology").
#include <algorithm>

#include "sim/cluster/graph.hpp"

namespace rehearse {
namespace {

struct Dragonfly {
  int nodes, routers, groups, routers_per_group, nodes_per_router, first_local, first_global;

  int group_of(int router) const { return router / routers_per_group; }
  int first_of(int group) const { return group * routers_per_group; }
  int size_of(int group) const { return std::min(routers_per_group, routers - first_of(group)); }
  static int index_among_others(int own, int other) { return other - (other > own ? 1 : 0); }
  // Router of a group that has its link to another.
  int gateway(int group, int other) const {
    return first_of(group) + index_among_others(group, other) % size_of(group);
  }
  LinkId local(int from, int to) const {  // routers of one group
    const int group = group_of(from), first = first_of(group), others = size_of(group) - 1;
    return LinkId(first_local + first * (routers_per_group - 1) + (from - first) * others +
                  index_among_others(from, to) - first);
  }
  LinkId global(int group, int other) const {
    return LinkId(first_global + group * (groups - 1) + index_among_others(group, other));
  }
  int locals() const {
    const int last = size_of(groups - 1);
    return (groups - 1) * routers_per_group * (routers_per_group - 1) + last * (last - 1);
  }
  // Links of one router, which count from 0; so do vertices of routers after the nodes.
  void out(int router, std::vector<Hop>& hops) const {
    const int group = group_of(router), first = first_of(group);
    for (int to = first; to < first + size_of(group); ++to)
      if (to != router) hops.push_back({local(router, to), nodes + to});
    for (int other = 0; other < groups; ++other)
      if (other != group && gateway(group, other) == router)
        hops.push_back({global(group, other), nodes + gateway(other, group)});
  }
  void minimal(int from, int to, std::vector<LinkId>& links) const {
    const int group = group_of(from), other = group_of(to);
    const auto go = [&](int router) {
      if (from != router) links.push_back(local(from, router));
      from = router;
    };
    if (group != other) {
      go(gateway(group, other));
      links.push_back(global(group, other));
      from = gateway(other, group);
    }
    go(to);
  }
  std::string local_name(int i) const {
    const int a = routers_per_group;
    const int group = a > 1 ? std::min(i / (a * (a - 1)), groups - 1) : 0, others = size_of(group) - 1;
    const int within = i - group * a * (a - 1), from = within / others, to = within % others;
    return "group" + std::to_string(group) + ".router" + std::to_string(from) + ">router" +
           std::to_string(to + (to >= from ? 1 : 0));
  }
  std::string global_name(int i) const {
    const int group = i / (groups - 1), other = i % (groups - 1);
    return "group" + std::to_string(group) + ">group" + std::to_string(other + (other >= group ? 1 : 0));
  }
  std::string vertex_name(int v) const {
    if (v < nodes) return "node" + std::to_string(v);
    const int group = group_of(v - nodes);
    return "group" + std::to_string(group) + ".router" + std::to_string(v - nodes - first_of(group));
  }
};

Dragonfly dragonfly_of(const Cluster& cluster, int first_link) {
  Dragonfly d{};
  d.nodes = cluster.nodes;
  d.nodes_per_router = cluster.nodes_per_router;
  d.routers_per_group = cluster.routers_per_group;
  d.routers = (d.nodes + d.nodes_per_router - 1) / d.nodes_per_router;
  d.groups = (d.routers + d.routers_per_group - 1) / d.routers_per_group;
  d.first_local = first_link;
  d.first_global = first_link + d.locals();
  return d;
}

}  // namespace

Network make_dragonfly(const Cluster& cluster, int first_link, const IsDown& is_down) {
  const Dragonfly d = dragonfly_of(cluster, first_link);
  Network network;
  if (d.locals() > 0)
    network.classes.push_back(
        {"local", d.first_local, d.locals(), cluster.local, [=](int i) { return d.local_name(i); }});
  if (d.groups > 1)
    network.classes.push_back({"global", d.first_global, d.groups * (d.groups - 1), cluster.global,
                               [=](int i) { return d.global_name(i); }});
  const int per_router = cluster.ports_per_node() * d.nodes_per_router;
  network.graph = {d.nodes + d.routers,
                   [=](int v, std::vector<Hop>& hops) {
                     if (v >= d.nodes) d.out(v - d.nodes, hops);
                   },
                   [=](int v) { return d.vertex_name(v); },
                   [=](int port) { return d.nodes + port / per_router; }};
  const Rule minimal = [=](int from, int to, std::vector<LinkId>& links) {
    d.minimal(from - d.nodes, to - d.nodes, links);
  };
  add_paths(network, minimal, is_down, cluster.hop_latency);
  return network;
}

}  // namespace rehearse
