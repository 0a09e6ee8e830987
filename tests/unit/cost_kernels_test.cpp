#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "sim/cost/kernels.hpp"
#include "sim/cost/nearest.hpp"
#include "tests/unit/cost_fixture.hpp"

namespace rehearse {
namespace {

using test::bare_profile;
using test::gridded_profile;
using test::round_stack;

double seconds(const DeviceProfile& p, GemmShape shape, GemmRole role = GemmRole::forward,
               DType t = DType::bf16) {
  return gemm(p, round_stack(), t, shape, role).time.value;
}

TEST(CostGemm, RooflineIsTheGreaterOfWorkAndTraffic) {
  const auto p = bare_profile();
  EXPECT_DOUBLE_EQ(gemm_roofline(p, DType::bf16, {4096, 4096, 4096}).value,
                   2 * 4096.0 * 4096 * 4096 / 100e12);
  EXPECT_DOUBLE_EQ(gemm_roofline(p, DType::bf16, {1, 4096, 4096}).value,
                   2 * (4096.0 + 4096 + 4096 * 4096.0) / 1e12);
  EXPECT_DOUBLE_EQ(gemm_roofline(p, DType::bf16, {64, 64, 64, 10}).value,
                   10 * gemm_roofline(p, DType::bf16, {64, 64, 64}).value);
}

TEST(CostGemm, MeasuredShapeHasItsMeasuredTime) {
  auto p = gridded_profile();
  p.gemm[0].rows[77].seconds *= 3;
  for (const auto& row : p.gemm[0].rows) {
    const auto t = gemm(p, round_stack(), DType::bf16, {row.m, row.n, row.k}, GemmRole::forward);
    EXPECT_EQ(t.time.value, std::max(row.seconds, 2e-6));
    EXPECT_EQ(t.basis, Basis::measured);
    EXPECT_FALSE(t.outside);
  }
}

TEST(CostGemm, ReferenceFillsTilesAndWaves) {
  const auto p = bare_profile();  // 100 SMs
  const auto reference = [&](GemmShape s) { return gemm_reference(p, DType::bf16, s).value; };
  const auto work = [](double m, double n, double k) { return 2 * m * n * k / 100e12; };
  // 80 x 40 tiles of 128 x 256 are 32 waves
  EXPECT_DOUBLE_EQ(reference({10240, 10240, 8192}), 6e-6 + work(10240, 10240, 8192));
  // 81 rows of tiles are 32.4 waves, 33 of which are begun
  EXPECT_DOUBLE_EQ(reference({10241, 10240, 8192}), 6e-6 + work(10368, 10240, 8192) * std::sqrt(33 / 32.4));
  // 100 narrow tiles fill one wave, 60 wide ones would pad n and leave 40 SMs idle
  EXPECT_DOUBLE_EQ(reference({2560, 640, 8192}), 6e-6 + 1.2 * work(2560, 640, 8192));
  // the products of a batch fill waves together: 25 x 8 tiles
  EXPECT_DOUBLE_EQ(reference({1024, 256, 8192, 25}), 6e-6 + 25 * work(1024, 256, 8192));
  EXPECT_DOUBLE_EQ(reference({128, 8192, 64, 10}),
                   6e-6 + 10 * 2 * (128. * 8192 + 128 * 64 + 8192 * 64) / 1e12);
}

TEST(CostGemm, BetweenShapesTheRatioToTheReferenceIsInterpolated) {
  auto p = gridded_profile();
  for (auto& row : p.gemm[0].rows)
    row.seconds = 2 * gemm_reference(p, DType::bf16, {row.m, row.n, row.k}).value;
  for (const GemmShape s :
       {GemmShape{700, 3000, 5000}, {8192, 8191, 513}, {20000, 20000, 20000}, {64, 512, 512, 40}}) {
    const auto t = gemm(p, round_stack(), DType::bf16, s, GemmRole::forward);
    EXPECT_NEAR(t.time / gemm_reference(p, DType::bf16, s), 2, 1e-12);
    EXPECT_EQ(t.basis, s.batch > 1 ? Basis::guess : Basis::fitted);
  }
  EXPECT_FALSE(gemm(p, round_stack(), DType::bf16, {8192 * 2, 8192, 8192}, GemmRole::forward).outside);
  EXPECT_TRUE(gemm(p, round_stack(), DType::bf16, {8192 * 2.5, 8192, 8192}, GemmRole::forward).outside);
}

TEST(CostGemm, BothSixteenBitTypesShareATableAndOthersBorrowItsShare) {
  auto p = gridded_profile();
  for (auto& row : p.gemm[0].rows)
    row.seconds = 2 * gemm_reference(p, DType::bf16, {row.m, row.n, row.k}).value;
  EXPECT_EQ(seconds(p, {700, 700, 700}), seconds(p, {700, 700, 700}, GemmRole::forward, DType::fp16));
  const auto t = gemm(p, round_stack(), DType::fp32, {4096, 4096, 4096}, GemmRole::forward);
  EXPECT_EQ(t.basis, Basis::guess);
  EXPECT_NEAR(t.time / gemm_reference(p, DType::fp32, {4096, 4096, 4096}), 2, 1e-12);
}

TEST(CostGemm, WeightGradientAndScaleMultiplyAndTheFloorHolds) {
  const auto p = gridded_profile();
  EXPECT_DOUBLE_EQ(seconds(p, {4096, 4096, 4096}, GemmRole::weight_gradient),
                   1.25 * seconds(p, {4096, 4096, 4096}));
  EXPECT_EQ(seconds(p, {4096, 4096, 4096}, GemmRole::input_gradient), seconds(p, {4096, 4096, 4096}));
  auto slow = round_stack();
  slow.kernel_floor_s.value = 4e-6;
  EXPECT_EQ(gemm(p, slow, DType::bf16, {8, 8, 8}, GemmRole::forward).time.value, 4e-6);
  EXPECT_LT(seconds(p, {8, 8, 8}), 4e-6);
}

TEST(CostGemm, OddHeadSizesRunWithoutTensorCores) {
  const auto p = gridded_profile();
  const GemmShape scores{2048, 2048, 108, 14};
  const auto t = gemm(p, round_stack(), DType::fp16, scores, GemmRole::forward);
  EXPECT_DOUBLE_EQ(t.time.value, 2.0 * 14 * 2048 * 2048 * 108 / 10e12);
  EXPECT_LT(seconds(p, {2048, 2048, 112, 14}), t.time.value / 2);
}

TEST(CostGemm, RefusesWhatHasNoMeaning) {
  const auto p = gridded_profile();
  EXPECT_THROW(seconds(p, {0, 8, 8}), std::invalid_argument);
  EXPECT_THROW(seconds(p, {8, 8, 8}, GemmRole::forward, DType::fp8), std::invalid_argument);
}

TEST(CostNearest, KeepsTheSixNearestInOrder) {
  Nearest<int> n;
  for (int i : {9, 3, 7, 1, 8, 2, 6, 4, 5}) n.offer(i * i, i);
  EXPECT_EQ(n.worst(), 36);
  EXPECT_EQ(n.nearest(), 1);
  const double weights = 1 + 1 / 2. + 1 / 3. + 1 / 4. + 1 / 5. + 1 / 6.;
  EXPECT_DOUBLE_EQ(n.interpolate([](int i) { return i; }), 6 / weights);
}

TEST(CostNearest, APlaneGoesThroughItsPoints) {
  Nearest<std::array<double, 2>, 6> n;
  const auto f = [](const auto& at) { return 3 + 2 * at[0] - at[1]; };
  for (const auto& at :
       {std::array{1., 0.}, {2., 1.}, {0., 2.}, {1., 3.}, {2., 3.}})  // none around the origin
    n.offer(at[0] * at[0] + at[1] * at[1], at);
  const auto point = [&](const auto& at) { return std::pair(f(at), at); };
  EXPECT_NEAR(n.plane<2>(point, 0, 10), 3, 1e-6);
  EXPECT_NEAR(n.plane<2>(point, 1e9, 10), n.interpolate(f), 1e-6);  // no slope is left
  // What lies beyond the values of the points is held within the margin: 1 to 5 here, 0 at the origin.
  const auto sum = [](const auto& at) { return std::pair(at[0] + at[1], at); };
  EXPECT_NEAR(n.plane<2>(sum, 0, 2), 0, 1e-6);
  EXPECT_DOUBLE_EQ(n.plane<2>(sum, 0, 0.25), 0.75);
  Nearest<std::array<double, 2>, 6> one;
  one.offer(1, {1, 0});
  EXPECT_DOUBLE_EQ(one.plane<2>(point, 0.3, 1), 5);
}

TEST(CostGemm, NothingIsFasterThanThePeak) {
  auto p = bare_profile();
  GemmTable table;
  table.rows.emplace_back(64, 64, 64, 1e-9);
  p.gemm.push_back(table);
  EXPECT_DOUBLE_EQ(seconds(p, {8192, 8192, 8192}), 2 * 8192.0 * 8192 * 8192 / 100e12);
}

// What tells kernels apart, m's padding and the last wave, counts for more than what scales.
TEST(CostGemm, NeighboursPadAlike) {
  auto p = bare_profile();
  GemmTable table;
  for (double m : {1920., 2048., 2056., 2176.})
    for (double n : {2048., 4096.})
      for (double k : {2048., 4096.})
        table.rows.emplace_back(m, n, k,
                                (m == 2056 ? 3 : 1) * gemm_reference(p, DType::bf16, {m, n, k}).value);
  p.gemm.push_back(table);
  EXPECT_NEAR(seconds(p, {2040, 2048, 2048}) / gemm_reference(p, DType::bf16, {2040, 2048, 2048}).value, 1,
              0.3);
  EXPECT_NEAR(seconds(p, {2060, 2048, 2048}) / gemm_reference(p, DType::bf16, {2060, 2048, 2048}).value, 3,
              0.9);
}

TEST(CostAttention, MeasuredRowsReproduceAndBackwardIsAMultiple) {
  auto p = bare_profile();
  AttentionTable table;
  for (double s : {1024., 2048., 4096.}) table.rows.emplace_back(1, s, 16, 16, 128, true, s * s * 1e-10);
  p.attention.push_back(table);
  const auto forward = attention(p, round_stack(), DType::bf16, {1, 2048, 16, 16, 128, true}, false);
  EXPECT_DOUBLE_EQ(forward.time.value, 2048.0 * 2048 * 1e-10);
  EXPECT_EQ(forward.basis, Basis::measured);
  EXPECT_DOUBLE_EQ(attention(p, round_stack(), DType::bf16, {1, 2048, 16, 16, 128, true}, true).time.value,
                   3 * forward.time.value);
  const auto full = attention(p, round_stack(), DType::bf16, {1, 2048, 16, 16, 128, false}, false);
  EXPECT_GT(full.time.value, 1.5 * forward.time.value);
  EXPECT_EQ(full.basis, Basis::fitted);
}

TEST(CostMemory, FloorAndBytes) {
  const auto p = bare_profile();
  const MemoryCall kCopy{DType::bf16, MemoryKernel::copy, {1, 1}};
  EXPECT_DOUBLE_EQ(memory_pass(p, round_stack(), kCopy, Bytes(1e9)).time.value, 2e-6 + 1e9 / 0.5e12);
  EXPECT_EQ(memory_pass(p, round_stack(), kCopy, Bytes(0)).time.value, 2e-6);
  EXPECT_EQ(memory_pass(p, round_stack(), kCopy, Bytes(1)).basis, Basis::fitted);
}

TEST(CostMemory, ATableOfTheKernelLeads) {
  auto p = bare_profile();
  MemoryTable table{MemoryKernel::norm, DType::bf16, {}};
  for (double rows : {512., 2048., 8192.})
    for (double width : {1024., 4096.}) table.rows.push_back({{rows, width}, 1e-11 * rows * width});
  p.memory.push_back(table);
  Stack stack = round_stack();
  stack.kernel_floor_s.value = 0;
  const auto time = [&](MemoryKernel kernel, DType dtype, MemoryShape shape) {
    return memory_pass(p, stack, {dtype, kernel, shape}, Bytes(1e9));
  };
  EXPECT_EQ(time(MemoryKernel::norm, DType::bf16, {2048, 4096}).basis, Basis::measured);
  EXPECT_DOUBLE_EQ(time(MemoryKernel::norm, DType::fp16, {2048, 4096}).time.value, 1e-11 * 2048 * 4096);
  const auto between = time(MemoryKernel::norm, DType::bf16, {3000, 3000});
  EXPECT_NEAR(between.time.value / (1e-11 * 3000 * 3000), 1, 1e-12);
  EXPECT_EQ(between.basis, Basis::fitted);
  EXPECT_FALSE(between.outside);
  EXPECT_TRUE(time(MemoryKernel::norm, DType::bf16, {8192 * 2.5, 4096}).outside);
  EXPECT_DOUBLE_EQ(time(MemoryKernel::softmax, DType::bf16, {2048, 4096}).time.value, 1e9 / 0.5e12);
  EXPECT_DOUBLE_EQ(time(MemoryKernel::norm, DType::fp32, {2048, 4096}).time.value, 1e9 / 0.5e12);
  // A kernel takes its launch, however little it works on.
  stack.kernel_floor_s.value = 4e-6;
  EXPECT_GT(time(MemoryKernel::norm, DType::bf16, {1, 64}).time.value, 3.9e-6);
}

TEST(CostGemm, TablesOfARoleAndOfBatchesLead) {
  auto p = gridded_profile();
  GemmTable gradients{DType::bf16, GemmRole::weight_gradient, {}};
  gradients.rows.emplace_back(4096, 4096, 4096, 7e-3);
  p.gemm.push_back(gradients);
  EXPECT_EQ(seconds(p, {4096, 4096, 4096}, GemmRole::weight_gradient), 7e-3);
  EXPECT_NE(seconds(p, {4096, 4096, 4096}, GemmRole::forward), 7e-3);
  p.batched_gemm.push_back({DType::bf16, {{{1024, 1024, 108, 16}, 5e-3}}});
  const auto t = gemm(p, round_stack(), DType::fp16, {1024, 1024, 108, 16}, GemmRole::forward);
  EXPECT_EQ(t.time.value, 5e-3);
  EXPECT_EQ(t.basis, Basis::measured);
  const auto twice = gemm(p, round_stack(), DType::fp16, {1024, 1024, 108, 32}, GemmRole::forward);
  EXPECT_EQ(twice.basis, Basis::fitted);
  EXPECT_NEAR(twice.time.value / 1e-2, 1, 0.2);
}

// Only the 16-bit types share tables.
TEST(CostAttention, TablesOfOtherTypesTakeNoPart) {
  auto p = bare_profile();
  p.peak_flops.emplace_back(DType::fp8, Constant{200e12});
  AttentionTable fp8, fp32;
  fp8.dtype = DType::fp8, fp32.dtype = DType::fp32;
  fp8.rows.emplace_back(1, 2048, 16, 16, 128, true, 1e-3);
  fp32.rows.emplace_back(1, 4096, 16, 16, 128, true, 40e-3);
  const auto time = [&](double sequence) {
    return attention(p, round_stack(), DType::fp8, {1, sequence, 16, 16, 128, true}, false).time.value;
  };
  p.attention = {fp8};
  const double alone = time(4096);
  p.attention = {fp8, fp32};
  EXPECT_EQ(time(4096), alone);
  EXPECT_EQ(time(2048), 1e-3);
}

TEST(CostAttention, AMeasuredBackwardLeads) {
  auto p = bare_profile();
  AttentionTable forward, backward;
  forward.rows.emplace_back(1, 2048, 16, 16, 128, true, 1e-3);
  backward.rows.emplace_back(1, 2048, 16, 16, 128, true, 2.2e-3);
  backward.backward = true;
  p.attention = {forward, backward};
  const auto time = [&](bool back) {
    return attention(p, round_stack(), DType::bf16, {1, 2048, 16, 16, 128, true}, back).time.value;
  };
  EXPECT_EQ(time(false), 1e-3);
  EXPECT_EQ(time(true), 2.2e-3);
}

}  // namespace
}  // namespace rehearse
