#include "calibration/work/work.hpp"

#include <gtest/gtest.h>

#include <set>

#include "sim/spec/bus_factor.hpp"

namespace rehearse::calibration {
namespace {

constexpr GemmCall kGemm{DType::bf16, GemmRole::forward, {2048, 12288, 6144}};

TEST(Work, NamesSayWhatIsMeasured) {
  EXPECT_EQ(point_of(kGemm), "gemm bf16 forward m=2048 n=12288 k=6144");
  EXPECT_EQ(point_of(GemmCall{DType::fp32, GemmRole::weight_gradient, {8, 16, 32, 4}, true}),
            "gemm fp32 weight_gradient m=8 n=16 k=32 batch=4 accumulate");
  EXPECT_EQ(point_of(CollectiveCall{CollectiveOp::all_reduce, DType::fp16, 1048576, {8, 1, false, 1, 8}}),
            "all_reduce fp16 bytes=1048576 ranks=8 nodes=1x8");
  EXPECT_EQ(point_of(MemoryCall{DType::bf16, MemoryKernel::gelu, {2048, 8192}}),
            "gelu bf16 rows=2048 width=8192");
  EXPECT_EQ(
      point_of(CollectiveCall{CollectiveOp::all_to_all, DType::fp32, 8589934592, {4, 2, true, 2, 2}, true}),
      "all_to_all fp32 bytes=8589934592 ranks=4 nodes=2x2 stride=2 concurrent in-place");
}

// Names are keys of resumption: two works that differ anywhere have two names.
TEST(Work, EveryFieldIsInTheName) {
  const AttentionCall attention{DType::bf16, false, {1, 2048, 16, 8, 128, true}};
  const CollectiveCall all_reduce{CollectiveOp::all_reduce, DType::bf16, 1024, {4, 1, false, 1, 4}};
  std::vector<Work> works{kGemm, attention, all_reduce, LaunchCall{true}, LaunchCall{false}};
  const auto vary = [&](auto work, auto change) {
    change(work);
    works.push_back(work);
  };
  vary(kGemm, [](GemmCall& c) { c.dtype = DType::fp16; });
  vary(kGemm, [](GemmCall& c) { c.role = GemmRole::input_gradient; });
  vary(kGemm, [](GemmCall& c) { c.shape.batch = 2; });
  vary(kGemm, [](GemmCall& c) { c.accumulate = true; });
  vary(attention, [](AttentionCall& c) { c.backward = true; });
  vary(attention, [](AttentionCall& c) { c.shape.causal = false; });
  vary(attention, [](AttentionCall& c) { c.shape.kv_heads = 16; });
  vary(all_reduce, [](CollectiveCall& c) { c.in_place = true; });
  vary(all_reduce, [](CollectiveCall& c) { c.group.stride = 2; });
  vary(all_reduce, [](CollectiveCall& c) { c.group.concurrent = true; });
  vary(all_reduce, [](CollectiveCall& c) { c.group = {4, 1, false, 2, 2}; });
  for (int channels : {0, 4}) works.push_back(OverlapCall{kGemm, all_reduce, channels});
  works.push_back(OverlapCall{attention, all_reduce, 0});
  std::set<std::string> names;
  for (const auto& work : works) names.insert(point_of(work));
  EXPECT_EQ(names.size(), works.size());
}

TEST(Work, CountsFlops) {
  EXPECT_EQ(flops_of(kGemm), 2.0 * 2048 * 12288 * 6144);
  EXPECT_EQ(flops_of(GemmCall{DType::fp32, GemmRole::forward, {2, 3, 4, 5}}), 240);
  const AttentionCall full{DType::bf16, false, {2, 128, 4, 4, 64, false}};
  EXPECT_EQ(flops_of(full), 4.0 * 2 * 4 * 128 * 128 * 64);
  AttentionCall causal = full;
  causal.shape.causal = true;
  EXPECT_EQ(flops_of(causal), flops_of(full) / 2);
  causal.backward = true;
  EXPECT_EQ(flops_of(causal), flops_of(full) * 1.25);
  EXPECT_EQ(flops_of(MemoryCall{DType::bf16, MemoryKernel::adam, {1, 10}}), 0);
  EXPECT_EQ(flops_of(OverlapCall{kGemm, {}, 0}), flops_of(kGemm));
}

TEST(Work, CountsBytes) {
  EXPECT_EQ(bytes_of(Work(GemmCall{DType::bf16, GemmRole::forward, {2, 3, 4}})), 2 * (8 + 12 + 6));
  // Weight gradients are fp32, and read before they are added to.
  EXPECT_EQ(bytes_of(Work(GemmCall{DType::bf16, GemmRole::weight_gradient, {2, 3, 4}, true})),
            2 * (8 + 12) + 4 * 6 * 2);
  EXPECT_EQ(bytes_of(Work(AttentionCall{DType::bf16, false, {1, 10, 4, 2, 8, true}})),
            2 * (2 * 10 * 4 * 8 + 2 * 10 * 2 * 8) + 4 * 10 * 4);
  EXPECT_EQ(bytes_of(Work(MemoryCall{DType::fp32, MemoryKernel::copy, {3, 5}})), 2 * 4 * 15);
  EXPECT_EQ(bytes_of(Work(MemoryCall{DType::bf16, MemoryKernel::dropout_add, {3, 5}})), 7 * 15);
  EXPECT_EQ(bytes_of(Work(MemoryCall{DType::bf16, MemoryKernel::adam, {1, 10}})), 300);
  EXPECT_EQ(bytes_of(Work(LaunchCall{true})), 0);
}

TEST(Work, BusFactors) {
  EXPECT_EQ(bus_factor(CollectiveOp::all_reduce, 8), 1.75);
  EXPECT_EQ(bus_factor(CollectiveOp::all_gather, 8), 0.875);
  EXPECT_EQ(bus_factor(CollectiveOp::all_to_all, 4), 0.75);
  EXPECT_EQ(bus_factor(CollectiveOp::send_recv, 8), 1);
}

}  // namespace
}  // namespace rehearse::calibration
