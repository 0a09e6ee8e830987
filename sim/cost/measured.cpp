#include <algorithm>
#include <cmath>

#include "sim/cost/moved_bytes.hpp"
#include "sim/cost/nccl_corrected.hpp"
#include "sim/cost/size_curve.hpp"
#include "sim/cost/strategies.hpp"

namespace rehearse {

bool network_agrees(const CollectiveQuery& q, const CollectiveTable& t) {
  return q.nodes == 1 || t.nodes == 1 || q.network.empty() || t.network.empty() || q.network == t.network;
}

static bool of_this_group(const CollectiveQuery& q, const CollectiveTable& t) {
  return t.op == q.op && t.nodes == q.nodes && t.per_node == q.per_node && t.basis != Basis::guess &&
         !t.bytes.empty() && network_agrees(q, t);
}

static bool runs_as_nccl_would(const DeviceProfile& profile, CollectiveQuery query) {
  if (query.filter.all()) return true;
  const CollectiveCost held = nccl_prediction(profile, query);
  query.filter = {};
  const CollectiveCost free = nccl_prediction(profile, query);
  return free.algorithm == held.algorithm && free.protocol == held.protocol;
}

std::vector<const CollectiveTable*> tables_of_group(const DeviceProfile& profile,
                                                    const CollectiveQuery& query) {
  std::vector<const CollectiveTable*> tables;
  for (const auto& t : profile.collectives)
    if (of_this_group(query, t)) tables.push_back(&t);
  if (!tables.empty() && !runs_as_nccl_would(profile, query)) tables.clear();
  return tables;
}

std::optional<CollectiveCost> price_measured(const DeviceProfile& profile, const CollectiveQuery& query) {
  if (query.nodes > 1) return std::nullopt;
  const auto tables = tables_of_group(profile, query);
  if (!covers(tables, query.bytes)) return std::nullopt;
  const CollectiveCost model = nccl_prediction(profile, query);
  const double stretch = profile.nvlink_bytes_per_s.value / query.in_node.value;
  CollectiveCost cost = from_tables(tables, query.bytes, std::abs(stretch - 1) > 1e-9 ? stretch : 1);
  cost.time = with_nvlink_latency(profile, query, cost.time, model.algorithm, model.protocol);
  cost.latency = std::min(model.latency, cost.time);
  cost.algorithm = model.algorithm, cost.protocol = model.protocol;
  return cost;
}

}  // namespace rehearse
