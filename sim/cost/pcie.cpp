#include "sim/cost/moved_bytes.hpp"
#include "sim/cost/nccl_corrected.hpp"
#include "sim/cost/strategies.hpp"

namespace rehearse {

static double pci_hop(Protocol protocol) {
  switch (protocol) {
    case Protocol::ll:
      return 1.0e-6;
    case Protocol::ll128:
      return 2.5e-6;
    case Protocol::simple:
      return 5.7e-6;
  }
  return 0;
}

static CollectiveCost on_edges(const CollectiveQuery& q, CollectiveCost cost) {
  cost.basis = Basis::guess;
  cost.time = cost.latency + Seconds(cost.link_bytes / (q.in_node.value * kPcieEfficiency));
  return cost;
}

static double sent_over_edges(const CollectiveQuery& q) {
  return q.op == CollectiveOp::broadcast ? q.bytes : bytes_sent_per_rank(q.op, q.ranks, q.bytes);
}

static CollectiveCost by_nccl(const DeviceProfile& profile, const CollectiveQuery& q) {
  CollectiveCost cost = nccl_prediction(profile, q);
  const double sent = cost.algorithm == Algorithm::tree ? tree_bytes(q.ranks, q.bytes) : sent_over_edges(q);
  cost.link_bytes = sent * wire_factor(cost.protocol);
  cost.latency += q.pcie_latency;
  cost.outside = true;
  return on_edges(q, cost);
}

std::optional<CollectiveCost> price_over_pcie(const DeviceProfile& profile, const CollectiveQuery& q) {
  if (!q.pcie || q.nodes > 1) return std::nullopt;
  if (profile.architecture) return by_nccl(profile, q);
  double steps = q.ranks - 1;
  if (q.op == CollectiveOp::all_reduce) steps *= 2;
  if (q.op == CollectiveOp::send_recv || q.op == CollectiveOp::all_to_all) steps = 1;
  std::optional<CollectiveCost> least;
  for (const auto& a : profile.algorithms) {
    if (a.algorithm == Algorithm::tree) continue;
    CollectiveCost cost;
    cost.protocol = a.protocol;
    cost.latency = Seconds(a.base_s.value + steps * (pci_hop(a.protocol) + q.pcie_latency.value));
    cost.link_bytes = sent_over_edges(q) / a.payload.value;
    cost = on_edges(q, cost);
    if (!least || cost.time < least->time) least = cost;
  }
  return least;
}

}  // namespace rehearse
