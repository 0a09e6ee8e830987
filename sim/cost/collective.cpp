#include "sim/cost/collective.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "sim/cost/moved_bytes.hpp"
#include "sim/cost/strategies.hpp"

namespace rehearse {
namespace {

// The first that answers.
constexpr CollectiveStrategy kStrategies[] = {
    {"pcie", "a ring over PCIe, where NVLink does not join the GPUs of a node", price_over_pcie, false},
    {"plain", "tables and algorithms of a profile without an architecture", price_plain, false},
    {"hierarchical", "all_reduce as three calls, where nothing else is allowed", price_hierarchical, true},
    {"measured", "a table of the very group in one node", price_measured, true},
    {"nccl", "NCCL's cost model, as the profile's tables correct it", price_by_nccl, true},
};

// Three levels make sense of an all_reduce over nodes alone; all else runs as NCCL chooses.
bool has_levels(const CollectiveQuery& q) {
  return q.op == CollectiveOp::all_reduce && q.nodes > 1 && q.per_node > 1;
}

const CollectiveStrategy& strategy_for(const DeviceProfile& profile, CollectiveQuery query,
                                       CollectiveCost& cost) {
  if (query.filter.hierarchical() && !has_levels(query)) query.filter.algorithms = NcclFilter{}.algorithms;
  for (const CollectiveStrategy& strategy : kStrategies)
    if (const auto found = strategy.price(profile, query)) return cost = *found, strategy;
  throw std::logic_error("no strategy prices a collective");
}

Seconds time_at(const DeviceProfile& profile, CollectiveQuery query, double bytes) {
  query.bytes = bytes;
  return unpadded_cost(profile, query).time;
}

// No algorithm is faster.
Seconds least_time(CollectiveQuery q, double bytes) {
  q.bytes = bytes;
  if (q.nodes == 1) return Seconds(bytes * (q.ranks - 1) / q.ranks / q.in_node.value);
  const double sent = std::min(wire_bytes(q, Algorithm::ring, Protocol::simple),
                               wire_bytes(q, Algorithm::nvls, Protocol::simple));
  return Seconds(sent / q.node_network.value);
}

// Ascending: the last one at `bytes` or below, then all above it that a call could be padded to.
std::vector<double> sizes_from(const DeviceProfile& profile, const CollectiveQuery& q) {
  constexpr int kMostDoublings = 40;
  const double octave = std::exp2(std::floor(std::log2(std::max(q.bytes, 1.0))));
  std::vector<double> sizes;
  sizes.reserve(kMostDoublings);
  for (int i = 0; i < kMostDoublings; ++i) sizes.push_back(std::ldexp(octave, i));
  const double most = sizes.back();
  for (const auto& t : profile.collectives)
    if (t.op == q.op && t.nodes == q.nodes && t.per_node == q.per_node)
      for (const double size : t.bytes)
        if (size > octave && size < most) sizes.push_back(size);
  std::sort(sizes.begin(), sizes.end());
  const auto above = std::upper_bound(sizes.begin(), sizes.end(), std::max(q.bytes, 1.0));
  sizes.erase(sizes.begin(), above - 1);
  return sizes;
}

void pad(const DeviceProfile& profile, const CollectiveQuery& q, CollectiveCost& here) {
  const std::vector<double> sizes = sizes_from(profile, q);
  Seconds below = here.time;
  if (sizes.front() != q.bytes) below = time_at(profile, q, sizes[0]);
  Seconds above = time_at(profile, q, sizes[1]);
  for (size_t i = 2; i < sizes.size() && least_time(q, sizes[i]) < above; ++i)
    above = std::min(above, time_at(profile, q, sizes[i]));
  below = std::min(below, above);
  const double share = std::max(0.0, q.bytes - sizes[0]) / (sizes[1] - sizes[0]);
  here.time = below + (above - below) * share;
  here.latency = std::min(here.latency, here.time);
}

// A flow that alone on idle links ends at the predicted time: what a table or a larger call shows to take
// less than these bytes do there moves no more than fits.
void put_on_links(const CollectiveQuery& q, CollectiveCost& cost) {
  const double rate = q.node_network.value * q.network_share;
  cost.link_bytes =
      std::min(wire_bytes(q, cost.algorithm, cost.protocol), cost.time.value * rate * (1 - 1e-9));
  cost.latency = std::max(Seconds(0), std::min(cost.latency, cost.time - Seconds(cost.link_bytes / rate)));
  cost.rate_cap = Bytes(cost.link_bytes) / (cost.time - cost.latency);
}

}  // namespace

std::span<const CollectiveStrategy> collective_strategies() { return kStrategies; }

CollectiveCost unpadded_cost(const DeviceProfile& profile, const CollectiveQuery& query) {
  CollectiveCost cost;
  strategy_for(profile, query, cost);
  return cost;
}

CollectiveCost collective_cost(const DeviceProfile& profile, const CollectiveQuery& query) {
  CollectiveCost cost;
  if (query.ranks <= 1) return cost.basis = Basis::measured, cost;
  if (!strategy_for(profile, query, cost).padded) return cost;
  pad(profile, query, cost);
  if (query.nodes > 1) put_on_links(query, cost);
  return cost;
}

CollectiveQuery query_of(const Scenario& s, CollectiveOp op, const GroupShape& shape, Bytes bytes, int ports,
                         Seconds hop_latency) {
  const Cluster& c = s.cluster;
  CollectiveQuery q{.op = op, .ranks = shape.ranks, .nodes = shape.nodes, .per_node = shape.per_node};
  q.bytes = bytes.value;
  q.pcie = !shape.nvlink;
  q.in_node = c.nvlink * shape.speed;
  if (shape.nvlink) q.nvlink_more = c.nvlink_latency - Seconds(s.profile->nvlink_latency_s.value);
  q.filter = s.stack.nccl;
  if (shape.in_island()) return q;
  q.pcie_latency = c.pcie_latency;
  if (q.pcie) q.in_node = c.pcie * (shape.nodes > 1 ? kPcieEfficiency : 1);
  if (shape.nodes == 1) return q;
  // What NICs take comes over PCIe.
  q.node_network = c.port() * ports;
  if (c.pcie.value > 0) q.node_network = std::min(q.node_network, c.pcie * shape.per_node);
  q.network_share = s.stack.network_efficiency.value;
  q.nics = ports;
  q.nic_latency = hop_latency;
  q.network = c.network;
  q.sharp = c.sharp;
  return q;
}

CollectiveCost group_collective(const Scenario& s, CollectiveOp op, const GroupShape& shape, Bytes bytes,
                                int ports, Seconds hop_latency) {
  return collective_cost(*s.profile, query_of(s, op, shape, bytes, ports, hop_latency));
}

}  // namespace rehearse
