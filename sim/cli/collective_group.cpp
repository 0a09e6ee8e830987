#include "sim/cli/collective_group.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "sim/base/error.hpp"

namespace rehearse {
namespace {

[[noreturn]] void refuse_cluster(const char* code, const std::string& message) {
  throw InputErrors(InputError{{}, "", code, message, ""});
}

bool own_size(const Cluster& c) { return c.fabric == FabricShape::torus || c.fabric == FabricShape::links; }

// Nodes that are up, by domain; as many domains as `nodes` need, evenly filled.
std::vector<std::vector<int>> chosen_nodes(const Cluster& c, int nodes) {
  std::map<int, std::vector<int>> up;
  for (int n = 0; n < c.nodes; ++n)
    if (std::none_of(c.overrides.begin(), c.overrides.end(),
                     [&](const Override& o) { return o.node == n && o.down; }))
      up[n / c.nodes_per_domain].push_back(n);
  const int domains = (nodes + c.nodes_per_domain - 1) / c.nodes_per_domain;
  const int together = (nodes + domains - 1) / domains;
  std::vector<std::vector<int>> chosen;
  for (const auto& [domain, has] : up) {
    const auto take = std::min<size_t>({has.size(), size_t(together), size_t(nodes)});
    if (take == 0) break;
    chosen.emplace_back(has.begin(), has.begin() + long(take));
    nodes -= int(take);
  }
  if (nodes > 0)
    refuse_cluster("E-CLUSTER-SIZE", "the cluster has " + std::to_string(c.live_nodes()) +
                                         " nodes that are up, " + std::to_string(nodes) + " too few");
  return chosen;
}

// Rate at which the bytes that leave a domain (PCIe: that go over each edge) pass on the narrowest link.
BytesPerSec rate_on(const GroupLinks& links, const Fabric& fabric) {
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [link, weight] : links.weights)
    least = std::min(least, fabric.link(LinkId(link)).rate.value * links.parts / weight);
  return BytesPerSec(least);
}

// Each GPU sends to the next.
GroupLinks shift_links(const std::vector<GpuId>& gpus, const Fabric& fabric) {
  std::map<int, int> weights;
  GroupLinks links;
  for (size_t i = 0; i < gpus.size(); ++i) {
    const Path path = fabric.route(gpus[i], gpus[(i + 1) % gpus.size()]);
    for (const LinkId link : path.links) ++weights[link.value];
    if (path.network) links.hop_latency = std::max(links.hop_latency, path.latency);
  }
  links.weights.assign(weights.begin(), weights.end());
  return links;
}

}  // namespace

CollectiveGroup collective_group(Cluster c, int ranks, int per_node, CollectiveOp op) {
  const int nodes = ranks / per_node;
  const int domains = (nodes + c.nodes_per_domain - 1) / c.nodes_per_domain;
  if (!own_size(c)) {
    c.nodes = std::max(c.nodes, domains * c.nodes_per_domain);
    c.nodes += c.nodes - c.live_nodes();
  }
  const Fabric fabric(c);
  if (!fabric.unknown_overrides().empty())
    refuse_cluster("E-CLUSTER-OVERRIDE", "an override of the topology names nothing among its " +
                                             std::to_string(c.nodes) + " nodes");
  std::vector<GpuId> gpus;
  const auto chosen = chosen_nodes(c, nodes);
  CollectiveGroup group;
  group.shape = {.ranks = ranks, .nodes = int(chosen.size()), .per_node = 0};
  for (const auto& of_domain : chosen) {
    for (const int node : of_domain) {
      for (int g = 0; g < per_node; ++g) gpus.emplace_back(node * c.gpus_per_node + g);
      group.shape.speed = std::min(group.shape.speed, fabric.speed_of(node));
    }
    group.shape.per_node = std::max(group.shape.per_node, int(of_domain.size()) * per_node);
  }
  group.shape.uniform = group.shape.ranks == group.shape.nodes * group.shape.per_node;
  group.shape.nvlink =
      per_node == 1 || c.node == NodeShape::nvswitch || (c.node == NodeShape::pairs && per_node == 2);
  if (per_node == 1 && group.shape.per_node > 1) group.shape.nvlink = c.node == NodeShape::nvswitch;
  if (group.shape.in_island()) return group;
  const bool shift = op == CollectiveOp::send_recv;
  const GroupLinks links = shift                            ? shift_links(gpus, fabric)
                           : op == CollectiveOp::all_to_all ? pair_links(gpus, fabric)
                                                            : ring_links(gpus, fabric);
  group.ports = shift ? group.shape.per_node : links.ports;  // a message has its GPU's port to itself
  group.on_links = rate_on(links, fabric);
  group.hop_latency = group.shape.nodes > 1 ? links.hop_latency : c.pcie_latency;
  return group;
}

}  // namespace rehearse
