#include <gtest/gtest.h>

#include <cmath>

#include "sim/cost/collectives.hpp"
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

CollectiveTime in_node(const DeviceProfile& p, int ranks, double bytes, BytesPerSec nvlink = kNvlink) {
  return in_node_collective(p, round_stack(), kAr, ranks, Bytes(bytes), nvlink);
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

WireCollective across(CollectiveOp op, GroupShape shape, double bytes) {
  static const DeviceProfile p = bare_profile();
  return across_nodes(p, round_stack(), op, shape, Bytes(bytes), kNvlink);
}

TEST(CostCollective, SmallAllReduceAcrossManyNodesTakesTheTree) {
  const auto w = across(kAr, {128, 16, 8, true}, 1e3);
  EXPECT_EQ(w.algorithm, "tree");
  EXPECT_EQ(w.protocol, "ll");
  EXPECT_NEAR(w.latency.value, 8e-6 + 14e-6 + 2 * 4 * 5e-6, 1e-15);
  EXPECT_DOUBLE_EQ(w.bytes_per_node, 2 * 1e3 / 0.5);
}

TEST(CostCollective, LargeAllReduceTakesTheRing) {
  const auto w = across(kAr, {16, 16, 1, true}, 1e10);
  EXPECT_EQ(w.algorithm, "ring");
  EXPECT_EQ(w.protocol, "simple");
  EXPECT_NEAR(w.latency.value, 10e-6 + 30 * 14e-6, 1e-15);
  EXPECT_DOUBLE_EQ(w.bytes_per_node, 2 * 15.0 / 16 * 1e10);
  EXPECT_TRUE(std::isinf(w.in_node_cap.value));
}

TEST(CostCollective, InNodeLegLimitsWhatAllItsRanksMove) {
  const auto gather = across(CollectiveOp::all_gather, {16, 2, 8, true}, 1e9);
  EXPECT_DOUBLE_EQ(gather.bytes_per_node, 15.0 / 16 * 1e9);
  EXPECT_DOUBLE_EQ(gather.in_node_cap.value, 80e9);
  const auto exchange = across(CollectiveOp::all_to_all, {16, 2, 8, true}, 1e9);
  EXPECT_DOUBLE_EQ(exchange.bytes_per_node, 8 * 8.0 / 16 * 1e9);
  EXPECT_NEAR(exchange.bytes_per_node / exchange.in_node_cap.value, 7.0 / 16 * 1e9 / 80e9, 1e-12);
}

TEST(CostCollective, NicLatencyCountsOnEveryHop) {
  const auto p = bare_profile();
  const GroupShape shape{4, 4, 1, true};
  const auto op = CollectiveOp::reduce_scatter;
  const auto a = across_nodes(p, round_stack(), op, shape, Bytes(1e10), kNvlink, BytesPerSec(1e11));
  const auto b =
      across_nodes(p, round_stack(), op, shape, Bytes(1e10), kNvlink, BytesPerSec(1e11), Seconds(1e-6));
  EXPECT_NEAR(b.latency.value - a.latency.value, 3e-6, 1e-15);
  EXPECT_THROW(across_nodes(p, round_stack(), op, {8, 1, 8, true}, Bytes(1), kNvlink), std::invalid_argument);
}

// Beyond the profile's; a ring of all_reduce over n GPUs has 2(n - 1) hops, a measured call at least 2.
TEST(CostCollective, NvlinkLatencyCountsOnEveryHopAndOnTheFewestOfATable) {
  const CollectiveContext more{.nvlink_more = Seconds(1e-6)};
  const auto longer = [&](const DeviceProfile& p, int ranks, double bytes) {
    const auto at = [&](const CollectiveContext& context) {
      return in_node_collective(p, round_stack(), kAr, ranks, Bytes(bytes), kNvlink, context).time.value;
    };
    return at(more) - at({});
  };
  EXPECT_NEAR(longer(bare_profile(), 8, 1e9), 14e-6, 1e-12);
  EXPECT_NEAR(longer(with_tables(), 8, 1e6), 2e-6, 1e-12);
  EXPECT_NEAR(longer(with_tables(), 4, 1e6), 2e-6, 1e-12);
  EXPECT_NEAR(longer(with_tables(), 16, 1e6), 2e-6 + 16e-6, 1e-12);
  const GroupShape shape{16, 2, 8, true};
  const auto latency = [&](const CollectiveContext& context) {
    return across_nodes(bare_profile(), round_stack(), CollectiveOp::all_gather, shape, Bytes(1e10), kNvlink,
                        BytesPerSec(1e11), Seconds(0), context)
        .latency.value;
  };
  EXPECT_NEAR(latency(more) - latency({}), 14e-6, 1e-12);
}

TEST(CostTransfer, InNodeIsLatencyAndRate) {
  auto p = bare_profile();
  EXPECT_DOUBLE_EQ(p2p_in_node(p, Bytes(8e8), kNvlink, Seconds(1e-6)).time.value, 4e-6 + 1e-6 + 8e8 / 80e9);
  EXPECT_DOUBLE_EQ(p2p_network_latency(p, Seconds(2e-6)).value, 11e-6);
  p.collectives.push_back(collective_table(CollectiveOp::send_recv, 2, {1e3, 1e6}, {8e-6, 20e-6}));
  EXPECT_DOUBLE_EQ(p2p_in_node(p, Bytes(1e6), kNvlink, Seconds(1e-6)).time.value, 20e-6);
  EXPECT_DOUBLE_EQ(p2p_in_node(p, Bytes(1e6), kNvlink, Seconds(3e-6)).time.value, 22e-6);
}

TEST(CostNames, AreThoseOfNccl) {
  EXPECT_EQ(nccl_kernel_name(kAr, DType::bf16, "nvls_tree", "simple"),
            "ncclDevKernel_AllReduce_Sum_bf16_NVLS_TREE_SIMPLE");
  EXPECT_EQ(nccl_kernel_name(kAr, DType::bf16, Bytes(1e6)), "ncclDevKernel_AllReduce_Sum_bf16_RING_LL");
  EXPECT_EQ(nccl_kernel_name(kAr, DType::fp32, Bytes(1e9)), "ncclDevKernel_AllReduce_Sum_f32_RING_SIMPLE");
  EXPECT_EQ(nccl_kernel_name(CollectiveOp::all_gather, DType::fp16, Bytes(8e6)),
            "ncclDevKernel_AllGather_RING_LL128");
  EXPECT_EQ(nccl_kernel_name(CollectiveOp::all_to_all, DType::fp16, Bytes(8e6)), "ncclDevKernel_SendRecv");
}

}  // namespace
}  // namespace rehearse
