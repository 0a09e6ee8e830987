#include <gtest/gtest.h>

#include <cmath>

#include "sim/cost/kernel_names.hpp"
#include "sim/cost/transfers.hpp"
#include "tests/unit/cost_fixture.hpp"

namespace rehearse {
namespace {

using test::bare_profile;
using test::collective_table;
using test::round_stack;

constexpr auto kAr = CollectiveOp::all_reduce;
const BytesPerSec kNvlink(100e9);

DeviceProfile with_tables() {
  auto p = bare_profile();
  p.collectives = {collective_table(kAr, 2, {1e3, 1e6, 1e8}, {10e-6, 20e-6, 1000e-6}),
                   collective_table(kAr, 8, {1e3, 1e6, 1e8}, {20e-6, 40e-6, 2000e-6})};
  return p;
}

CollectiveQuery of_one_node(int ranks, double bytes, BytesPerSec nvlink = kNvlink) {
  return {.op = kAr, .ranks = ranks, .per_node = ranks, .bytes = bytes, .in_node = nvlink};
}

CollectiveCost in_node(const DeviceProfile& p, int ranks, double bytes, BytesPerSec nvlink = kNvlink) {
  return collective_cost(p, of_one_node(ranks, bytes, nvlink));
}

TEST(CostCollective, RingBytes) {
  EXPECT_DOUBLE_EQ(bytes_sent_per_rank(kAr, 8, 1000), 1750);
  EXPECT_DOUBLE_EQ(bytes_sent_per_rank(CollectiveOp::all_gather, 8, 1000), 875);
  EXPECT_DOUBLE_EQ(bytes_sent_per_rank(CollectiveOp::reduce_scatter, 4, 1000), 750);
  EXPECT_DOUBLE_EQ(bytes_sent_per_rank(CollectiveOp::all_to_all, 4, 1000), 750);
  EXPECT_DOUBLE_EQ(bytes_sent_per_rank(CollectiveOp::send_recv, 4, 1000), 1000);
  EXPECT_DOUBLE_EQ(bytes_sent_per_rank(kAr, 1, 1000), 0);
}

TEST(CostCollective, MeasuredSizesReproduce) {
  const auto p = with_tables();
  for (const auto& table : p.collectives)
    for (size_t i = 0; i < table.bytes.size(); ++i) {
      const auto t = in_node(p, table.per_node, table.bytes[i]);
      EXPECT_EQ(t.time.value, table.seconds[i]);
      EXPECT_EQ(t.basis, Basis::measured);
      EXPECT_FALSE(t.outside);
    }
}

TEST(CostCollective, LinesBetweenSizesAndBeyondThem) {
  const auto p = with_tables();
  EXPECT_NEAR(in_node(p, 8, (1e3 + 1e6) / 2).time.value, (20e-6 + 40e-6) / 2, 1e-15);
  EXPECT_EQ(in_node(p, 8, 1e6 * 1.001).basis, Basis::fitted);
  EXPECT_EQ(in_node(p, 8, 10).time.value, 20e-6);
  const double slope = (2000e-6 - 40e-6) / (1e8 - 1e6);
  EXPECT_NEAR(in_node(p, 8, 3e8).time.value, 2000e-6 + slope * 2e8, 1e-12);
  EXPECT_FALSE(in_node(p, 8, 3e8).outside);
  EXPECT_TRUE(in_node(p, 8, 5e8).outside);
}

TEST(CostCollective, ALaterTableOfTheSameShapeContinuesTheFirst) {
  auto p = with_tables();
  p.collectives.push_back(collective_table(kAr, 8, {1e6, 1e8, 1e9}, {50e-6, 4000e-6, 40000e-6}));
  EXPECT_EQ(in_node(p, 8, 1e6).time.value, 40e-6);
  EXPECT_EQ(in_node(p, 8, 1e8).time.value, 2000e-6);
  EXPECT_DOUBLE_EQ(in_node(p, 8, 1e9).time.value, 20000e-6);
}

TEST(CostCollective, GroupSizesBetweenTablesLieBetweenThem) {
  const auto p = with_tables();
  const double bytes = 1e7;  // 4 ranks send 1.5e7 each; 2 ranks do with 1.5e7, 8 with 1.5/1.75e7
  const double low = in_node(p, 2, 1.5e7).time.value, high = in_node(p, 8, 1.5e7 / 1.75).time.value;
  EXPECT_NEAR(in_node(p, 4, bytes).time.value, low + (high - low) / 3, 1e-15);
  EXPECT_EQ(in_node(p, 4, bytes).basis, Basis::fitted);
  EXPECT_GT(in_node(p, 16, 1e3).time.value, in_node(p, 8, 1e3).time.value);
  EXPECT_EQ(in_node(p, 16, 1e3).basis, Basis::guess);
}

TEST(CostCollective, WithoutATableTheLeastAlgorithmCounts) {
  const auto p = bare_profile();
  const double rate = 80e9;
  EXPECT_NEAR(in_node(p, 8, 8).time.value, 8e-6 + 14e-6 + 14 / (rate / 2), 1e-12);
  EXPECT_NEAR(in_node(p, 8, 8e9).time.value, 10e-6 + 56e-6 + 14e9 / rate, 1e-9);
  EXPECT_TRUE(in_node(p, 8, 8).outside);
  EXPECT_EQ(in_node(p, 1, 8e9).time.value, 0);
}

TEST(CostCollective, SlowerNvlinkStretchesWhatIsNotLatency) {
  const auto p = with_tables();
  EXPECT_DOUBLE_EQ(in_node(p, 8, 1e8, BytesPerSec(50e9)).time.value, 20e-6 + 2 * (2000e-6 - 20e-6));
  EXPECT_EQ(in_node(p, 8, 1e8, BytesPerSec(50e9)).basis, Basis::guess);
  EXPECT_EQ(in_node(p, 8, 1e3, BytesPerSec(50e9)).time.value, 20e-6);
}

CollectiveQuery over_nodes(CollectiveOp op, int nodes, int per_node, double bytes, double network = 200e9) {
  CollectiveQuery q{
      .op = op, .ranks = nodes * per_node, .nodes = nodes, .per_node = per_node, .bytes = bytes};
  q.in_node = kNvlink;
  q.node_network = BytesPerSec(network);
  q.network_share = round_stack().network_efficiency.value;
  return q;
}

CollectiveCost across(CollectiveOp op, int nodes, int per_node, double bytes) {
  return collective_cost(bare_profile(), over_nodes(op, nodes, per_node, bytes));
}

TEST(CostCollective, SmallAllReduceAcrossManyNodesTakesTheTree) {
  const auto w = across(kAr, 16, 8, 1e3);
  EXPECT_EQ(w.algorithm, Algorithm::tree);
  EXPECT_EQ(w.protocol, Protocol::ll);
  EXPECT_NEAR(w.latency.value, 8e-6 + 14e-6 + 2 * 4 * 5e-6, 1e-15);
  EXPECT_DOUBLE_EQ(w.link_bytes, 2 * 1e3 / 0.5);
}

TEST(CostCollective, LargeAllReduceTakesTheRing) {
  const auto w = across(kAr, 16, 1, 1e10);
  EXPECT_EQ(w.algorithm, Algorithm::ring);
  EXPECT_EQ(w.protocol, Protocol::simple);
  EXPECT_NEAR(w.latency.value, 10e-6 + 30 * 14e-6, 1e-15);
  EXPECT_DOUBLE_EQ(w.link_bytes, 2 * 15.0 / 16 * 1e10);
  EXPECT_TRUE(std::isinf(w.rate_cap.value));
}

TEST(CostCollective, InNodeLegLimitsWhatAllItsRanksMove) {
  const auto gather = across(CollectiveOp::all_gather, 2, 8, 1e9);
  EXPECT_DOUBLE_EQ(gather.link_bytes, 15.0 / 16 * 1e9);
  EXPECT_DOUBLE_EQ(gather.rate_cap.value, 80e9);
  const auto exchange = across(CollectiveOp::all_to_all, 2, 8, 1e9);
  EXPECT_DOUBLE_EQ(exchange.link_bytes, 8 * 8.0 / 16 * 1e9);
  EXPECT_NEAR(exchange.link_bytes / exchange.rate_cap.value, 7.0 / 16 * 1e9 / 80e9, 1e-12);
}

TEST(CostCollective, NicLatencyCountsOnEveryHop) {
  auto q = over_nodes(CollectiveOp::reduce_scatter, 4, 1, 1e10, 1e11);
  const double before = collective_cost(bare_profile(), q).latency.value;
  q.nic_latency = Seconds(1e-6);
  EXPECT_NEAR(collective_cost(bare_profile(), q).latency.value - before, 3e-6, 1e-15);
}

// Beyond the profile's; a ring of all_reduce over n GPUs has 2(n - 1) hops, a measured call at least 2.
TEST(CostCollective, NvlinkLatencyCountsOnEveryHopAndOnTheFewestOfATable) {
  const auto longer = [](const DeviceProfile& p, CollectiveQuery q) {
    const CollectiveCost before = collective_cost(p, q);
    q.nvlink_more = Seconds(1e-6);
    return collective_cost(p, q).time.value - before.time.value;
  };
  EXPECT_NEAR(longer(bare_profile(), of_one_node(8, 1e9)), 14e-6, 1e-12);
  EXPECT_NEAR(longer(with_tables(), of_one_node(8, 1e6)), 2e-6, 1e-12);
  EXPECT_NEAR(longer(with_tables(), of_one_node(4, 1e6)), 2e-6, 1e-12);
  EXPECT_NEAR(longer(with_tables(), of_one_node(16, 1e6)), 2e-6 + 16e-6, 1e-12);
  EXPECT_NEAR(longer(bare_profile(), over_nodes(CollectiveOp::all_gather, 2, 8, 1e10, 1e11)), 14e-6, 1e-12);
}

// Tables measured over a slow NVLink, asked for a fast one: not below what the fast one needs.
TEST(CostCollective, NoLatencyTakenOffLeavesLessThanTheLinkNeeds) {
  auto p = with_tables();
  p.nvlink_latency_s = test::constant(1e-3);
  CollectiveQuery q = of_one_node(8, 1e6);
  q.nvlink_more = Seconds(1e-6 - 1e-3);
  EXPECT_NEAR(collective_cost(p, q).time.value, 2 * 1e-6 + 1.75e6 / 100e9, 1e-15);
  p.architecture = GpuArchitecture::ampere;
  EXPECT_GT(collective_cost(p, q).time.value, 1e6 / 100e9);
  Scenario s;
  s.cluster.nvlink = kNvlink, s.cluster.nvlink_latency = Seconds(1e-6);
  p.collectives = {collective_table(CollectiveOp::send_recv, 2, {1e3, 1e6}, {8e-6, 20e-6})};
  s.profile = std::make_shared<DeviceProfile>(p);
  EXPECT_NEAR(transfer_cost(s, Bytes(1e6), Medium::nvlink).time.value, 1e-6 + 1e6 / 100e9, 1e-15);
}

TEST(CostCollective, OverPcieTheProtocolOfLeastTimeRuns) {
  CollectiveQuery q = of_one_node(4, 8, BytesPerSec(30e9));
  q.pcie = true;
  const CollectiveCost small = collective_cost(bare_profile(), q);
  EXPECT_EQ(small.protocol, Protocol::ll);
  EXPECT_NEAR(small.latency.value, 8e-6 + 6 * 1e-6, 1e-15);
  q.bytes = 1e9;
  const CollectiveCost large = collective_cost(bare_profile(), q);
  EXPECT_EQ(large.protocol, Protocol::simple);
  EXPECT_DOUBLE_EQ(large.link_bytes, 1.5e9);
  EXPECT_NEAR(large.time.value, 10e-6 + 6 * 5.7e-6 + 1.5e9 / (30e9 * kPcieEfficiency), 1e-12);
}

TEST(CostCollective, WithoutArchitectureOrAlgorithmsNothingPricesOneOverNodes) {
  auto p = bare_profile();
  p.algorithms.clear();
  EXPECT_THROW(collective_cost(p, over_nodes(kAr, 2, 8, 1)), std::invalid_argument);
}

TEST(CostTransfer, OverNvlinkIsLatencyAndRate) {
  Scenario s;
  s.cluster.nvlink = kNvlink, s.cluster.nvlink_latency = Seconds(1e-6);
  auto p = bare_profile();
  const auto seconds = [&](double bytes) {
    s.profile = std::make_shared<DeviceProfile>(p);
    return transfer_cost(s, Bytes(bytes), Medium::nvlink).time.value;
  };
  EXPECT_DOUBLE_EQ(seconds(8e8), 4e-6 + 1e-6 + 8e8 / 80e9);
  p.collectives.push_back(collective_table(CollectiveOp::send_recv, 2, {1e3, 1e6}, {8e-6, 20e-6}));
  EXPECT_DOUBLE_EQ(seconds(1e6), 20e-6);
  s.cluster.nvlink_latency = Seconds(3e-6);
  EXPECT_DOUBLE_EQ(seconds(1e6), 22e-6);
}

TEST(CostTransfer, OverTheNetworkSoftwareAndPathAddUp) {
  Scenario s;
  s.profile = std::make_shared<DeviceProfile>(bare_profile());
  s.stack.p2p_efficiency = test::constant(0.5);
  s.cluster.nic = BytesPerSec(20e9), s.cluster.nics_per_node = 1;
  const CollectiveCost cost = transfer_cost(s, Bytes(1e6), Medium::network, Seconds(2e-6));
  EXPECT_DOUBLE_EQ(cost.latency.value, 11e-6);
  EXPECT_DOUBLE_EQ(cost.link_bytes, 1e6);
  EXPECT_DOUBLE_EQ(cost.rate_cap.value, 10e9);
  EXPECT_EQ(cost.algorithm, Algorithm::p2p);
}

TEST(CostNames, AreThoseOfNccl) {
  EXPECT_EQ(nccl_kernel_name(kAr, DType::bf16, Algorithm::nvls_tree, Protocol::simple),
            "ncclDevKernel_AllReduce_Sum_bf16_NVLS_TREE_SIMPLE");
  EXPECT_EQ(nccl_kernel_name(kAr, DType::fp32, Algorithm::ring, Protocol::simple),
            "ncclDevKernel_AllReduce_Sum_f32_RING_SIMPLE");
  EXPECT_EQ(nccl_kernel_name(CollectiveOp::all_gather, DType::fp16, Algorithm::ring, Protocol::ll128),
            "ncclDevKernel_AllGather_RING_LL128");
  EXPECT_EQ(nccl_kernel_name(CollectiveOp::all_to_all, DType::fp16, Algorithm::p2p, Protocol::simple),
            "ncclDevKernel_SendRecv");
}

TEST(CostStrategies, EachHasANameAndSaysWhatItIsFor) {
  for (const CollectiveStrategy& strategy : collective_strategies()) {
    EXPECT_FALSE(strategy.name.empty());
    EXPECT_FALSE(strategy.help.empty());
  }
}

}  // namespace
}  // namespace rehearse
