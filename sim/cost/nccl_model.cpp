#include "sim/cost/nccl_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace rehearse {
namespace {

using A = Algorithm;
using P = Protocol;

constexpr size_t at(A a) { return static_cast<size_t>(a); }
constexpr size_t at(P p) { return static_cast<size_t>(p); }

// In the order of Algorithm; us by LL, LL128, Simple.
using Latencies = std::array<std::array<double, kProtocols>, kNcclAlgorithms>;
constexpr Latencies kBase = {
    {{6.8, 14, 8.4}, {6.6, 14, 8.4}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {8, 8, 8}}};
constexpr Latencies kNvlinkHop = {
    {{.6, 1.25, 4}, {.6, 1.9, 3.4}, {0, 0, 3.7}, {0, 0, 2.8}, {0, 0, 25}, {0, 0, 25}, {0, 0, 4}}};
constexpr Latencies kPciHop = {
    {{1, 1.9, 4}, {1, 2.5, 5.7}, {0, 0, 3.7}, {0, 0, 2.8}, {0, 0, 0}, {0, 0, 0}, {0, 0, 4}}};
constexpr Latencies kNetworkHop = {
    {{5, 8.5, 14}, {2.7, 4, 14}, {0, 0, 31}, {0, 0, 30}, {0, 0, 18}, {0, 0, 20.9}, {0, 0, 14}}};

// GB/s by Volta, Ampere, Hopper, Blackwell.
using ByArchitecture = std::array<double, kArchitectures>;
// One row for 1 node, 2 nodes, 3 or more.
using ByNodes = std::array<ByArchitecture, 3>;
constexpr ByArchitecture kLlMost = {39, 87.7, 141, 282};    // one node, all channels
constexpr std::array<double, 2> kLlMostIntel = {39, 20.4};  // 2 nodes, 3 or more
constexpr std::array<double, 2> kLlMostAmd = {22.5, 19};    // 2 nodes, 3 or more
constexpr ByArchitecture kRingLl128 = {20, 20, 36.7, 40};   // a channel
constexpr ByNodes kTreeLl128 = {{{20, 20, 36.7, 55.6}, {20, 20, 36.7, 31.67}, {20, 20, 29, 20}}};
constexpr ByNodes kTree = {{{26.5, 24, 38.7, 70}, {18.5, 23.6, 41.4, 42.8}, {10, 17.8, 36, 24}}};
constexpr ByNodes kNvlsTree = {{{26.5, 24, 0, 0}, {18.5, 23.6, 57.7, 96}, {10, 17.8, 45.5, 80}}};
constexpr ByArchitecture kNvlsEfficiency = {0, 0, .85, .74};

// Share of its rate that a tree reaches, a column a power of two from 64 B on.
constexpr int kCorrected = 24;
constexpr std::array<std::array<double, kCorrected>, kProtocols> kTreeCorrection = {
    {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
     {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}}};

double correction(P protocol, double bytes) {
  const int column = static_cast<int>(std::floor(std::log2(std::max(bytes, 1.0)))) - 6;
  return column < 0 || column >= kCorrected ? 1 : kTreeCorrection[at(protocol)][static_cast<size_t>(column)];
}

struct Question {
  const NcclSystem& s;
  CollectiveOp op;
  double n, nodes, g, bytes;
  A algorithm;
  P protocol;

