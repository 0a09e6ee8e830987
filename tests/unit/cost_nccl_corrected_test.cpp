#include <gtest/gtest.h>

#include <cmath>

#include "sim/base/error.hpp"
#include "sim/cost/moved_bytes.hpp"
#include "sim/cost/nccl_corrected.hpp"
#include "sim/cost/strategies.hpp"
#include "tests/unit/cost_fixture.hpp"

namespace rehearse {
namespace {

constexpr auto kAllReduce = CollectiveOp::all_reduce;
constexpr auto kAllGather = CollectiveOp::all_gather;
constexpr auto kReduceScatter = CollectiveOp::reduce_scatter;
constexpr auto kAa = CollectiveOp::all_to_all;

DeviceProfile hopper() {
  auto p = test::bare_profile();
  p.nvlink_bytes_per_s = test::constant(450e9);
  p.architecture = GpuArchitecture::hopper;
  p.algorithms.clear();
  return p;
}

CollectiveQuery group(CollectiveOp op, int nodes, int per_node, double bytes) {
  CollectiveQuery c;
  c.op = op, c.ranks = nodes * per_node, c.nodes = nodes, c.per_node = per_node, c.bytes = bytes;
  c.in_node = BytesPerSec(450e9), c.node_network = BytesPerSec(50e9 * per_node),
  c.nic_latency = Seconds(2.7e-6);
  return c;
}

CollectiveQuery held(CollectiveQuery q, const NcclFilter& filter) {
  q.filter = filter;
  return q;
}

// A table at `factor` times the model.
CollectiveTable scaled(const DeviceProfile& p, const CollectiveQuery& c, double factor) {
  CollectiveTable t;
  t.op = c.op, t.nodes = c.nodes, t.per_node = c.per_node;
  t.network = c.nodes > 1 ? "ib-ndr" : "";
  t.node_network = c.node_network;
  for (double bytes = 1024; bytes <= 8 * kGibi; bytes *= 2) {
    auto at = c;
    at.bytes = bytes;
    t.bytes.push_back(bytes);
    t.seconds.push_back(factor * nccl_prediction(p, at).time.value);
  }
  return t;
}

TEST(NcclCorrected, WithoutTablesTheModelAlone) {
  const auto p = hopper();
  const auto c = group(kAllReduce, 2, 8, 1e8);
  const auto got = unpadded_cost(p, c);
  EXPECT_DOUBLE_EQ(got.time.value, nccl_prediction(p, c).time.value);
  EXPECT_EQ(got.algorithm, Algorithm::nvls_tree);
  EXPECT_TRUE(got.outside);
}

TEST(NcclCorrected, ATableOfTheGroupWins) {
  auto p = hopper();
  p.collectives = {scaled(p, group(kAllReduce, 2, 8, 0), 1.5), scaled(p, group(kAllReduce, 1, 8, 0), 3)};
  const auto c = group(kAllReduce, 2, 8, 1 << 20);
  const auto got = unpadded_cost(p, c);
  EXPECT_DOUBLE_EQ(got.time.value, 1.5 * nccl_prediction(p, c).time.value);
  EXPECT_EQ(got.basis, Basis::measured);
}

TEST(NcclCorrected, OnlyOnItsOwnNetwork) {
  auto p = hopper();
  auto c = group(kAllReduce, 2, 8, 1 << 20);
  p.collectives = {scaled(p, c, 1.5)};
  c.network = "efa";
  EXPECT_NE(unpadded_cost(p, c).basis, Basis::measured);
  c.network = "ib-ndr";
  EXPECT_EQ(unpadded_cost(p, c).basis, Basis::measured);
  c.node_network = BytesPerSec(100e9);
  EXPECT_NE(unpadded_cost(p, c).basis, Basis::measured);
}

TEST(NcclCorrected, NearTablesCorrectTheModel) {
  auto p = hopper();
  p.collectives = {scaled(p, group(kReduceScatter, 1, 8, 0), 1.4)};
  for (const double bytes : {4096., 1048576., 1e9}) {
    const auto c = group(kAllGather, 1, 8, bytes);
    EXPECT_NEAR(unpadded_cost(p, c).time.value / nccl_prediction(p, c).time.value, 1.4, 0.01);
  }
  // A far one hardly: another operation, a quarter of the ranks.
  const auto far = group(kAllReduce, 1, 2, 1048576);
  EXPECT_LT(unpadded_cost(p, far).time.value / nccl_prediction(p, far).time.value, 1.05);
}

TEST(NcclCorrected, OfAnotherDeviceCorrectsButDoesNotWin) {
  auto p = hopper();
  p.collectives = {scaled(p, group(kAllReduce, 1, 8, 0), 1.4)};
  p.collectives[0].basis = Basis::guess;
  const auto c = group(kAllReduce, 1, 8, 1 << 20);
  const auto got = unpadded_cost(p, c);
  EXPECT_NE(got.basis, Basis::measured);
  EXPECT_GT(got.time.value / nccl_prediction(p, c).time.value, 1.35);
}

TEST(NcclCorrected, NoFasterThanTheLinks) {
  auto p = hopper();
  p.collectives = {scaled(p, group(kReduceScatter, 2, 8, 0), 0.5)};
  const auto c = group(kAllGather, 2, 8, 1e10);
  EXPECT_DOUBLE_EQ(unpadded_cost(p, c).time.value, 15. / 16 * 1e10 / 400e9);
}

// Bounded by NIC rate x (n-1)/n x N/(N-1), of which 0.926 are reached.
TEST(NcclCorrected, AllToAllOverNodesTendsToItsBound) {
  const auto p = hopper();
  for (const int nodes : {2, 4, 16}) {
    const double n = 8. * nodes, bytes = 64e9;
    const double bus = bytes / unpadded_cost(p, group(kAa, nodes, 8, bytes)).time.value * (n - 1) / n;
    const double bound = 50e9 * (n - 1) / n * nodes / (nodes - 1);
    EXPECT_LT(bus, bound);
    EXPECT_GT(bus, 0.91 * bound);
  }
}

TEST(NcclCorrected, AFilterHoldsAndRefuses) {
  const auto p = hopper();
  NcclFilter filter;
  filter.algorithms = 1u << static_cast<int>(Algorithm::ring);
  EXPECT_EQ(unpadded_cost(p, held(group(kAllReduce, 2, 8, 1e9), filter)).algorithm, Algorithm::ring);
  filter.algorithms = 1u << static_cast<int>(Algorithm::nvls);
  try {
    unpadded_cost(p, held(group(kAllReduce, 1, 4, 1e9), filter));
    FAIL();
  } catch (const InputErrors& e) {
    EXPECT_EQ(e.errors.front().code, "E-NCCL-ALGO");
  }
}

TEST(NcclCorrected, HierarchicalIsTheSumOfItsThreeCalls) {
  auto p = hopper();
  p.collectives = {scaled(p, group(kReduceScatter, 1, 8, 0), 1.3)};
  NcclFilter filter, ring;
  filter.algorithms = 1u << static_cast<int>(Algorithm::hierarchical);
  ring.algorithms = 1u << static_cast<int>(Algorithm::ring);
  for (const double bytes : {65536., 1e9}) {
    auto over = group(kAllReduce, 4, 1, bytes / 8);
    const auto whole = group(kAllReduce, 4, 8, bytes);
    over.node_network = whole.node_network * (1. / 8);
    const auto calls = {unpadded_cost(p, group(kReduceScatter, 1, 8, bytes)),
                        unpadded_cost(p, held(over, ring)), unpadded_cost(p, group(kAllGather, 1, 8, bytes))};
    double sum = 0;
    for (const auto& call : calls) sum += call.time.value;
    const auto three = unpadded_cost(p, held(whole, filter));
    EXPECT_DOUBLE_EQ(three.time.value, sum);
    EXPECT_EQ(three.algorithm, Algorithm::hierarchical);
    EXPECT_EQ(wire_bytes(whole, Algorithm::hierarchical, Protocol::simple), 2 * 3. / 4 * bytes);
    // It is no choice for others, and none of NCCL's.
    for (const auto& other :
         {group(kAllReduce, 1, 8, bytes), group(kAllReduce, 4, 1, bytes), group(kAa, 4, 8, bytes)})
      EXPECT_EQ(unpadded_cost(p, held(other, filter)).time, unpadded_cost(p, other).time);
    EXPECT_NE(unpadded_cost(p, whole).algorithm, Algorithm::hierarchical);
  }
}

TEST(NcclCorrected, TheFlowAloneTakesThePredictedTime) {
  auto p = hopper();
  p.collectives = {scaled(p, group(kAllReduce, 4, 8, 0), 1.3)};
  for (const auto op : {kAllReduce, kAllGather, kAa})
    for (const double bytes : {64., 65536., 1e7, 1e9}) {
      CollectiveQuery q = group(op, 4, 8, bytes);
      q.network_share = 0.8;
      const BytesPerSec carried = q.node_network * q.network_share;
      const CollectiveCost cost = collective_cost(p, q);
      const double least = cost.link_bytes / carried.value;
      const double alone = cost.latency.value + cost.link_bytes / std::min(cost.rate_cap, carried).value;
      EXPECT_NEAR(alone, std::max(cost.time.value, least), 1e-9 * alone) << bytes;
      EXPECT_GE(cost.latency.value, 0);
    }
}

TEST(NcclCorrected, WireBytesAreTheAlgorithms) {
  const auto c = group(kAllReduce, 4, 8, 1e6);
  EXPECT_DOUBLE_EQ(wire_bytes(c, Algorithm::ring, Protocol::simple), 2 * 31. / 32 * 1e6);
  EXPECT_DOUBLE_EQ(wire_bytes(c, Algorithm::ring, Protocol::ll), 4 * 31. / 32 * 1e6);
  EXPECT_DOUBLE_EQ(wire_bytes(c, Algorithm::tree, Protocol::ll128), 2e6 * 128 / 120);
  EXPECT_DOUBLE_EQ(wire_bytes(group(kAllReduce, 2, 8, 1e6), Algorithm::nvls_tree, Protocol::simple), 1e6);
  EXPECT_DOUBLE_EQ(wire_bytes(c, Algorithm::collnet_chain, Protocol::simple), 1e6);
  EXPECT_DOUBLE_EQ(wire_bytes(group(kAllGather, 4, 8, 1e6), Algorithm::ring, Protocol::simple),
                   31. / 32 * 1e6);
  EXPECT_DOUBLE_EQ(wire_bytes(group(kAa, 4, 8, 1e6), Algorithm::p2p, Protocol::simple), 8 * 24. / 32 * 1e6);
  EXPECT_DOUBLE_EQ(wire_bytes(group(kAllReduce, 1, 8, 1e6), Algorithm::ring, Protocol::simple), 0);
}

}  // namespace
}  // namespace rehearse
