#include <algorithm>
#include <set>

#include "sim/cli/topology.hpp"

namespace rehearse {
namespace {

bool crosses(const Fabric& fabric, const Path& path, std::string_view start) {
  return std::any_of(path.links.begin(), path.links.end(), [&](LinkId l) {
    return fabric.classes()[fabric.link(l).link_class].name.starts_with(start);
  });
}

std::string within_domain(const Fabric& fabric, int from, int to, const Path& path) {
  const Cluster& c = fabric.cluster();
  if (fabric.same_island(GpuId(from), GpuId(to))) {
    if (c.node == NodeShape::pairs) return "in one pair, NVLink";
    const bool node = fabric.node_of(GpuId(from)) == fabric.node_of(GpuId(to));
    return node ? "in one node, NVLink" : "in one NVLink domain, other node";
  }
  if (crosses(fabric, path, "host bridge")) return "in one node, over the host bridge";
  return c.gpus_per_switch > 0 ? "below one PCIe switch" : "in one node, PCIe";
}

std::string over_network(const Fabric& fabric, const Path& path) {
  static constexpr const char* kTiers[] = {"leaf", "pod", "core switch", "top switch"};
  const Cluster& c = fabric.cluster();
  const auto hops = static_cast<size_t>(
      std::count_if(path.links.begin(), path.links.end(), [&](LinkId l) { return fabric.of_network(l); }) -
      2);
  switch (c.fabric) {
    case FabricShape::one_tier:
      return c.nodes_per_domain > 1 ? "between NVLink domains" : "between nodes";
    case FabricShape::fat_tree:
    case FabricShape::rail:
      return hops / 2 < c.tiers.size() ? std::string("over one ") + kTiers[hops / 2] : "over the spine";
    case FabricShape::dragonfly:
      if (crosses(fabric, path, "global")) return "to another group";
      return hops > 0 ? "in one group" : "below one router";
    case FabricShape::torus:
    case FabricShape::ring:
    case FabricShape::full_mesh:
    case FabricShape::links:
      break;
  }
  return std::to_string(hops) + (hops == 1 ? " link" : " links");
}

bool is_down(const Cluster& c, int node) {
  return std::any_of(c.overrides.begin(), c.overrides.end(),
                     [&](const Override& o) { return o.down && o.node == node; });
}

}  // namespace

ShownPath path_between(const Fabric& fabric, int from, int to) {
  if (from == to) return {"one GPU", from, to, {}, {}, {}};
  const Path path = fabric.route(GpuId(from), GpuId(to));
  ShownPath shown{path.network ? over_network(fabric, path) : within_domain(fabric, from, to, path),
                  from,
                  to,
                  {},
                  path.latency,
                  path.links};
  if (path.links.empty()) {
    const double slower =
        std::min(fabric.speed_of(fabric.node_of(GpuId(from))), fabric.speed_of(fabric.node_of(GpuId(to))));
    shown.rate = fabric.cluster().nvlink * slower;
    return shown;
  }
  shown.rate = fabric.link(path.links.front()).rate;
  for (const LinkId l : path.links)
    shown.rate = BytesPerSec(std::min(shown.rate.value, fabric.link(l).rate.value));
  return shown;
}

std::vector<ShownPath> representative_paths(const Fabric& fabric) {
  constexpr size_t kMost = 8;
  const Cluster& c = fabric.cluster();
  std::vector<int> gpus;
  for (int g = 0; g < c.nodes * c.gpus_per_node; ++g)
    if (!is_down(c, fabric.node_of(GpuId(g)))) gpus.push_back(g);
  std::vector<ShownPath> paths;
  std::set<std::string> kinds;
  for (size_t i = 1; i < gpus.size(); ++i) {
    ShownPath path = path_between(fabric, gpus[0], gpus[i]);
    if (kinds.insert(path.between).second) paths.push_back(std::move(path));
  }
  std::stable_sort(paths.begin(), paths.end(),
                   [](const ShownPath& a, const ShownPath& b) { return a.links.size() < b.links.size(); });
  if (paths.size() > kMost) paths.erase(paths.begin() + kMost - 1, paths.end() - 1);
  return paths;
}

}  // namespace rehearse