  bool all_reduce() const { return op == CollectiveOp::all_reduce; }
  size_t arch() const { return static_cast<size_t>(s.architecture); }
  size_t scale() const { return nodes <= 1 ? 0 : nodes <= 2 ? 1 : 2; }
  double steps() const { return all_reduce() ? 2 * (n - 1) : n - 1; }
  double ll_most() const {
    if (nodes <= 1) return kLlMost[arch()];
    return (s.amd ? kLlMostAmd : kLlMostIntel)[nodes <= 2 ? 0 : 1];
  }
  double in_node_hop() const {
    const double more = s.nvlink_latency.value * 1e6;
    return std::max(0.0, (s.nvlink ? kNvlinkHop : kPciHop)[at(algorithm)][at(protocol)] + more);
  }
  double network_hop() const {
    const A like = g <= 1 && algorithm == A::ring ? A::tree : algorithm;
    const double more = s.nic_latency.value * 1e6;
    return std::max(0.0, kNetworkHop[at(like)][at(protocol)] + more);
  }
};

bool can_run(const Question& q) {
  const bool gathers = q.op == CollectiveOp::all_gather || q.op == CollectiveOp::reduce_scatter;
  if (!gathers && !q.all_reduce() && q.op != CollectiveOp::broadcast) return false;
  if (q.op == CollectiveOp::broadcast && q.algorithm != A::ring) return false;
  const bool flags = q.algorithm == A::ring || q.algorithm == A::tree;
  if (q.protocol != P::simple && !flags) return false;
  if (q.protocol == P::ll128 && !q.s.nvlink && q.g > 1) return false;
  const bool nvls = q.s.nvlink && q.s.nvls_channels > 1 && kNvlsEfficiency[q.arch()] > 0 && q.g >= 5;
  switch (q.algorithm) {
    case A::ring:
      return true;
    case A::tree:
      return q.all_reduce();
    case A::collnet_direct:
      return q.nodes > 1 && q.s.sharp && q.s.nvlink;
    case A::collnet_chain:
      return q.nodes > 1 && q.s.sharp && q.all_reduce();
    case A::nvls:
      return nvls && (q.nodes <= 1 || q.s.sharp);
    case A::nvls_tree:
      return nvls && q.nodes > 1 && q.all_reduce();
    case A::pat:
      return gathers && q.nodes > 1 && q.g <= 1;
    case A::hierarchical:
    case A::p2p:
      return false;
  }
  return false;
}

double ring_latency(const Question& q) {
  double hop = q.in_node_hop();
  const double network = q.network_hop();
  if (q.nodes > 1) hop = std::max(hop, (q.s.amd ? 2.0 : 1.0) * (q.protocol == P::simple ? 3 : 1));
  if (q.op == CollectiveOp::broadcast) {
    if (q.nodes > 1) return network;
    return q.protocol == P::simple ? (q.s.nvlink ? kNvlinkHop : kPciHop)[at(A::tree)][at(P::simple)] : hop;
  }
  const double across = (q.all_reduce() ? 2 : 1) * (q.nodes - 1);
  return (q.steps() - across) * hop + across * network;
}

double latency_us(const Question& q) {
  const double hop = q.in_node_hop(), network = q.network_hop();
  const double depth = std::floor(std::log2(q.nodes));
  double latency = kBase[at(q.algorithm)][at(q.protocol)];
  switch (q.algorithm) {
    case A::ring:
      latency += ring_latency(q);
      if (q.all_reduce() && q.nodes > 1 && q.protocol == P::simple && q.bytes / (q.s.channels * q.n) >= 64)
        latency *= q.s.architecture == GpuArchitecture::volta ? 1.9 : 1.4;
      break;
    case A::tree:
      latency += 2 * ((q.g - 1) * hop + depth * network);
      break;
    case A::collnet_direct:
      latency += 2 * (std::min(1.0, q.g - 1) * hop + 0.4 * (q.g - 1)) + network;
      break;
    case A::collnet_chain:
      latency += 2 * (q.g - 1) * hop + network;
      break;
    case A::nvls:
      latency = hop + (q.nodes > 1 ? network : 0);
      break;
    case A::nvls_tree:
      latency += hop + 2 * depth * network;
      break;
    case A::pat:
      latency += depth * network / 3.5 + 2.8 * q.n;
      break;
    case A::hierarchical:
    case A::p2p:  // no choices of NCCL's
      break;
  }
  return latency;
}

double ring_rate(const Question& q, double bus) {
  if (q.protocol == P::ll) bus = std::min(q.ll_most(), bus / 2);
  if (q.protocol == P::ll128) bus = std::min(.92 * bus, q.s.channels * kRingLl128[q.arch()]);
  return q.op == CollectiveOp::broadcast ? bus : bus * q.n / q.steps();
}

double tree_rate(const Question& q, double bus) {
  bus = std::min(.92 * bus, q.s.channels * kTree[q.scale()][q.arch()]);
  if (q.protocol == P::ll) bus = std::min(bus / 3.8, q.ll_most());
  if (q.protocol == P::ll128)
    bus =
        std::min(bus * (q.nodes <= 1 ? 7. / 9 : 120. / 128), q.s.channels * kTreeLl128[q.scale()][q.arch()]);
  if (q.s.plain_tree) bus *= .85;
  return bus * .5 * correction(q.protocol, q.bytes);
}

double nvls_rate(const Question& q) {
  const double c = q.s.nvls_channels;
  const double moves = q.all_reduce() ? 2 : (q.g - 1) / q.g;
  double channel = q.s.nvls_in_node.value * 1e-9 * kNvlsEfficiency[q.arch()] * (c - 1) / c * moves;
  const bool tree = q.algorithm == A::nvls_tree;
  if (q.nodes > 1)
    channel = std::min(channel, q.s.nvls_network.value * 1e-9 * (tree && q.nodes <= 2 ? 2 : 1));
  if (tree) channel = std::min(channel, kNvlsTree[q.scale()][q.arch()]);
  const bool corrected = tree && q.s.architecture == GpuArchitecture::blackwell;
  return c * channel * q.n / q.steps() * (corrected ? correction(P::simple, q.bytes) : 1);
}

double collnet_rate(const Question& q, double bus) {
  if (q.algorithm == A::collnet_chain) return bus / 2;
  if (!q.all_reduce()) return .9 * bus;
  const double share = q.g / q.s.channels;
  bus /= share - (share - 1) / 2;
  if (q.s.architecture >= GpuArchitecture::hopper) bus *= .85;
  return bus / 2;
}

double rate_GBps(const Question& q) {
  const double bus = q.s.channels * q.s.channel.value * 1e-9;
  switch (q.algorithm) {
    case A::ring:
      return ring_rate(q, bus);
    case A::tree:
      return tree_rate(q, q.nodes == 2 ? q.s.channels * q.s.tree_channel.value * 1e-9 : bus);
    case A::nvls:
    case A::nvls_tree:
      return nvls_rate(q);
    case A::pat:
      return bus * .75;
    default:
      return collnet_rate(q, bus);
  }
}

}  // namespace

