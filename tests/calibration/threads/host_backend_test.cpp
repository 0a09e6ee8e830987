// What the host backend says of itself, refuses and times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibration/work/values.hpp"
#include "tests/calibration/host_fixture.hpp"
#include "tests/support/skip.hpp"

namespace rehearse::calibration {
namespace {

constexpr const char* kClockTold = "a processor whose clock the system tells";

using testing::HasSubstr;
using testing::Optional;

using HostBackend = HostTest;
const GemmCall kHostGemm{DType::fp32, GemmRole::forward, {256, 256, 256, 1}};

TEST_F(HostBackend, SaysWhatTheMachineIs) {
  const Environment e = backend_->environment();
  EXPECT_EQ(e.backend, "host");
  EXPECT_FALSE(e.device.empty());
  EXPECT_THAT(e.toolkit, HasSubstr("OpenBLAS"));
  EXPECT_FALSE(e.collectives_library.empty());
  EXPECT_EQ(e.ranks, 1);
  EXPECT_EQ(e.ranks_per_node, 1);
  EXPECT_GT(e.limits.memory_bytes, 1e8);
  EXPECT_GT(e.limits.l2_bytes, 1e5);
  EXPECT_EQ(e.limits.peak(DType::bf16), 0);
}

// A real kernel stays below every bound, one that does nothing passes them.
TEST_F(HostBackend, LimitsHoldForRealWorkAlone) {
  const Limits limits = backend_->environment().limits;
  if (limits.peak_flops.empty())
    GTEST_SKIP() << test::skip_line("the peak of this machine is not known", kClockTold);
  const Operands list = operands(kHostGemm);
  double best = 1;
  for (int i = 0; i < 50; ++i) best = std::min(best, run(kHostGemm, list).device_s);
  EXPECT_LT(flops_of(kHostGemm) / best, limits.peak(DType::fp32));
  EXPECT_GT(flops_of(kHostGemm) / best, 0.01 * limits.peak(DType::fp32));
  const LaunchCall launch{false};
  const double nothing = run(launch, {}).device_s;
  EXPECT_GT(flops_of(kHostGemm) / nothing, limits.peak(DType::fp32));
  EXPECT_GT(bytes_of(kHostGemm) / nothing, limits.memory_bytes_per_s);
}

TEST_F(HostBackend, ClockIsThatOfAProcessor) {
  const double clock = backend_->health().clock_mhz;
  if (clock == 0) GTEST_SKIP() << test::skip_line("the clock of this machine is not readable", kClockTold);
  EXPECT_GT(clock, 200);
  EXPECT_LT(clock, 10000);
}

TEST_F(HostBackend, RefusesWhatItCannotRun) {
  for (auto type : {DType::bf16, DType::fp16, DType::fp8, DType::tf32}) {
    GemmCall gemm = kHostGemm;
    gemm.dtype = type;
    EXPECT_THAT(backend_->refuses(gemm), Optional(HasSubstr("fp32")));
    EXPECT_THAT(backend_->refuses(MemoryCall{type, MemoryKernel::copy, {1, 1}}), Optional(HasSubstr("fp32")));
    EXPECT_THAT(backend_->refuses(AttentionCall{type, true, {1, 8, 1, 1, 8, true}}),
                Optional(HasSubstr("fp32")));
    EXPECT_THAT(backend_->refuses(CollectiveCall{CollectiveOp::all_reduce, type, 8, {}}),
                Optional(HasSubstr("fp32")));
  }
  EXPECT_EQ(backend_->refuses(kHostGemm), std::nullopt);
  EXPECT_EQ(backend_->refuses(LaunchCall{true}), std::nullopt);
  EXPECT_THAT(backend_->refuses(MemoryCall{DType::fp32, MemoryKernel::rope, {4, 3}}),
              Optional(HasSubstr("odd")));
  EXPECT_THAT(backend_->refuses(AttentionCall{DType::fp32, false, {1, 8, 3, 2, 8, true}}),
              Optional(HasSubstr("groups")));
}

TEST_F(HostBackend, RefusesGroupsThatTheJobHasNot) {
  const auto refused = [&](Group group) {
    return backend_->refuses(CollectiveCall{CollectiveOp::all_reduce, DType::fp32, 64, group});
  };
  EXPECT_EQ(refused({1, 1, true, 1, 1}), std::nullopt);
  EXPECT_THAT(refused({2, 1, true, 1, 2}), Optional(HasSubstr("more ranks")));
  EXPECT_THAT(refused({1, 2, true, 1, 1}), Optional(HasSubstr("more ranks")));
  EXPECT_THAT(refused({1, 1, true, 2, 1}), Optional(HasSubstr("shape")));
  EXPECT_THAT(backend_->refuses(CollectiveCall{CollectiveOp::all_reduce, DType::fp32, 1e10, {}}),
              Optional(HasSubstr("8 GiB")));
}

TEST_F(HostBackend, RefusesOverlapWithChannels) {
  const CollectiveCall collective{CollectiveOp::all_reduce, DType::fp32, 64, {}};
  EXPECT_THAT(backend_->refuses(OverlapCall{kHostGemm, collective, 4}), Optional(HasSubstr("channels")));
}

TEST_F(HostBackend, FillsAsSpecified) {
  const auto filled = [&](Content content) {
    const OperandSpec spec{"x", DType::fp32, content, 1000, 42, 0.5, 10, false};
    const Tensor tensor{spec, backend_->allocate(size_t(spec.bytes()))};
    backend_->fill(tensor);
    auto values = backend_->read(tensor, 3, 500);
    backend_->release(tensor.data);
    return values;
  };
  for (uint64_t i = 0; i < 500; ++i) {
    EXPECT_EQ(filled(Content::normal)[i], double(float(value_at(42, i + 3) * 0.5)));
    if (i > 3) continue;
    EXPECT_EQ(filled(Content::mask)[i], mask_at(42, i + 3));
    EXPECT_EQ(filled(Content::tokens)[i], token_at(42, i + 3, 10));
    EXPECT_EQ(filled(Content::zero)[i], 0);
  }
}

TEST_F(HostBackend, RefusesMemoryThatIsNotThere) {
  EXPECT_THROW(backend_->allocate(size_t(1) << 50), BackendError);
}

TEST_F(HostBackend, TimesGrowWithTheCalls) {
  const Work work = kHostGemm;
  const Operands list = operands(work);
  run(work, list);
  const std::vector<Call> calls(64, Call{&work, &list});
  double one = 1, many = 1;
  for (int i = 0; i < 5; ++i) {
    one = std::min(one, run(work, list).device_s);
    many = std::min(many, backend_->time(calls, Clocking::graph).device_s);
  }
  EXPECT_GT(many, 20 * one);
  EXPECT_GT(one, 0);
}

TEST_F(HostBackend, CollectiveOfOneRankCopies) {
  const CollectiveCall call{CollectiveOp::all_gather, DType::fp32, 4000, {1, 1, true, 1, 1}};
  const Operands list = operands(call);
  run(call, list);
  const Values values = read(list);
  EXPECT_EQ(values[0], values[1]);
}

TEST_F(HostBackend, KernelsAndCollectivesRunBeside) {
  const Work gemm = kHostGemm, reduce = CollectiveCall{CollectiveOp::all_reduce, DType::fp32, 4096, {}};
  const Operands left = operands(gemm), right = operands(reduce);
  const std::vector<Call> kernels(3, Call{&gemm, &left}), collectives(5, Call{&reduce, &right});
  const auto [kernel, collective] = backend_->time_beside(kernels, collectives, 0);
  EXPECT_GT(kernel.device_s, 0);
  EXPECT_GT(collective.device_s, 0);
  EXPECT_EQ(read(right)[0], read(right)[1]);
  EXPECT_THROW(backend_->time_beside(kernels, collectives, 2), BackendError);
}

TEST_F(HostBackend, ExecutesStepsInOrder) {
  const Work gemm = kHostGemm, launch = LaunchCall{false};
  const Operands list = operands(gemm), none;
  std::vector<Step> steps(6);
  for (size_t i = 0; i < steps.size(); ++i) steps[i].call = i % 2 ? Call{&launch, &none} : Call{&gemm, &list};
  const auto spans = backend_->execute(steps);
  ASSERT_EQ(spans.size(), steps.size());
  for (size_t i = 0; i < spans.size(); ++i) {
    EXPECT_GE(spans[i].end, spans[i].start);
    EXPECT_GE(spans[i].start, i > 0 ? spans[i - 1].end : 0);
  }
  EXPECT_GT(spans[0].end - spans[0].start, spans[1].end - spans[1].start);
}

}  // namespace
}  // namespace rehearse::calibration
