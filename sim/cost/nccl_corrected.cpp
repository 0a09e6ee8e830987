#include "sim/cost/nccl_corrected.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/cost/moved_bytes.hpp"
#include "sim/cost/nccl_model.hpp"
#include "sim/cost/size_curve.hpp"
#include "sim/cost/strategies.hpp"
#include "sim/spec/names.hpp"

namespace rehearse {
namespace {

// What the NICs of the model's own tables have; more is added to each of its network hops.
constexpr double kModelNicLatency = 2.7e-6;
constexpr double kExchangeShare = 0.926;

bool is_exchange(CollectiveOp op) { return op == CollectiveOp::all_to_all || op == CollectiveOp::send_recv; }

CollectiveCost exchange(const DeviceProfile& profile, const CollectiveQuery& c) {
  const bool shift = c.op == CollectiveOp::send_recv;
  const double more = std::max(0.0, c.nic_latency.value - kModelNicLatency);
  double latency = (shift ? 10e-6 : 8e-6 + 0.6e-6 * c.ranks) + (c.per_node > 1 ? c.nvlink_more.value : 0);
  double seconds = bytes_sent_per_rank(c.op, c.ranks, c.bytes) / (0.8 * c.in_node.value);
  if (c.nodes > 1) {
    const double wire = wire_bytes(c, Algorithm::p2p, Protocol::simple),
                 port = c.node_network.value / c.per_node;
    const double leg = shift ? c.bytes / port : wire / (kExchangeShare * c.node_network.value);
    latency += (shift ? 4e-6 : 14e-6) + more;
    seconds = c.per_node > 1 && !shift ? std::max(seconds, leg) : leg;
  }
  latency *= profile.nccl_latency_scale;
  CollectiveCost cost;
  cost.time = Seconds(latency + seconds), cost.latency = Seconds(latency);
  cost.algorithm = Algorithm::p2p;
  cost.outside = true;
  return cost;
}

NcclSystem system_of(const DeviceProfile& profile, const CollectiveQuery& c) {
  NcclSystem s = nccl_system(*profile.architecture, c.in_node, c.nodes, c.per_node, c.node_network, c.nics);
  s.nvlink = !c.pcie;
  s.nvlink_latency = c.nvlink_more;
  s.sharp = c.sharp;
  s.latency_scale = profile.nccl_latency_scale;
  s.nic_latency = Seconds(c.nodes > 1 ? c.nic_latency.value - kModelNicLatency : 0);
  return s;
}

CollectiveCost predicted(const NcclTime& t) {
  CollectiveCost cost;
  cost.time = t.time, cost.latency = t.latency;
  cost.algorithm = t.algorithm, cost.protocol = t.protocol;
  cost.outside = true;
  return cost;
}

[[noreturn]] void refuse(const CollectiveQuery& c) {
  const NcclFilter more = with_ring(c.filter);
  throw InputErrors(InputError{{},
                               "collectives",
                               "E-NCCL-ALGO",
                               "NCCL runs " + std::string(name_of(kOpNames, c.op)) + " of " +
                                   std::to_string(c.ranks) + " ranks on " + std::to_string(c.nodes) +
                                   (c.nodes == 1 ? " node" : " nodes") +
                                   " by none of the algorithms and protocols that are allowed",
                               "ring runs them all: try --set 'collectives={algorithm: \"" +
                                   nccl_list(more.algorithms, kAlgorithmNames) + "\", protocol: \"" +
                                   nccl_list(more.protocols, kProtocolNames) + "\"}'"});
}

// The same group as a table was measured on.
CollectiveQuery case_of(const DeviceProfile& profile, const CollectiveTable& t) {
  CollectiveQuery c;
  c.op = t.op;
  c.ranks = t.nodes * t.per_node, c.nodes = t.nodes, c.per_node = t.per_node;
  c.in_node = BytesPerSec(profile.nvlink_bytes_per_s.value);
  c.node_network = t.node_network;
  c.nic_latency = t.network_latency;
  c.network = t.network;
  return c;
}

double doublings(double a, double b) { return std::abs(std::log2(a / b)); }

constexpr double kTooFar = 99, kReach = 0.4, kNoTable = 2.2;

// Of a network's word: what sends its bytes. A table of another kind says of this one next to nothing.
enum class NetworkKind { rdma, efa, offloaded_tcp, tcp };
constexpr double kOtherNetwork = 6;
NetworkKind kind_of(std::string_view network) {
  if (network.starts_with("ib") || network.starts_with("roce")) return NetworkKind::rdma;
  if (network.starts_with("efa")) return NetworkKind::efa;
  return network.starts_with("tcpx") ? NetworkKind::offloaded_tcp : NetworkKind::tcp;
}

double op_distance(const CollectiveQuery& c, const CollectiveTable& t) {
  if (is_exchange(c.op) && (c.nodes == 1) != (t.nodes == 1)) return kTooFar;  // NVLink tells nothing of NICs
  if (c.op == t.op) return 0;
  if (is_exchange(c.op) && is_exchange(t.op) && c.nodes > 1 && t.nodes > 1 && t.basis != Basis::guess)
    return 1;
  if (is_exchange(c.op) || is_exchange(t.op)) return kTooFar;
  if (c.op == CollectiveOp::broadcast || t.op == CollectiveOp::broadcast) return 1.4;
  return c.op == CollectiveOp::all_reduce || t.op == CollectiveOp::all_reduce ? 1.4 : 0.03;
}

double distance(const CollectiveQuery& c, const CollectiveTable& t, double bytes) {
  if (t.bytes.empty()) return kTooFar;
  double d = op_distance(c, t);
  if (d >= kTooFar) return d;
  d += 1.25 * doublings(c.per_node, t.per_node);
  if (t.basis == Basis::guess) d += 0.6;
  if (c.nodes != t.nodes) d += 0.15 * doublings(c.nodes, t.nodes) + (c.nodes == 1 || t.nodes == 1 ? 4.0 : 0);
  if (c.nodes > 1 && t.nodes > 1 && !c.network.empty() && c.network != t.network)
    d += kind_of(c.network) == kind_of(t.network) ? 1 : kOtherNetwork;
  const double beyond =
      std::max(std::log2(bytes / t.bytes.back()) - 1, std::log2(t.bytes.front() / bytes) - 2);
  return d + 0.2 * std::max(0.0, beyond);
}

// Log of measured / model at a size of a table.
double log_ratio(const DeviceProfile& profile, const CollectiveTable& t, double bytes) {
  CollectiveQuery c = case_of(profile, t);
  c.bytes = std::clamp(bytes, t.bytes.front(), t.bytes.back());
  return std::log(size_curve(t, c.bytes).seconds / nccl_prediction(profile, c).time.value);
}

struct Correction {
  double factor = 1;
  double nearest = kTooFar;
  bool of_other_network = false;  // the nearest table
};

Correction correction_of(const DeviceProfile& profile, const CollectiveQuery& c) {
  struct Near {
    const CollectiveTable* table;
    double distance, bytes;
  };
  std::vector<Near> found;
  double nearest = kNoTable;
  bool other = false;
  for (const auto& t : profile.collectives) {
    const double bytes = std::max(c.bytes, 1.0) * t.nodes * t.per_node / c.ranks;
    const double d = distance(c, t, bytes);
    if (d > nearest + 7 * kReach) continue;  // a weight below a thousandth
    found.push_back({&t, d, bytes});
    if (d < nearest) other = !network_agrees(c, t);
    nearest = std::min(nearest, d);
  }
  double weights = std::exp(-(kNoTable - nearest) / kReach), sum = 0;
  for (const auto& near : found) {
    if (near.distance > nearest + 7 * kReach) continue;
    const double weight = std::exp(-(near.distance - nearest) / kReach);
    weights += weight;
    sum += weight * log_ratio(profile, *near.table, near.bytes);
  }
  return {std::exp(sum / weights), found.empty() ? kTooFar : nearest, other};
}

// Of what can run the least by the model times `factor`, and no less than the bytes take at line rate.
CollectiveCost least_corrected(const DeviceProfile& profile, const CollectiveQuery& c, double factor) {
  const auto corrected = [&](CollectiveCost cost) {
    cost.time = Seconds(std::max(cost.time.value * factor, line_time(c, cost.algorithm, cost.protocol)));
    cost.latency = std::min(cost.latency * factor, cost.time);
    return cost;
  };
  CollectiveCost least = corrected(nccl_prediction(profile, c));
  if (is_exchange(c.op)) return least;
  for (int a = 0; a < kNcclAlgorithms; ++a)
    for (int p = 0; p < kProtocols; ++p) {
      const auto algorithm = static_cast<Algorithm>(a);
      const auto protocol = static_cast<Protocol>(p);
      if (!c.filter.allows(algorithm, protocol)) continue;
      const auto t =
          nccl_time(system_of(profile, c), c.op, c.ranks, c.nodes, c.per_node, c.bytes, algorithm, protocol);
      if (!t) continue;
      const CollectiveCost other = corrected(predicted(*t));
      if (other.time < least.time) least = other;
    }
  return least;
}

// Tables of this group over nodes: no slower network is faster than a measured one, no faster one slower; at
// a table's own rate that is what it says.
void bound_by_tables(const DeviceProfile& profile, const CollectiveQuery& c, CollectiveCost& p) {
  std::map<double, std::vector<const CollectiveTable*>> by_rate;
  for (const auto* t : tables_of_group(profile, c)) by_rate[t->node_network.value].push_back(t);
  std::erase_if(by_rate, [&](const auto& row) { return !covers(row.second, c.bytes); });
  const double rate = c.node_network.value;
  double least = 0, most = std::numeric_limits<double>::infinity();
  for (const auto& [measured, of_rate] : by_rate) {
    const CurveValue at = chained_curve(of_rate, c.bytes);
    const double seconds =
        with_nvlink_latency(profile, c, Seconds(at.seconds), p.algorithm, p.protocol).value;
    const bool same = std::abs(measured / rate - 1) < 1e-9;
    if (same || measured > rate) least = std::max(least, seconds);
    if (same || measured < rate) most = std::min(most, seconds);
    if (same) p.basis = at.basis, p.outside = at.outside;
  }
  p.time = Seconds(std::min(std::max(p.time.value, least), most));
  p.latency = std::min(p.latency, p.time);
}

}  // namespace

CollectiveCost nccl_prediction(const DeviceProfile& profile, const CollectiveQuery& q) {
  if (is_exchange(q.op)) return exchange(profile, q);
  const auto choice =
      nccl_choice(system_of(profile, q), q.op, q.ranks, q.nodes, q.per_node, q.bytes, q.filter);
  if (!choice) refuse(q);
  return predicted(*choice);
}

std::optional<CollectiveCost> price_by_nccl(const DeviceProfile& profile, const CollectiveQuery& q) {
  const Correction correction = correction_of(profile, q);
  CollectiveCost cost = least_corrected(profile, q, correction.factor);
  cost.outside = correction.nearest >= kNoTable || correction.of_other_network;
  cost.basis = correction.nearest < 1.5 ? Basis::fitted : Basis::guess;
  if (q.nodes > 1) bound_by_tables(profile, q, cost);
  return cost;
}

}  // namespace rehearse