std::optional<NcclTime> nccl_time(const NcclSystem& system, CollectiveOp op, int ranks, int nodes,
                                  int per_node, double bytes, Algorithm algorithm, Protocol protocol) {
  const Question q{system,
                   op,
                   static_cast<double>(ranks),
                   static_cast<double>(nodes),
                   static_cast<double>(per_node),
                   bytes,
                   algorithm,
                   protocol};
  if (ranks < 2 || !can_run(q)) return std::nullopt;
  const double latency = latency_us(q) * system.latency_scale * 1e-6, rate = rate_GBps(q) * 1e9;
  return NcclTime{algorithm, protocol, Seconds(latency), BytesPerSec(rate), Seconds(latency + bytes / rate)};
}

std::optional<NcclTime> nccl_choice(const NcclSystem& system, CollectiveOp op, int ranks, int nodes,
                                    int per_node, double bytes, const NcclFilter& filter) {
  std::optional<NcclTime> best;
  for (int a = 0; a < kNcclAlgorithms; ++a)
    for (int p = 0; p < kProtocols; ++p) {
      const auto algorithm = static_cast<Algorithm>(a);
      const auto protocol = static_cast<Protocol>(p);
      if (!filter.allows(algorithm, protocol)) continue;
      const auto t = nccl_time(system, op, ranks, nodes, per_node, bytes, algorithm, protocol);
      if (t && (!best || t->time < best->time)) best = t;
    }
  return best;
}

// A channel for each NIC, more for one of this rate (ncclTopoDupChannels), each then of no more than the
// second.
constexpr double kTwoChannels = 25e9, kChannel = 24e9;
constexpr int kLeastChannels = 4;

NcclSystem nccl_system(GpuArchitecture architecture, BytesPerSec nvlink, int nodes, int per_node,
                       BytesPerSec node_network, int nics) {
  NcclSystem s;
  s.architecture = architecture;
  const BytesPerSec ring = nvlink * 0.8;  // 240, 360 and 720 of 300, 450 and 900 GB/s
  s.nvls_channels = 8;
  s.nvls_in_node = nvlink * (40. / 450);
  s.nvls_network = std::min(nvlink * (60. / 450), node_network * (1.2 / s.nvls_channels));
  if (nodes > 1) {
    const BytesPerSec wire = node_network * 0.96;
    const int ports = nics > 0 ? nics : per_node;
    const double port = wire.value / ports;
    const int each = port < kTwoChannels ? 1 : static_cast<int>(std::ceil(port / kChannel - 1e-9));
    s.channels = std::clamp(each * ports, kLeastChannels, 32);
    s.channel = (per_node > 1 ? std::min(ring, wire) : wire) * (1.0 / s.channels);
    s.tree_channel = (per_node > 1 ? std::min(ring, 2 * wire) : 2 * wire) * (1.0 / s.channels);
  } else {
    s.channels = 12;
    s.channel = ring * (1.0 / s.channels);
  }
  return s;
}

}  // namespace rehearse
