#include <set>

#include "sim/cluster/fabric.hpp"

namespace rehearse {

std::vector<int> place_ranks(const Cluster& cluster) {
  if (!cluster.placement.empty()) return cluster.placement;
  std::set<int> down;
  for (const auto& o : cluster.overrides)
    if (o.node >= 0 && o.down) down.insert(o.node);
  const bool rail = cluster.rank_order == RankOrder::rail;
  if (down.empty() && !rail) return {};
  std::vector<int> nodes;
  for (int n = 0; n < cluster.nodes; ++n)
    if (!down.contains(n)) nodes.push_back(n);
  const int each = cluster.gpus_per_node, live = static_cast<int>(nodes.size());
  std::vector<int> gpus;
  gpus.reserve(size_t(live) * each);
  for (int r = 0; r < live * each; ++r)
    gpus.push_back(rail ? nodes[r % live] * each + r / live : nodes[r / each] * each + r % each);
  return gpus;
}

}  // namespace rehearse
