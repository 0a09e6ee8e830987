#include <algorithm>

#include "sim/cost/strategies.hpp"

namespace rehearse {

std::optional<CollectiveCost> price_hierarchical(const DeviceProfile& profile, const CollectiveQuery& query) {
  if (!query.filter.hierarchical()) return std::nullopt;
  CollectiveQuery inside = query, over = query;
  inside.filter = {.protocols = query.filter.protocols};
  inside.nodes = 1, inside.ranks = query.per_node;
  over.filter = {1u << static_cast<int>(Algorithm::ring), query.filter.protocols};
  over.per_node = 1, over.ranks = query.nodes, over.bytes = query.bytes / query.per_node;
  over.node_network = query.node_network * (1.0 / query.per_node);
  inside.op = CollectiveOp::reduce_scatter;
  const CollectiveCost scatter = unpadded_cost(profile, inside);
  inside.op = CollectiveOp::all_gather;
  const CollectiveCost gather = unpadded_cost(profile, inside);
  CollectiveCost cost = unpadded_cost(profile, over);
  cost.time += scatter.time + gather.time;
  cost.latency += scatter.time + gather.time;
  cost.algorithm = Algorithm::hierarchical;
  cost.basis = std::max({cost.basis, scatter.basis, gather.basis});
  cost.outside |= scatter.outside || gather.outside;
  return cost;
}

}  // namespace rehearse
