#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "sim/cost/moved_bytes.hpp"
#include "sim/cost/size_curve.hpp"
#include "sim/cost/strategies.hpp"

namespace rehearse {
namespace {

struct Hops {
  double nvlink = 0, network = 0;
};

// Hops of a ring over n ranks on `nodes` nodes, one after the other, before a result is whole.
Hops ring_hops(CollectiveOp op, double n, double nodes) {
  double steps = n - 1, across = nodes - 1;
  if (op == CollectiveOp::all_reduce) steps *= 2, across *= 2;
  if (op == CollectiveOp::send_recv) steps = 1, across = nodes > 1 ? 1 : 0;
  if (op == CollectiveOp::all_to_all)
    across = nodes > 1 ? 1 : 0, steps = 1 + across;  // all at once, no chain
  return {steps - across, across};
}

Hops tree_hops(double per_node, double nodes) {
  return {2 * (per_node - 1), 2 * std::floor(std::log2(nodes))};
}

double nvlink_hop(const CollectiveAlgorithm& a, Seconds nvlink_more) {
  return std::max(0.0, a.hop_nvlink_s.value + nvlink_more.value);
}

Seconds latency_of(const CollectiveAlgorithm& a, Hops h, Seconds nvlink_more, Seconds nic_latency) {
  return Seconds(a.base_s.value + h.nvlink * nvlink_hop(a, nvlink_more) +
                 h.network * (a.hop_network_s.value + nic_latency.value));
}

// Payload bytes that leave a node, and those that each of its GPUs sends over NVLink meanwhile.
struct Traffic {
  double per_node = 0, per_gpu = 0;
};

Traffic ring_traffic(CollectiveOp op, double n, double per_node, double bytes) {
  const double ring = bytes_sent_per_rank(op, static_cast<int>(n), bytes);
  switch (op) {
    case CollectiveOp::all_to_all:
      return {per_node * (n - per_node) / n * bytes, (per_node - 1) / n * bytes};
    case CollectiveOp::broadcast:
    case CollectiveOp::send_recv:
      return {bytes, bytes};
    default:
      return {ring, ring};
  }
}

// Double binary tree over nodes, a chain inside each: up and down once; on two nodes half of each tree stays
// at home.
Traffic tree_traffic(double nodes, double bytes) { return {nodes > 2 ? 2 * bytes : bytes, 2 * bytes}; }

// Sizes at which a group of `there` ranks sends as many bytes a rank as one of `here` ranks does with
// `bytes`.
double same_load(CollectiveOp op, int here, int there, double bytes) {
  return bytes * bytes_sent_per_rank(op, here, 1) / bytes_sent_per_rank(op, there, 1);
}

CollectiveCost between_tables(const DeviceProfile& profile, CollectiveOp op, int ranks, double bytes,
                              int below, int above, double nvlink_ratio, Seconds nvlink_more) {
  const auto at = [&](int there) {
    return from_tables(tables_for(profile, op, there), same_load(op, ranks, there, bytes), nvlink_ratio);
  };
  CollectiveCost low = at(below ? below : above);
  low.basis = Basis::guess;
  if (below && above) {
    const CollectiveCost high = at(above);
    const double share = static_cast<double>(ranks - below) / (above - below);
    low.time = Seconds(low.time.value * (1 - share) + high.time.value * share);
    low.basis = Basis::fitted;
    low.outside = low.outside || high.outside;
  } else if (below) {
    const double more = ring_hops(op, ranks, 1).nvlink - ring_hops(op, below, 1).nvlink;
    low.time += Seconds(more * nvlink_hop(profile.algorithms.front(), nvlink_more));
    low.outside = low.outside || ranks > 2 * below;
  }
  return low;
}

CollectiveCost without_table(const DeviceProfile& profile, CollectiveOp op, int ranks, double bytes,
                             BytesPerSec nvlink, Seconds nvlink_more) {
  double least = std::numeric_limits<double>::infinity();
  const double sent = op == CollectiveOp::broadcast ? bytes : bytes_sent_per_rank(op, ranks, bytes);
  const double rate = nvlink.value * profile.nvlink_efficiency.value;
  for (const auto& a : profile.algorithms) {
    if (a.algorithm == Algorithm::tree) continue;
    const Seconds latency = latency_of(a, ring_hops(op, ranks, 1), nvlink_more, Seconds(0));
    least = std::min(least, latency.value + sent / (rate * a.payload.value));
  }
  CollectiveCost cost;
  cost.time = Seconds(least);
  cost.basis = profile.nvlink_efficiency.basis;
  cost.outside = true;
  return cost;
}

// Where NCCL changes the protocol of a ring on one node of 8 A100.
Protocol ring_protocol(double bytes) {
  return bytes <= 2 * kMebi ? Protocol::ll : bytes <= 16 * kMebi ? Protocol::ll128 : Protocol::simple;
}

CollectiveCost in_one_node(const DeviceProfile& profile, const CollectiveQuery& q) {
  const double ratio = profile.nvlink_bytes_per_s.value / q.in_node.value;
  const auto measured = [&](CollectiveCost cost) {
    cost.time = with_nvlink_latency(profile, q, cost.time, cost.algorithm, cost.protocol);
    return cost;
  };
  const auto exact = tables_for(profile, q.op, q.ranks);
  if (!exact.empty()) return measured(from_tables(exact, q.bytes, ratio));
  int below = 0, above = 0;
  for (const auto& t : profile.collectives) {
    if (t.op != q.op || t.nodes != 1 || t.bytes.empty()) continue;
    if (t.per_node < q.ranks) below = std::max(below, t.per_node);
    if (t.per_node > q.ranks) above = above ? std::min(above, t.per_node) : t.per_node;
  }
  if (!below && !above) return without_table(profile, q.op, q.ranks, q.bytes, q.in_node, q.nvlink_more);
  return measured(between_tables(profile, q.op, q.ranks, q.bytes, below, above, ratio, q.nvlink_more));
}

CollectiveCost over_nodes(const DeviceProfile& profile, const CollectiveQuery& q) {
  const double n = q.ranks, nodes = q.nodes, per_node = q.per_node;
  const double in_node = q.in_node.value * profile.nvlink_efficiency.value;
  const double network = q.node_network.value * q.network_share;
  std::optional<CollectiveCost> least;
  for (const auto& a : profile.algorithms) {
    const bool tree = a.algorithm == Algorithm::tree;
    if (tree && q.op != CollectiveOp::all_reduce) continue;
    const Hops hops = tree ? tree_hops(per_node, nodes) : ring_hops(q.op, n, nodes);
    const Traffic t = tree ? tree_traffic(nodes, q.bytes) : ring_traffic(q.op, n, per_node, q.bytes);
    CollectiveCost cost;
    cost.algorithm = a.algorithm, cost.protocol = a.protocol;
    cost.latency = latency_of(a, hops, q.nvlink_more, q.nic_latency);
    cost.link_bytes = t.per_node / a.payload.value;
    if (per_node > 1 && t.per_gpu > 0) cost.rate_cap = BytesPerSec(in_node * t.per_node / t.per_gpu);
    cost.basis = a.base_s.basis;
    cost.outside = true;
    cost.time = cost.latency + Seconds(cost.link_bytes / std::min(cost.rate_cap.value, network));
    if (!least || cost.time < least->time) least = cost;
  }
  if (!least) throw std::invalid_argument("a profile with neither an architecture nor algorithms");
  return *least;
}

}  // namespace

std::vector<const CollectiveTable*> tables_for(const DeviceProfile& profile, CollectiveOp op, int ranks) {
  std::vector<const CollectiveTable*> tables;
  for (const auto& t : profile.collectives)
    if (t.op == op && t.nodes == 1 && t.per_node == ranks && !t.bytes.empty()) tables.push_back(&t);
  return tables;
}

CollectiveCost from_tables(const std::vector<const CollectiveTable*>& tables, double bytes,
                           double nvlink_ratio) {
  const CurveValue at = chained_curve(tables, bytes);
  CollectiveCost cost;
  cost.time = Seconds(at.seconds);
  cost.basis = at.basis;
  cost.outside = at.outside;
  if (nvlink_ratio == 1) return cost;
  const double latency = std::min(at.seconds, tables.front()->seconds.front());
  cost.time = Seconds(latency + (at.seconds - latency) * nvlink_ratio);
  cost.basis = Basis::guess;
  return cost;
}

std::optional<CollectiveCost> price_plain(const DeviceProfile& profile, const CollectiveQuery& query) {
  if (profile.architecture) return std::nullopt;
  if (query.nodes > 1) return over_nodes(profile, query);
  CollectiveCost cost = in_one_node(profile, query);
  cost.protocol = ring_protocol(query.bytes);
  return cost;
}

}  // namespace rehearse
