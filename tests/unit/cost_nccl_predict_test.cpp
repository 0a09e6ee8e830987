#include <gtest/gtest.h>

#include <cmath>

#include "sim/base/error.hpp"
#include "sim/cost/collectives.hpp"
#include "sim/cost/nccl_predict.hpp"
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

CollectiveCase group(CollectiveOp op, int nodes, int per_node, double bytes) {
  CollectiveCase c;
  c.op = op, c.ranks = nodes * per_node, c.nodes = nodes, c.per_node = per_node, c.bytes = bytes;
  c.nvlink = BytesPerSec(450e9), c.node_network = BytesPerSec(50e9 * per_node),
  c.nic_latency = Seconds(2.7e-6);
  return c;
}

// A table at `factor` times the model.
CollectiveTable scaled(const DeviceProfile& p, const CollectiveCase& c, double factor) {
  CollectiveTable t;
  t.op = c.op, t.nodes = c.nodes, t.per_node = c.per_node;
  t.network = c.nodes > 1 ? "ib-ndr" : "";
  t.node_network = c.node_network;
  for (double bytes = 1024; bytes <= 8 * kGibi; bytes *= 2) {
    auto at = c;
    at.bytes = bytes;
    t.bytes.push_back(bytes);
    t.seconds.push_back(factor * nccl_prediction(p, at, {}).time.value);
  }
  return t;
}

TEST(NcclPredict, WithoutTablesTheModelAlone) {
  const auto p = hopper();
  const auto c = group(kAllReduce, 2, 8, 1e8);
  const auto got = predict_collective(p, c);
  EXPECT_DOUBLE_EQ(got.time.value, nccl_prediction(p, c, {}).time.value);
  EXPECT_EQ(got.algorithm, "nvls_tree");
  EXPECT_TRUE(got.outside);
}

TEST(NcclPredict, ATableOfTheGroupWins) {
  auto p = hopper();
  p.collectives = {scaled(p, group(kAllReduce, 2, 8, 0), 1.5), scaled(p, group(kAllReduce, 1, 8, 0), 3)};
  const auto c = group(kAllReduce, 2, 8, 1 << 20);
  const auto got = predict_collective(p, c);
  EXPECT_DOUBLE_EQ(got.time.value, 1.5 * nccl_prediction(p, c, {}).time.value);
  EXPECT_EQ(got.basis, Basis::measured);
}

TEST(NcclPredict, OnlyOnItsOwnNetwork) {
  auto p = hopper();
  auto c = group(kAllReduce, 2, 8, 1 << 20);
  p.collectives = {scaled(p, c, 1.5)};
  c.network = "efa";
  EXPECT_NE(predict_collective(p, c).basis, Basis::measured);
  c.network = "ib-ndr";
  EXPECT_EQ(predict_collective(p, c).basis, Basis::measured);
  c.node_network = BytesPerSec(100e9);
  EXPECT_NE(predict_collective(p, c).basis, Basis::measured);
}

TEST(NcclPredict, NearTablesCorrectTheModel) {
  auto p = hopper();
  p.collectives = {scaled(p, group(kReduceScatter, 1, 8, 0), 1.4)};
  for (const double bytes : {4096., 1048576., 1e9}) {
    const auto c = group(kAllGather, 1, 8, bytes);
    EXPECT_NEAR(predict_collective(p, c).time.value / nccl_prediction(p, c, {}).time.value, 1.4, 0.01);
  }
  // A far one hardly: another operation, a quarter of the ranks.
  const auto far = group(kAllReduce, 1, 2, 1048576);
  EXPECT_LT(predict_collective(p, far).time.value / nccl_prediction(p, far, {}).time.value, 1.05);
}

TEST(NcclPredict, OfAnotherDeviceCorrectsButDoesNotWin) {
  auto p = hopper();
  p.collectives = {scaled(p, group(kAllReduce, 1, 8, 0), 1.4)};
  p.collectives[0].basis = Basis::guess;
  const auto c = group(kAllReduce, 1, 8, 1 << 20);
  const auto got = predict_collective(p, c);
  EXPECT_NE(got.basis, Basis::measured);
  EXPECT_GT(got.time.value / nccl_prediction(p, c, {}).time.value, 1.35);
}

TEST(NcclPredict, NoFasterThanTheLinks) {
  auto p = hopper();
  p.collectives = {scaled(p, group(kReduceScatter, 2, 8, 0), 0.5)};
  const auto c = group(kAllGather, 2, 8, 1e10);
  EXPECT_DOUBLE_EQ(predict_collective(p, c).time.value, 15. / 16 * 1e10 / 400e9);
}

// Bounded by NIC rate x (n-1)/n x N/(N-1), of which 0.926 are reached.
TEST(NcclPredict, AllToAllOverNodesTendsToItsBound) {
  const auto p = hopper();
  for (const int nodes : {2, 4, 16}) {
    const double n = 8. * nodes, bytes = 64e9;
    const double bus = bytes / predict_collective(p, group(kAa, nodes, 8, bytes)).time.value * (n - 1) / n;
    const double bound = 50e9 * (n - 1) / n * nodes / (nodes - 1);
    EXPECT_LT(bus, bound);
    EXPECT_GT(bus, 0.91 * bound);
  }
}

