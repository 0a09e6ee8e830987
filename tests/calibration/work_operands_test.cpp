#include <gmock/gmock.h>

#include <set>

#include "calibration/work/operands.hpp"
#include "calibration/work/values.hpp"

namespace rehearse::calibration {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(WorkOperands, GemmResultsAreWide) {
  const GemmCall forward{DType::fp8, GemmRole::forward, {128, 64, 32, 3}, false};
  auto list = operands_of(forward);
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].count, 3 * 128 * 32);
  EXPECT_EQ(list[1].count, 3 * 64 * 32);
  EXPECT_EQ(list[2].count, 3 * 128 * 64);
  EXPECT_EQ(list[2].dtype, DType::bf16);
  EXPECT_EQ(list[2].content, Content::zero);
  list = operands_of(GemmCall{DType::bf16, GemmRole::weight_gradient, {128, 64, 16}, true});
  EXPECT_EQ(list[2].dtype, DType::fp32);
  EXPECT_EQ(list[2].content, Content::normal);  // what is added to
  EXPECT_EQ(list[2].scale, 4);
  EXPECT_TRUE(list[2].output);
}

TEST(WorkOperands, BackwardBeginsWithWhatTheForwardHas) {
  const AttentionShape shape{2, 64, 8, 2, 16, true};
  const auto forward = operands_of(AttentionCall{DType::fp16, false, shape});
  const auto backward = operands_of(AttentionCall{DType::fp16, true, shape});
  ASSERT_EQ(forward.size(), 5u);
  ASSERT_EQ(backward.size(), 9u);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(forward[i].count, backward[i].count);
    EXPECT_EQ(forward[i].seed, backward[i].seed);
    EXPECT_STREQ(forward[i].name, backward[i].name);
  }
  EXPECT_EQ(backward[7].count, 2 * 64 * 2 * 16);
  EXPECT_EQ(backward[4].count, 2 * 8 * 64);
}

TEST(WorkOperands, EveryMemoryKernelReadsAndWrites) {
  for (const auto& row : kMemoryKernels) {
    const auto list = operands_of(MemoryCall{DType::bf16, row.value, {6, 10}});
    bool written = false;
    std::set<uint64_t> seeds;
    for (const auto& operand : list) {
      written |= operand.output;
      EXPECT_GT(operand.count, 0) << row.name << ' ' << operand.name;
      EXPECT_TRUE(seeds.insert(operand.seed).second) << row.name;
      if (operand.content == Content::tokens) {
        EXPECT_GT(operand.bound, 0) << row.name;
      }
    }
    EXPECT_TRUE(written) << row.name;
  }
}

TEST(WorkOperands, AdamMovesTwentySixPlusWeightBytes) {
  double read = 0, written = 0;
  for (const auto& o : operands_of(MemoryCall{DType::bf16, MemoryKernel::adam, {1, 1000}})) {
    if (o.content != Content::zero) read += o.bytes();
    if (o.output) written += o.bytes();
  }
  EXPECT_EQ(read, 16000);
  EXPECT_EQ(written, 14000);
}

TEST(WorkOperands, CollectivesCountAsNcclTestsDoes) {
  const Group group{4, 1, true, 1, 4};
  const auto counts = [&](CollectiveOp op, bool in_place) {
    std::vector<int64_t> all;
    for (const auto& o : operands_of(CollectiveCall{op, DType::fp16, 800, group, in_place}))
      all.push_back(o.count);
    return all;
  };
  EXPECT_THAT(counts(CollectiveOp::all_reduce, false), ElementsAre(400, 400));
  EXPECT_THAT(counts(CollectiveOp::all_gather, false), ElementsAre(100, 400));
  EXPECT_THAT(counts(CollectiveOp::reduce_scatter, false), ElementsAre(400, 100));
  EXPECT_THAT(counts(CollectiveOp::all_to_all, false), ElementsAre(400, 400));
  EXPECT_THAT(counts(CollectiveOp::send_recv, false), ElementsAre(400, 400));
  EXPECT_THAT(counts(CollectiveOp::all_gather, true), ElementsAre(400));
}

TEST(WorkOperands, OverlapTakesBoth) {
  const OverlapCall call{GemmCall{DType::fp32, GemmRole::forward, {8, 8, 8}},
                         {CollectiveOp::all_reduce, DType::fp32, 64, {2, 1, true, 1, 2}}};
  EXPECT_EQ(operands_of(call).size(), 5u);
  EXPECT_THAT(operands_of(LaunchCall{true}), IsEmpty());
}

TEST(WorkOperands, GroupsTileTheJob) {
  EXPECT_THAT(members_of({4, 1, true}, 5, 8), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(members_of({2, 4, true}, 5, 8), ElementsAre(1, 5));
  EXPECT_THAT(members_of({2, 4, false}, 5, 8), IsEmpty());
  EXPECT_THAT(members_of({2, 4, false}, 4, 8), ElementsAre(0, 4));
  EXPECT_THAT(members_of({4, 1, true}, 5, 6), IsEmpty());
  EXPECT_THAT(members_of({3, 1, true}, 5, 6), ElementsAre(3, 4, 5));
}

TEST(WorkOperands, ValuesAreNearlyNormalAndMasksOneInTen) {
  double sum = 0, squares = 0, zeros = 0;
  constexpr int n = 200000;
  for (int i = 0; i < n; ++i) {
    const double x = value_at(7, i);
    sum += x;
    squares += x * x;
    zeros += mask_at(7, i) == 0;
  }
  EXPECT_NEAR(sum / n, 0, 0.01);
  EXPECT_NEAR(squares / n, 1, 0.01);
  EXPECT_NEAR(zeros / n, 0.1, 0.005);
}

}  // namespace
}  // namespace rehearse::calibration
