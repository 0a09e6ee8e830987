#include "sim/cost/nccl_predict.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/cost/collectives.hpp"
#include "sim/cost/size_curve.hpp"
#include "sim/spec/names.hpp"

namespace rehearse {
namespace {

// What the NICs of the model's own tables have; more is added to each of its network hops.
constexpr double kModelNicLatency = 2.7e-6;
constexpr double kExchangeShare = 0.926;
constexpr std::string_view kExchange = "p2p";

bool is_exchange(CollectiveOp op) { return op == CollectiveOp::all_to_all || op == CollectiveOp::send_recv; }

Prediction exchange(const DeviceProfile& profile, const CollectiveCase& c) {
  const bool shift = c.op == CollectiveOp::send_recv;
  const double more = std::max(0.0, c.nic_latency.value - kModelNicLatency);
  double latency = (shift ? 10e-6 : 8e-6 + 0.6e-6 * c.ranks) + (c.per_node > 1 ? c.nvlink_more.value : 0);
  double seconds = bytes_sent_per_rank(c.op, c.ranks, c.bytes) / (0.8 * c.nvlink.value);
  if (c.nodes > 1) {
    const double wire = wire_bytes(c, kExchange, "simple"), port = c.node_network.value / c.per_node;
    const double leg = shift ? c.bytes / port : wire / (kExchangeShare * c.node_network.value);
    latency += (shift ? 4e-6 : 14e-6) + more;
    seconds = c.per_node > 1 && !shift ? std::max(seconds, leg) : leg;
  }
  latency *= profile.nccl_latency_scale;
  return {Seconds(latency + seconds), Seconds(latency), kExchange, "simple", Basis::guess, true};
}

NcclSystem system_of(const DeviceProfile& profile, const CollectiveCase& c) {
  NcclSystem s = nccl_system(*profile.architecture, c.nvlink, c.nodes, c.per_node, c.node_network, c.nics);
  s.nvlink = !c.pcie;
  s.nvlink_latency = c.nvlink_more;
  s.sharp = c.sharp;
  s.latency_scale = profile.nccl_latency_scale;
  s.nic_latency = Seconds(c.nodes > 1 ? c.nic_latency.value - kModelNicLatency : 0);
  return s;
}

Prediction predicted(const NcclTime& t) {
  return {t.time,
          t.latency,
          name_of(kNcclAlgorithmNames, t.algorithm),
          name_of(kNcclProtocolNames, t.protocol),
          Basis::guess,
          true};
}

[[noreturn]] void refuse(const CollectiveCase& c, const NcclFilter& filter) {
  const NcclFilter more = with_ring(filter);
  throw InputErrors(InputError{{},
                               "collectives",
                               "E-NCCL-ALGO",
                               "NCCL runs " + std::string(name_of(kOpNames, c.op)) + " of " +
                                   std::to_string(c.ranks) + " ranks on " + std::to_string(c.nodes) +
                                   (c.nodes == 1 ? " node" : " nodes") +
                                   " by none of the algorithms and protocols that are allowed",
                               "ring runs them all: try --set 'collectives={algorithm: \"" +
                                   nccl_list(more.algorithms, kNcclAlgorithmNames) + "\", protocol: \"" +
                                   nccl_list(more.protocols, kNcclProtocolNames) + "\"}'"});
}

// The same group as a table was measured on.
CollectiveCase case_of(const DeviceProfile& profile, const CollectiveTable& t) {
  CollectiveCase c;
  c.op = t.op;
  c.ranks = t.nodes * t.per_node, c.nodes = t.nodes, c.per_node = t.per_node;
  c.nvlink = BytesPerSec(profile.nvlink_bytes_per_s.value);
  c.node_network = t.node_network;
  c.nic_latency = t.network_latency;
  c.network = t.network;
  return c;
}

double doublings(double a, double b) { return std::abs(std::log2(a / b)); }

bool network_agrees(const CollectiveCase& c, const CollectiveTable& t) {
  return c.nodes == 1 || c.network.empty() || t.network.empty() || c.network == t.network;
}

bool of_this_group(const CollectiveCase& c, const CollectiveTable& t) {
  return t.op == c.op && t.nodes == c.nodes && t.per_node == c.per_node && t.basis != Basis::guess &&
         !t.bytes.empty() && network_agrees(c, t);
}

constexpr double kTooFar = 99, kReach = 0.4, kNoTable = 2.2;

// Of a network's word: what sends its bytes. A table of another kind says of this one next to nothing.
enum class NetworkKind { rdma, efa, offloaded_tcp, tcp };
constexpr double kOtherNetwork = 6;
NetworkKind kind_of(std::string_view network) {
  if (network.starts_with("ib") || network.starts_with("roce")) return NetworkKind::rdma;
  if (network.starts_with("efa")) return NetworkKind::efa;
  return network.starts_with("tcpx") ? NetworkKind::offloaded_tcp : NetworkKind::tcp;
}

double op_distance(const CollectiveCase& c, const CollectiveTable& t) {
  if (is_exchange(c.op) && (c.nodes == 1) != (t.nodes == 1)) return kTooFar;  // NVLink tells nothing of NICs
  if (c.op == t.op) return 0;
  if (is_exchange(c.op) && is_exchange(t.op) && c.nodes > 1 && t.nodes > 1 && t.basis != Basis::guess)
    return 1;
  if (is_exchange(c.op) || is_exchange(t.op)) return kTooFar;
  if (c.op == CollectiveOp::broadcast || t.op == CollectiveOp::broadcast) return 1.4;
  return c.op == CollectiveOp::all_reduce || t.op == CollectiveOp::all_reduce ? 1.4 : 0.03;
}

double distance(const CollectiveCase& c, const CollectiveTable& t, double bytes) {
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
  CollectiveCase c = case_of(profile, t);
  c.bytes = std::clamp(bytes, t.bytes.front(), t.bytes.back());
  return std::log(size_curve(t, c.bytes).seconds / nccl_prediction(profile, c, {}).time.value);
}

struct Correction {
  double factor = 1;
  double nearest = kTooFar;
};

Correction correction_of(const DeviceProfile& profile, const CollectiveCase& c) {
  struct Near {
    const CollectiveTable* table;
    double distance, bytes;
  };
  std::vector<Near> found;
  double nearest = kNoTable;
  for (const auto& t : profile.collectives) {
    const double bytes = std::max(c.bytes, 1.0) * t.nodes * t.per_node / c.ranks;
    const double d = distance(c, t, bytes);
    if (d > nearest + 7 * kReach) continue;  // a weight below a thousandth
    found.push_back({&t, d, bytes});
    nearest = std::min(nearest, d);
  }
  double weights = std::exp(-(kNoTable - nearest) / kReach), sum = 0;
  for (const auto& near : found) {
    if (near.distance > nearest + 7 * kReach) continue;
    const double weight = std::exp(-(near.distance - nearest) / kReach);
    weights += weight;
    sum += weight * log_ratio(profile, *near.table, near.bytes);
  }
  return {std::exp(sum / weights), found.empty() ? kTooFar : nearest};
}

// An all_reduce as reduce_scatter in each node, a ring over the nodes for each place in them, all_gather.
Prediction hierarchical(const DeviceProfile& profile, const CollectiveCase& c, NcclFilter filter) {
  CollectiveCase inside = c, over = c;
  inside.nodes = 1, inside.ranks = c.per_node;
  over.per_node = 1, over.ranks = c.nodes, over.bytes = c.bytes / c.per_node;
  over.node_network = c.node_network * (1.0 / c.per_node);
  inside.op = CollectiveOp::reduce_scatter;
  const Prediction scatter = predict_collective(profile, inside, filter);
  inside.op = CollectiveOp::all_gather;
  const Prediction gather = predict_collective(profile, inside, filter);
  filter.algorithms = 1u << static_cast<int>(NcclAlgorithm::ring);
  Prediction p = predict_collective(profile, over, filter);
  p.time += scatter.time + gather.time;
  p.latency += scatter.time + gather.time;
  p.algorithm = name_of(kNcclAlgorithmNames, NcclAlgorithm::hierarchical);
  p.basis = std::max({p.basis, scatter.basis, gather.basis});
  p.outside |= scatter.outside || gather.outside;
  return p;
}

// Least time of the bytes that the algorithm moves.
double line_time(const CollectiveCase& c, const Prediction& p) {
  const bool switch_reduces = p.algorithm.starts_with("nvls") || p.algorithm.starts_with("collnet");
  double sent = bytes_sent_per_rank(c.op, c.ranks, c.bytes);
  if (switch_reduces && c.op == CollectiveOp::all_reduce) sent = c.bytes;
  if (p.algorithm == "tree") sent = tree_bytes(c.per_node, c.bytes);
  const double in_node = c.per_node > 1 ? sent / c.nvlink.value : 0;
  if (c.nodes == 1) return in_node;
  const double links = c.node_network.value * c.network_share;
  const double wire = c.op == CollectiveOp::send_recv ? c.bytes * c.per_node / links
                                                      : wire_bytes(c, p.algorithm, p.protocol) / links;
  return c.op == CollectiveOp::send_recv || c.op == CollectiveOp::all_to_all ? wire : std::max(in_node, wire);
}

// Of what can run the least by the model times `factor`, and no less than the bytes take at line rate.
Prediction least_corrected(const DeviceProfile& profile, const CollectiveCase& c, const NcclFilter& filter,
                           double factor) {
  const auto corrected = [&](Prediction p) {
    p.time = Seconds(std::max(p.time.value * factor, line_time(c, p)));
    p.latency = std::min(p.latency * factor, p.time);
    return p;
  };
  Prediction least = corrected(nccl_prediction(profile, c, filter));
  if (is_exchange(c.op)) return least;
  for (int a = 0; a < kNcclAlgorithms; ++a)
    for (int p = 0; p < kNcclProtocols; ++p) {
      const auto algorithm = static_cast<NcclAlgorithm>(a);
      const auto protocol = static_cast<NcclProtocol>(p);
      if (!filter.allows(algorithm, protocol)) continue;
      const auto t =
          nccl_time(system_of(profile, c), c.op, c.ranks, c.nodes, c.per_node, c.bytes, algorithm, protocol);
      if (!t) continue;
      const Prediction other = corrected(predicted(*t));
      if (other.time < least.time) least = other;
    }
  return least;
}

// What another latency of NVLink adds to a measured time, of which it is not known how often it waits for
// one.
Seconds more_of_hops(const CollectiveCase& c) {
  return c.nvlink_more * (c.per_node < 2 ? 0.0 : fewest_hops(c.op));
}

// Tables of this group in one node; what NVLink carries scales with its rate.
Prediction from_tables(const std::vector<const CollectiveTable*>& tables, const DeviceProfile& profile,
                       const CollectiveCase& c, Prediction p) {
  const CurveValue at = chained_curve(tables, c.bytes);
  p.time = Seconds(at.seconds), p.basis = at.basis, p.outside = at.outside;
  const double stretch = profile.nvlink_bytes_per_s.value / c.nvlink.value;
  if (std::abs(stretch - 1) > 1e-9) {
    const double latency = std::min(at.seconds, tables.front()->seconds.front());
    p.time = Seconds(latency + (at.seconds - latency) * stretch);
    p.basis = Basis::guess;
  }
  p.time = std::max(Seconds(0), p.time + more_of_hops(c));
  p.latency = std::min(p.latency, p.time);
  return p;
}

// Tables of this group over nodes: no slower network is faster than a measured one, no faster one slower; at
// a table's own rate that is what it says.
void bound_by_tables(const std::vector<const CollectiveTable*>& tables, const CollectiveCase& c,
                     Prediction& p) {
  std::map<double, std::vector<const CollectiveTable*>> by_rate;
  for (const auto* t : tables) by_rate[t->node_network.value].push_back(t);
  std::erase_if(by_rate, [&](const auto& row) { return !covers(row.second, c.bytes); });
  const double rate = c.node_network.value;
  const double hops = more_of_hops(c).value;
  double least = 0, most = std::numeric_limits<double>::infinity();
  for (const auto& [measured, of_rate] : by_rate) {
    const CurveValue at = chained_curve(of_rate, c.bytes);
    const bool same = std::abs(measured / rate - 1) < 1e-9;
    if (same || measured > rate) least = std::max(least, at.seconds + hops);
    if (same || measured < rate) most = std::min(most, at.seconds + hops);
    if (same) p.basis = at.basis, p.outside = at.outside;
  }
  p.time = Seconds(std::min(std::max(p.time.value, least), most));
  p.latency = std::min(p.latency, p.time);
}

}  // namespace

double tree_bytes(int members, double bytes) { return (members > 2 ? 2 : 1) * bytes; }

double wire_bytes(const CollectiveCase& c, std::string_view algorithm, std::string_view protocol) {
  if (c.nodes < 2) return 0;
  const double n = c.ranks, flags = protocol == "ll" ? 2 : protocol == "ll128" ? 128. / 120 : 1;
  if (c.op == CollectiveOp::all_to_all) return c.per_node * (n - c.per_node) / n * c.bytes;
  if (c.op == CollectiveOp::send_recv || c.op == CollectiveOp::broadcast) return c.bytes * flags;
  if (algorithm == "hierarchical") return bytes_sent_per_rank(c.op, c.nodes, c.bytes) * flags;
  const bool reduced = algorithm.starts_with("collnet") || algorithm == "nvls";
  if (reduced) return c.op == CollectiveOp::all_reduce ? c.bytes : (c.nodes - 1.0) / c.nodes * c.bytes;
  if (algorithm == "tree" || algorithm == "nvls_tree") return tree_bytes(c.nodes, c.bytes) * flags;
  return bytes_sent_per_rank(c.op, c.ranks, c.bytes) * flags;
}

Prediction nccl_prediction(const DeviceProfile& profile, const CollectiveCase& c, const NcclFilter& filter) {
  if (is_exchange(c.op)) return exchange(profile, c);
  if (filter.hierarchical()) return nccl_prediction(profile, c, {.protocols = filter.protocols});
  const auto choice = nccl_choice(system_of(profile, c), c.op, c.ranks, c.nodes, c.per_node, c.bytes, filter);
  if (!choice) refuse(c, filter);
  return predicted(*choice);
}

Prediction predict_collective(const DeviceProfile& profile, const CollectiveCase& c,
                              const NcclFilter& filter) {
  if (filter.hierarchical()) {
    const NcclFilter any{.protocols = filter.protocols};
    const bool levels = c.op == CollectiveOp::all_reduce && c.nodes > 1 && c.per_node > 1;
    return levels ? hierarchical(profile, c, any) : predict_collective(profile, c, any);
  }
  Prediction p = nccl_prediction(profile, c, filter);
  bool as_measured = true;
  if (!filter.all()) {
    const Prediction free = nccl_prediction(profile, c, {});
    as_measured = free.algorithm == p.algorithm && free.protocol == p.protocol;
  }
  std::vector<const CollectiveTable*> tables;
  for (const auto& t : profile.collectives)
    if (as_measured && of_this_group(c, t)) tables.push_back(&t);
  if (c.nodes == 1 && covers(tables, c.bytes)) return from_tables(tables, profile, c, p);
  const Correction correction = correction_of(profile, c);
  p = least_corrected(profile, c, filter, correction.factor);
  p.outside = correction.nearest >= kNoTable;
  p.basis = correction.nearest < 1.5 ? Basis::fitted : Basis::guess;
  if (c.nodes > 1) bound_by_tables(tables, c, p);
  return p;
}

}  // namespace rehearse