TEST(NcclPredict, AFilterHoldsAndRefuses) {
  const auto p = hopper();
  NcclFilter filter;
  filter.algorithms = 1u << static_cast<int>(NcclAlgorithm::ring);
  EXPECT_EQ(predict_collective(p, group(kAllReduce, 2, 8, 1e9), filter).algorithm, "ring");
  filter.algorithms = 1u << static_cast<int>(NcclAlgorithm::nvls);
  try {
    predict_collective(p, group(kAllReduce, 1, 4, 1e9), filter);
    FAIL();
  } catch (const InputErrors& e) {
    EXPECT_EQ(e.errors.front().code, "E-NCCL-ALGO");
  }
}

TEST(NcclPredict, HierarchicalIsTheSumOfItsThreeCalls) {
  auto p = hopper();
  p.collectives = {scaled(p, group(kReduceScatter, 1, 8, 0), 1.3)};
  NcclFilter filter, ring;
  filter.algorithms = 1u << static_cast<int>(NcclAlgorithm::hierarchical);
  ring.algorithms = 1u << static_cast<int>(NcclAlgorithm::ring);
  for (const double bytes : {65536., 1e9}) {
    auto over = group(kAllReduce, 4, 1, bytes / 8);
    const auto whole = group(kAllReduce, 4, 8, bytes);
    over.node_network = whole.node_network * (1. / 8);
    const auto calls = {predict_collective(p, group(kReduceScatter, 1, 8, bytes)),
                        predict_collective(p, over, ring),
                        predict_collective(p, group(kAllGather, 1, 8, bytes))};
    double sum = 0;
    for (const auto& call : calls) sum += call.time.value;
    const auto three = predict_collective(p, whole, filter);
    EXPECT_DOUBLE_EQ(three.time.value, sum);
    EXPECT_EQ(three.algorithm, "hierarchical");
    EXPECT_EQ(wire_bytes(whole, "hierarchical", "simple"), 2 * 3. / 4 * bytes);
    // It is no choice for others, and none of NCCL's.
    for (const auto& other :
         {group(kAllReduce, 1, 8, bytes), group(kAllReduce, 4, 1, bytes), group(kAa, 4, 8, bytes)})
      EXPECT_EQ(predict_collective(p, other, filter).time, predict_collective(p, other).time);
    EXPECT_NE(predict_collective(p, whole).algorithm, "hierarchical");
  }
}

TEST(NcclPredict, TheFlowAloneTakesThePredictedTime) {
  auto p = hopper();
  p.collectives = {scaled(p, group(kAllReduce, 4, 8, 0), 1.3)};
  const auto stack = test::round_stack();  // links carry 0.8 of the line
  for (const auto op : {kAllReduce, kAllGather, kAa})
    for (const double bytes : {64., 65536., 1e7, 1e9}) {
      const BytesPerSec carried(400e9 * 0.8);
      const auto w = across_nodes(p, stack, op, {32, 4, 8, true}, Bytes(bytes), BytesPerSec(450e9), carried,
                                  Seconds(2.7e-6));
      const double least = w.bytes_per_node / carried.value;
      const double alone = w.latency.value + w.bytes_per_node / std::min(w.in_node_cap, carried).value;
      EXPECT_NEAR(alone, std::max(w.time.value, least), 1e-9 * alone) << bytes;
      EXPECT_GE(w.latency.value, 0);
    }
}

TEST(NcclPredict, WireBytesAreTheAlgorithms) {
  const auto c = group(kAllReduce, 4, 8, 1e6);
  EXPECT_DOUBLE_EQ(wire_bytes(c, "ring", "simple"), 2 * 31. / 32 * 1e6);
  EXPECT_DOUBLE_EQ(wire_bytes(c, "ring", "ll"), 4 * 31. / 32 * 1e6);
  EXPECT_DOUBLE_EQ(wire_bytes(c, "tree", "ll128"), 2e6 * 128 / 120);
  EXPECT_DOUBLE_EQ(wire_bytes(group(kAllReduce, 2, 8, 1e6), "nvls_tree", "simple"), 1e6);
  EXPECT_DOUBLE_EQ(wire_bytes(c, "collnet_chain", "simple"), 1e6);
  EXPECT_DOUBLE_EQ(wire_bytes(group(kAllGather, 4, 8, 1e6), "ring", "simple"), 31. / 32 * 1e6);
  EXPECT_DOUBLE_EQ(wire_bytes(group(kAa, 4, 8, 1e6), "p2p", "simple"), 8 * 24. / 32 * 1e6);
  EXPECT_DOUBLE_EQ(wire_bytes(group(kAllReduce, 1, 8, 1e6), "ring", "simple"), 0);
}

}  // namespace
}  // namespace rehearse
