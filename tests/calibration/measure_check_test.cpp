// The reference against the host's kernels, and what it says of wrong results.
#include <gmock/gmock.h>

#include "calibration/probes/bench.hpp"
#include "calibration/work/values.hpp"
#include "tests/support/scripted_backend.hpp"

namespace rehearse::calibration {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class MeasureCheck : public ::testing::Test {
 protected:
  std::optional<std::string> check(const Work& work) {
    Bench bench(backend, ranks);
    const OperandSets sets(bench, work);
    return check_result(backend, work, sets.first(), ranks);
  }
  ScriptedRanks ranks;
  ScriptedBackend backend{make_host_backend(ranks)};
};

float* floats(const Call& call, size_t operand) {
  return static_cast<float*>((*call.operands)[operand].data);
}

GemmCall gemm(GemmRole role, bool accumulate = false, double batch = 1) {
  return {DType::fp32, role, {24, 40, 56, batch}, accumulate};
}

TEST_F(MeasureCheck, GemmsAreRightInEveryLayout) {
  for (const GemmRole role : {GemmRole::forward, GemmRole::input_gradient, GemmRole::weight_gradient})
    for (const bool accumulate : {false, true})
      for (const double batch : {1.0, 3.0}) EXPECT_EQ(check(gemm(role, accumulate, batch)), std::nullopt);
}

TEST_F(MeasureCheck, AGemmOfAnotherLayoutIsWrong) {
  backend.instead = [&](const Call& call) {
    const Work other = GemmCall{DType::fp32, GemmRole::forward, {40, 40, 40}};
    const Call as_forward{&other, call.operands};
    ScriptedRanks one;
    make_host_backend(one)->time({&as_forward, 1}, Clocking::stream);
  };
  EXPECT_EQ(check(GemmCall{DType::fp32, GemmRole::forward, {40, 40, 40}}), std::nullopt);
  EXPECT_NE(check(GemmCall{DType::fp32, GemmRole::input_gradient, {40, 40, 40}}), std::nullopt);
  EXPECT_NE(check(GemmCall{DType::fp32, GemmRole::weight_gradient, {40, 40, 40}}), std::nullopt);
  EXPECT_NE(check(GemmCall{DType::fp32, GemmRole::forward, {40, 40, 40}, true}), std::nullopt);
}

TEST_F(MeasureCheck, AKernelThatDidNotRunIsSeen) {
  backend.instead = [](const Call&) {};
  EXPECT_THAT(*check(gemm(GemmRole::forward)), StartsWith("C[0,0] = 0, reference "));
  for (const auto& row : kMemoryKernels) {
    const auto wrong = check(MemoryCall{DType::fp32, row.value, {12, 32}});
    EXPECT_NE(wrong, std::nullopt) << row.name;
  }
  EXPECT_NE(check(AttentionCall{DType::fp32, false, {1, 16, 2, 2, 8, true}}), std::nullopt);
  EXPECT_NE(check(AttentionCall{DType::fp32, true, {1, 16, 2, 2, 8, true}}), std::nullopt);
}

TEST_F(MeasureCheck, SaysWhereAndByHowMuch) {
  backend.after = [](const Call& call) { floats(call, 2)[24 * 40 - 1] = 1000; };
  EXPECT_THAT(*check(gemm(GemmRole::forward)), StartsWith("C[23,39] = 1000, reference "));
  EXPECT_THAT(*check(gemm(GemmRole::forward)), HasSubstr(", tolerance "));
}

TEST_F(MeasureCheck, NotANumberIsNoResult) {
  backend.after = [](const Call& call) { floats(call, 2)[0] = NAN; };
  EXPECT_THAT(*check(gemm(GemmRole::forward)), StartsWith("C[0,0] = nan"));
}

TEST_F(MeasureCheck, MemoryKernelsAreRight) {
  for (const auto& row : kMemoryKernels)
    for (const MemoryShape shape : {MemoryShape{12, 32}, {1, 640}, {70, 256}})
      EXPECT_EQ(check(MemoryCall{DType::fp32, row.value, shape}), std::nullopt)
          << row.name << ' ' << shape.width;
}

// Scaling every output by 1.01 is caught for each kernel that computes something.
TEST_F(MeasureCheck, OnePercentIsSeen) {
  for (const auto& row : kMemoryKernels) {
    backend.after = [](const Call& call) {
      for (const auto& tensor : *call.operands)
        if (tensor.spec.output)
          for (int64_t i = 0; i < tensor.spec.count; ++i) static_cast<float*>(tensor.data)[i] *= 1.01f;
    };
    EXPECT_NE(check(MemoryCall{DType::fp32, row.value, {12, 32}}), std::nullopt) << row.name;
  }
}

TEST_F(MeasureCheck, AttentionIsRight) {
  for (const bool backward : {false, true})
    for (const bool causal : {false, true})
      for (const double kv_heads : {4.0, 2.0})
        EXPECT_EQ(check(AttentionCall{DType::fp32, backward, {2, 48, 4, kv_heads, 16, causal}}), std::nullopt)
            << backward << causal << kv_heads;
}

TEST_F(MeasureCheck, AMaskLeftOutIsSeen) {
  backend.instead = [&](const Call& call) {
    AttentionCall full = std::get<AttentionCall>(*call.work);
    full.shape.causal = false;
    const Work work = full;
    const Call other{&work, call.operands};
    ScriptedRanks one;
    make_host_backend(one)->time({&other, 1}, Clocking::stream);
  };
  EXPECT_NE(check(AttentionCall{DType::fp32, false, {1, 32, 2, 2, 8, true}}), std::nullopt);
  EXPECT_NE(check(AttentionCall{DType::fp32, true, {1, 32, 2, 2, 8, true}}), std::nullopt);
}

// Rank 1 of 2, as the collectives should leave it.
class MeasureCheckCollective : public MeasureCheck {
 protected:
  MeasureCheckCollective() { ranks = ScriptedRanks(2, 1); }
  static CollectiveCall call(CollectiveOp op, bool in_place = false) {
    return {op, DType::fp32, 64, {2, 1, true, 1, 2}, in_place};
  }
  // What rank `rank` holds at i before the call.
  static float sent(const Call& call, int rank, int64_t i) {
    OperandSpec spec = operands_of(*call.work)[0];
    spec.seed = seed_on(spec.seed, rank);
    return float(value_at(spec.seed, uint64_t(i)));
  }
};

TEST_F(MeasureCheckCollective, SumsAndParts) {
  backend.instead = [](const Call& c) {
    for (int i = 0; i < 16; ++i) floats(c, 1)[i] = sent(c, 0, i) + sent(c, 1, i);
  };
  EXPECT_EQ(check(call(CollectiveOp::all_reduce)), std::nullopt);
  EXPECT_NE(check(call(CollectiveOp::all_to_all)), std::nullopt);
  backend.instead = [](const Call& c) {
    for (int i = 0; i < 8; ++i) floats(c, 1)[i] = sent(c, 0, 8 + i) + sent(c, 1, 8 + i);
  };
  EXPECT_EQ(check(call(CollectiveOp::reduce_scatter)), std::nullopt);
  backend.instead = [](const Call& c) {
    for (int i = 0; i < 16; ++i) floats(c, 1)[i] = sent(c, i / 8, i % 8);
  };
  EXPECT_EQ(check(call(CollectiveOp::all_gather)), std::nullopt);
  backend.instead = [](const Call& c) {
    for (int i = 0; i < 16; ++i) floats(c, 1)[i] = sent(c, i / 8, 8 + i % 8);
  };
  EXPECT_EQ(check(call(CollectiveOp::all_to_all)), std::nullopt);
  backend.instead = [](const Call& c) {
    for (int i = 0; i < 16; ++i) floats(c, 1)[i] = sent(c, 0, i);
  };
  EXPECT_EQ(check(call(CollectiveOp::send_recv)), std::nullopt);
  EXPECT_EQ(check(call(CollectiveOp::broadcast)), std::nullopt);
}

TEST_F(MeasureCheckCollective, InPlaceWhereNcclPutsIt) {
  backend.instead = [](const Call& c) {
    for (int i = 0; i < 16; ++i) floats(c, 0)[i] = sent(c, i / 8, i);
  };
  EXPECT_EQ(check(call(CollectiveOp::all_gather, true)), std::nullopt);
  backend.instead = [](const Call& c) {
    for (int i = 8; i < 16; ++i) floats(c, 0)[i] = sent(c, 0, i) + sent(c, 1, i);
  };
  EXPECT_EQ(check(call(CollectiveOp::reduce_scatter, true)), std::nullopt);
}

TEST_F(MeasureCheckCollective, WhatKeepsItsOwnDataIsWrong) {
  backend.instead = [](const Call&) {};
  for (const auto op : {CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter,
                        CollectiveOp::broadcast})
    EXPECT_NE(check(call(op, true)), std::nullopt);
  EXPECT_THAT(*check(call(CollectiveOp::send_recv)), StartsWith("rank 0: receive[0] = 0, reference "));
}

TEST_F(MeasureCheckCollective, ASeedOfItsOwnIsFollowed) {
  Bench bench(backend, ranks);
  bench.seed = 5;
  const Work work = call(CollectiveOp::send_recv);
  const OperandSets sets(bench, work);
  backend.instead = [](const Call& c) {
    const uint64_t seed = (*c.operands)[0].spec.seed - seed_on(0, 1);
    for (int i = 0; i < 16; ++i) floats(c, 1)[i] = float(value_at(seed, uint64_t(i)));
  };
  EXPECT_EQ(check_result(backend, work, sets.first(), ranks), std::nullopt);
}

}  // namespace
}  // namespace rehearse::calibration
