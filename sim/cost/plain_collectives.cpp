#include "sim/cost/plain_collectives.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "sim/cost/size_curve.hpp"

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

CollectiveTime between_tables(const DeviceProfile& profile, CollectiveOp op, int ranks, double bytes,
                              int below, int above, double nvlink_ratio, Seconds nvlink_more) {
  const auto at = [&](int there) {
    return from_tables(tables_for(profile, op, there), same_load(op, ranks, there, bytes), nvlink_ratio);
  };
  CollectiveTime low = at(below ? below : above);
  low.basis = Basis::guess;
  if (below && above) {
    const CollectiveTime high = at(above);
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

CollectiveTime without_table(const DeviceProfile& profile, CollectiveOp op, int ranks, double bytes,
                             BytesPerSec nvlink, Seconds nvlink_more) {
  double least = std::numeric_limits<double>::infinity();
  const double sent = op == CollectiveOp::broadcast ? bytes : bytes_sent_per_rank(op, ranks, bytes);
  const double rate = nvlink.value * profile.nvlink_efficiency.value;
  for (const auto& a : profile.algorithms) {
    if (a.tree) continue;
    const Seconds latency = latency_of(a, ring_hops(op, ranks, 1), nvlink_more, Seconds(0));
    least = std::min(least, latency.value + sent / (rate * a.payload.value));
  }
  return {Seconds(least), profile.nvlink_efficiency.basis, true};
}

}  // namespace

std::vector<const CollectiveTable*> tables_for(const DeviceProfile& profile, CollectiveOp op, int ranks) {
  std::vector<const CollectiveTable*> tables;
  for (const auto& t : profile.collectives)
    if (t.op == op && t.nodes == 1 && t.per_node == ranks && !t.bytes.empty()) tables.push_back(&t);
  return tables;
}

CollectiveTime from_tables(const std::vector<const CollectiveTable*>& tables, double bytes,
                           double nvlink_ratio) {
  const CurveValue at = chained_curve(tables, bytes);
  if (nvlink_ratio == 1) return {Seconds(at.seconds), at.basis, at.outside};
  const double latency = std::min(at.seconds, tables.front()->seconds.front());
  return {Seconds(latency + (at.seconds - latency) * nvlink_ratio), Basis::guess, at.outside};
}

CollectiveTime plain_in_node(const DeviceProfile& profile, CollectiveOp op, int ranks, Bytes bytes,
                             BytesPerSec nvlink, Seconds nvlink_more) {
  if (ranks <= 1) return {Seconds(0), Basis::measured, false};
  const double ratio = profile.nvlink_bytes_per_s.value / nvlink.value;
  const auto measured = [&](CollectiveTime t) {
    t.time = std::max(Seconds(0), t.time + nvlink_more * fewest_hops(op));
    return t;
  };
  const auto exact = tables_for(profile, op, ranks);
  if (!exact.empty()) return measured(from_tables(exact, bytes.value, ratio));
  int below = 0, above = 0;
  for (const auto& t : profile.collectives) {
    if (t.op != op || t.nodes != 1 || t.bytes.empty()) continue;
    if (t.per_node < ranks) below = std::max(below, t.per_node);
    if (t.per_node > ranks) above = above ? std::min(above, t.per_node) : t.per_node;
  }
  if (!below && !above) return without_table(profile, op, ranks, bytes.value, nvlink, nvlink_more);
  return measured(between_tables(profile, op, ranks, bytes.value, below, above, ratio, nvlink_more));
}

WireCollective plain_across(const DeviceProfile& profile, const Stack& stack, CollectiveOp op,
                            const GroupShape& shape, Bytes bytes, BytesPerSec nvlink,
                            BytesPerSec node_network, Seconds nic_latency, Seconds nvlink_more) {
  if (shape.nodes < 2 || profile.algorithms.empty())
    throw std::invalid_argument("a collective across nodes needs two nodes and a profile with algorithms");
  const double n = shape.ranks, nodes = shape.nodes, per_node = shape.per_node;
  const double in_node = nvlink.value * profile.nvlink_efficiency.value;
  const double network = node_network.value * stack.network_efficiency.value;
  WireCollective best;
  double least = std::numeric_limits<double>::infinity();
  for (const auto& a : profile.algorithms) {
    if (a.tree && op != CollectiveOp::all_reduce) continue;
    const Hops hops = a.tree ? tree_hops(per_node, nodes) : ring_hops(op, n, nodes);
    const Traffic t = a.tree ? tree_traffic(nodes, bytes.value) : ring_traffic(op, n, per_node, bytes.value);
    WireCollective w;
    w.latency = latency_of(a, hops, nvlink_more, nic_latency);
    w.bytes_per_node = t.per_node / a.payload.value;
    w.in_node_cap = BytesPerSec(per_node > 1 && t.per_gpu > 0 ? in_node * t.per_node / t.per_gpu
                                                              : std::numeric_limits<double>::infinity());
    w.basis = a.base_s.basis;
    w.outside = true;
    const std::string_view name(a.name);
    w.algorithm = name.substr(0, name.find('-'));
    w.protocol = name.substr(name.find('-') + 1);
    const double time = w.latency.value + w.bytes_per_node / std::min(w.in_node_cap.value, network);
    if (time < least) least = time, best = w;
  }
  return best;
}

}  // namespace rehearse
