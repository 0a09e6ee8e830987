#include <gmock/gmock.h>

#include "calibration/measure/measure.hpp"

namespace rehearse::calibration {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;

// An A100: 312 TFLOP/s at 1410 MHz, 2.04 TB/s, 40 MB L2, 300 GB/s links, 25 GB/s of NIC a GPU.
const Limits kLimits{{{DType::bf16, 312e12}}, 2.04e12, 300e9, 25e9, 80e9, 40e6, 108, 1410};

Sample timed(const Work& work, double seconds) {
  Sample sample;
  sample.work = work;
  sample.device = {seconds, 0, seconds, seconds, 20};
  return sample;
}

const GemmCall kLargeGemm{DType::bf16, GemmRole::forward, {8192, 8192, 8192}};  // 1.0995 PFLOP

CollectiveCall call(CollectiveOp op, double bytes, int nodes, int each, bool concurrent = true) {
  return {op, DType::bf16, bytes, {nodes * each, 1, concurrent, nodes, each}};
}

std::string code(const Sample& sample) { return judge(sample, kLimits, {}).code; }

TEST(MeasureJudge, BelievesWhatIsPossible) {
  EXPECT_EQ(judge(timed(kLargeGemm, 4e-3), kLimits, {}).status, Status::ok);
  EXPECT_EQ(code(timed(kLargeGemm, 3.6e-3)), "");
}

TEST(MeasureJudge, AbovePeakSaysHowMuch) {
  const Verdict verdict = judge(timed(kLargeGemm, 3e-3), kLimits, {});
  EXPECT_EQ(verdict.status, Status::rejected);
  EXPECT_EQ(verdict.code, "above-peak");
  EXPECT_EQ(verdict.reason, "366.5 TFLOP/s, the peak at this clock is 312");
}

TEST(MeasureJudge, ThePeakFollowsTheClock) {
  Sample sample = timed(kLargeGemm, 4e-3);                  // 275 TFLOP/s
  sample.clock_before_mhz = sample.clock_after_mhz = 1100;  // peak 243
  EXPECT_EQ(code(sample), "above-peak");
  sample.clock_before_mhz = 1410;  // fell while it ran
  EXPECT_EQ(code(sample), "");
  sample = timed(kLargeGemm, 3.4e-3);  // 323 TFLOP/s
  sample.clock_before_mhz = 1600;
  EXPECT_EQ(code(sample), "");
}

TEST(MeasureJudge, CausalAttentionCountsHalf) {
  // 4 x 8 heads x 16384^2 x 128 / 2 = 550 GFLOP; counted in full it would be above the peak.
  const AttentionCall attention{DType::bf16, false, {1, 16384, 8, 8, 128, true}};
  EXPECT_EQ(code(timed(attention, 2.4e-3)), "");
  EXPECT_EQ(code(timed(attention, 1.7e-3)), "above-peak");
}

TEST(MeasureJudge, AnUnknownPeakRejectsNothing) {
  EXPECT_EQ(code(timed(GemmCall{DType::fp8, GemmRole::forward, {8192, 8192, 8192}}, 1e-3)), "");
}

TEST(MeasureJudge, AboveMemory) {
  const MemoryCall copy{DType::bf16, MemoryKernel::copy, {8192, 8192}};  // 268 MB
  EXPECT_EQ(code(timed(copy, 150e-6)), "");
  const Verdict verdict = judge(timed(copy, 100e-6), kLimits, {});
  EXPECT_EQ(verdict.code, "above-memory");
  EXPECT_EQ(verdict.reason, "2684 GB/s, the memory moves 2040");
  Sample warm = timed(copy, 100e-6);
  warm.flags = {"warm-l2"};
  EXPECT_EQ(code(warm), "");
}

TEST(MeasureJudge, SmallOperandsMayComeFromTheCache) {
  const MemoryCall copy{DType::bf16, MemoryKernel::copy, {1024, 1024}};  // 4.2 MB
  EXPECT_EQ(code(timed(copy, 1e-6)), "");                                // 4.2 TB/s
  EXPECT_EQ(code(timed(copy, 0.5e-6)), "above-memory");                  // 8.4 TB/s
}

TEST(MeasureJudge, AboveWireInANode) {
  // 1 GiB over 8: busbw = 1.878 GB / t for all_reduce; 300 GB/s, in-switch at most 525.
  EXPECT_EQ(code(timed(call(CollectiveOp::all_reduce, 1 << 30, 1, 8), 4e-3)), "");
  EXPECT_EQ(code(timed(call(CollectiveOp::all_reduce, 1 << 30, 1, 8), 3.6e-3)), "");
  EXPECT_EQ(code(timed(call(CollectiveOp::all_gather, 1 << 30, 1, 8), 3.2e-3)), "");
  const Verdict verdict = judge(timed(call(CollectiveOp::all_gather, 1 << 30, 1, 8), 2e-3), kLimits, {});
  EXPECT_EQ(verdict.code, "above-wire");
  EXPECT_EQ(verdict.reason, "bus bandwidth 469.8 GB/s, the wires and the best algorithm allow 300");
  EXPECT_EQ(code(timed(call(CollectiveOp::send_recv, 1 << 30, 1, 2), 3e-3)), "above-wire");
  EXPECT_EQ(code(timed(call(CollectiveOp::all_reduce, 1 << 30, 1, 8), 3e-3)), "above-wire");
}

TEST(MeasureJudge, AcrossNodesTheNicsBind) {
  EXPECT_DOUBLE_EQ(bus_bound(call(CollectiveOp::all_gather, 1, 2, 8), kLimits),
                   300e9);  // 200 x 15/16 x 2 is more
  EXPECT_DOUBLE_EQ(bus_bound(call(CollectiveOp::all_reduce, 1, 2, 8), kLimits),
                   375e9);  // tree: 2 x 15/16 x 200
  EXPECT_DOUBLE_EQ(bus_bound(call(CollectiveOp::all_to_all, 1, 2, 8), kLimits), 46.875e9);
  EXPECT_DOUBLE_EQ(bus_bound(call(CollectiveOp::all_gather, 1, 16, 1), kLimits), 25e9);
  EXPECT_DOUBLE_EQ(bus_bound(call(CollectiveOp::all_gather, 1, 16, 1, false), kLimits),
                   0);  // other GPUs' NICs
  EXPECT_DOUBLE_EQ(bus_bound(call(CollectiveOp::send_recv, 1, 2, 1), kLimits), 25e9);
  Limits unknown = kLimits;
  unknown.network_bytes_per_s = 0;
  EXPECT_DOUBLE_EQ(bus_bound(call(CollectiveOp::all_gather, 1, 4, 1), unknown), 0);
}

// 2 nodes of 8 H100 on 400G each: 487 GB/s were measured, above the 400 of the wires.
TEST(MeasureJudge, ATreeOverTwoNodesMayPassTheWireRate) {
  const Limits h100{{}, 3.35e12, 450e9, 50e9, 80e9, 50e6, 132, 1830};
  const double seconds = double(1 << 30) * 1.875 / 487e9;
  EXPECT_EQ(judge(timed(call(CollectiveOp::all_reduce, 1 << 30, 2, 8), seconds), h100, {}).code, "");
}

TEST(MeasureJudge, ZeroTimes) {
  EXPECT_EQ(code(timed(kLargeGemm, 0)), "zero-time");
  EXPECT_EQ(code(timed(kLargeGemm, -1)), "zero-time");
  EXPECT_EQ(code(timed(kLargeGemm, NAN)), "zero-time");
  Sample none;
  none.work = kLargeGemm;
  EXPECT_EQ(code(none), "zero-time");
}

TEST(MeasureJudge, OneRankIsUnfit) {
  const Verdict verdict = judge(timed(call(CollectiveOp::all_reduce, 1 << 30, 1, 1), 1e-6), kLimits, {});
  EXPECT_EQ(verdict.status, Status::unfit);
  EXPECT_EQ(verdict.code, "one-rank");
}

TEST(MeasureJudge, SpreadAloneIsNoFaultWhereTheMedianSettled) {
  Sample sample = timed(kLargeGemm, 4e-3);
  sample.device.p90 = 6e-3;
  EXPECT_EQ(code(sample), "");
  sample.flags = {"unsettled"};
  EXPECT_EQ(code(sample), "unstable");
  sample.device.p90 = 4.2e-3;
  EXPECT_EQ(code(sample), "");
}

TEST(MeasureJudge, OverlapTakesBothSides) {
  const OverlapCall work{kLargeGemm, call(CollectiveOp::all_gather, 1 << 30, 1, 8), 16};
  Sample sample = timed(work, 5e-3);
  sample.alone = 4e-3;
  sample.beside = 5e-3;
  sample.collective_alone = 4e-3;
  sample.collective_beside = 6e-3;
  EXPECT_EQ(code(sample), "");
  sample.alone = 3e-3;
  EXPECT_EQ(code(sample), "above-peak");
  sample.alone = 4e-3;
  sample.collective_alone = 2e-3;
  EXPECT_EQ(code(sample), "above-wire");
  sample.collective_alone = 0;
  EXPECT_EQ(code(sample), "zero-time");
}

TEST(MeasureJudge, ThrottlingIsFlagged) {
  Sample sample;
  note_health(sample, {1410, 300, 50, {}}, {1350, 390, 70, {}});
  EXPECT_THAT(sample.flags, IsEmpty());
  EXPECT_EQ(sample.clock_before_mhz, 1410);
  note_health(sample, {1410, 300, 50, {}}, {1330, 400, 80, {"power cap"}});
  EXPECT_THAT(sample.flags, Contains("throttled"));
  EXPECT_THAT(sample.flags, Contains("clock-fell"));
  Sample unread;
  note_health(unread, {}, {});
  EXPECT_THAT(unread.flags, IsEmpty());
}

}  // namespace
}  // namespace rehearse::calibration
