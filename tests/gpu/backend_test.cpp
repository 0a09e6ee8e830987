// Runs every kind of work once on a GPU and compares with the reference; ends with 77 where there is no GPU.
// Under mpirun with a GPU a rank, collectives run over all ranks.
#include <gmock/gmock.h>

#include <cstdio>
#include <numeric>

#include "calibration/probes/bench.hpp"
#include "calibration/probes/grid.hpp"
#include "tests/support/skip.hpp"

namespace rehearse::calibration {
namespace {

Backend* backend = nullptr;
Ranks* ranks = nullptr;

using Kernels = std::vector<Work>;

Kernels gemms() {
  Kernels list;
  for (DType t : {DType::fp32, DType::tf32, DType::fp16, DType::bf16})
    for (GemmRole role : {GemmRole::forward, GemmRole::input_gradient, GemmRole::weight_gradient}) {
      list.emplace_back(GemmCall{t, role, {256, 384, 512}});
      list.emplace_back(GemmCall{t, role, {128, 64, 96, 3}});
    }
  for (DType t : {DType::fp32, DType::bf16})
    list.emplace_back(GemmCall{t, GemmRole::weight_gradient, {256, 128, 512}, true});
  list.emplace_back(GemmCall{DType::fp8, GemmRole::forward, {256, 384, 512}});
  return list;
}

Kernels attentions() {
  Kernels list;
  for (DType t : {DType::fp16, DType::bf16})
    for (bool backward : {false, true})
      for (bool causal : {false, true}) {
        list.emplace_back(AttentionCall{t, backward, {2, 256, 4, 4, 128, causal}});
        list.emplace_back(AttentionCall{t, backward, {1, 512, 8, 2, 64, causal}});
      }
  list.emplace_back(AttentionCall{DType::bf16, false, {1, 1000, 4, 4, 128, true}});
  list.emplace_back(AttentionCall{DType::bf16, true, {1, 1000, 4, 4, 128, true}});
  return list;
}

// Rows that fill packs of 16 bytes and rows that do not, rows that fit into shared memory and rows that do
// not.
Kernels memory_kernels() {
  Kernels list;
  for (const auto& kernel : kMemoryKernels)
    for (DType t : {DType::fp32, DType::fp16, DType::bf16})
      for (const MemoryShape shape : {MemoryShape{64, 512}, MemoryShape{33, 250}, MemoryShape{5, 40960}})
        list.emplace_back(MemoryCall{t, kernel.value, shape});
  return list;
}

Kernels collectives() {
  Kernels list;
  const Group group = group_of(ranks->size(), 1, false, ranks->per_node());
  for (CollectiveOp op : {CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter,
                          CollectiveOp::all_to_all, CollectiveOp::send_recv, CollectiveOp::broadcast})
    for (DType t : {DType::fp32, DType::bf16})
      for (bool in_place : {false, true})
        for (double bytes : {1024.0, 1048576.0})
          list.emplace_back(CollectiveCall{op, t, bytes, group, in_place});
  return list;
}

// Stream and graph, checked and timed. Returns whether the backend took the work.
bool run(const Work& work) {
  SCOPED_TRACE(point_of(work));
  if (const auto reason = backend->refuses(work)) {
    std::printf("refused: %s: %s\n", point_of(work).c_str(), reason->c_str());
    return false;
  }
  Bench bench(*backend, *ranks);
  OperandSets sets(bench, work);
  const auto wrong = check_result(*backend, work, sets.first(), *ranks);
  EXPECT_EQ(wrong, std::nullopt) << point_of(work) << ": " << wrong.value_or("");
  for (Clocking clocking : {Clocking::stream, Clocking::graph, Clocking::graph}) {
    const auto calls = sets.calls(work, 3);
    const Elapsed elapsed = backend->time(calls, clocking);
    EXPECT_GE(elapsed.device_s, 0);  // in place, a collective of one rank does nothing
    EXPECT_GT(elapsed.host_s, 0);
    EXPECT_LT(elapsed.device_s, 1);
  }
  return true;
}

int refused(const Kernels& list) {
  int count = 0;
  for (const Work& work : list) count += !run(work);
  return count;
}

TEST(Gpu, RunsGemms) { EXPECT_LE(refused(gemms()), 1) << "only fp8 may be refused, by devices without it"; }
TEST(Gpu, RunsFusedAttention) {
  const auto list = attentions();
  const int count = refused(list);
  EXPECT_TRUE(count == 0 || count == int(list.size())) << "built without cuDNN all is refused, else nothing";
}
TEST(Gpu, RunsMemoryBoundKernels) { EXPECT_EQ(refused(memory_kernels()), 0); }
TEST(Gpu, RunsCollectives) {
  EXPECT_EQ(refused(collectives()), 8) << "all-to-all and send/receive are not in place";
}
TEST(Gpu, Launches) { EXPECT_EQ(refused({LaunchCall{false}, LaunchCall{true}}), 0); }

TEST(Gpu, RefusesWhatItDoesNotRun) {
  const GemmCall gradient{DType::fp8, GemmRole::weight_gradient, {256, 256, 256}};
  EXPECT_NE(backend->refuses(gradient), std::nullopt);
  EXPECT_NE(backend->refuses(MemoryCall{DType::fp8, MemoryKernel::copy, {64, 64}}), std::nullopt);
  EXPECT_NE(backend->refuses(AttentionCall{DType::fp32, false, {1, 256, 4, 4, 64, true}}), std::nullopt);
  const CollectiveCall too_many{CollectiveOp::all_reduce, DType::fp32, 1024, {ranks->size() + 1, 1}};
  EXPECT_NE(backend->refuses(too_many), std::nullopt);
  EXPECT_NE(backend->refuses(OverlapCall{gradient, too_many, 0}), std::nullopt);
}

TEST(Gpu, RunsKernelsBesideCollectives) {
  Bench bench(*backend, *ranks);
  const Work gemm = GemmCall{DType::fp16, GemmRole::forward, {2048, 2048, 2048}};
  const Work collective = CollectiveCall{CollectiveOp::all_reduce, DType::fp16, 8 << 20,
                                         group_of(ranks->size(), 1, false, ranks->per_node())};
  OperandSets left(bench, gemm), right(bench, collective);
  for (int channels : {0, 4}) {
    const auto [a, b] = backend->time_beside(left.calls(gemm, 300), right.calls(collective, 20), channels);
    EXPECT_GT(a.device_s, 0);
    EXPECT_GE(b.device_s, 0);
    const auto alone = backend->time_beside({}, right.calls(collective, 2), channels);
    EXPECT_EQ(alone.first.device_s, 0);
    EXPECT_GE(alone.second.device_s, 0);
  }
}

TEST(Gpu, ExecutesStepsOnLanes) {
  Bench bench(*backend, *ranks);
  const Work gemm = GemmCall{DType::fp16, GemmRole::forward, {1024, 1024, 1024}};
  const Work collective = CollectiveCall{CollectiveOp::all_reduce, DType::fp16, 1 << 20,
                                         group_of(ranks->size(), 1, false, ranks->per_node())};
  OperandSets left(bench, gemm), right(bench, collective);
  std::vector<int> all(size_t(ranks->size()));
  std::iota(all.begin(), all.end(), 0);
  std::vector<Step> steps(3);
  steps[0].call = steps[2].call = left.calls(gemm, 1).front();
  steps[1].call = right.calls(collective, 1).front();
  steps[1].kind = Step::Kind::collective;
  steps[1].lane = 1;
  steps[1].members = all;
  steps[1].after = {0};
  steps[2].after = {1};
  for (int i = 0; i < 2; ++i) {
    const auto spans = backend->execute(steps);
    ASSERT_EQ(spans.size(), 3u);
    for (const Span& span : spans) EXPECT_LT(span.start, span.end);
    EXPECT_LE(spans[0].end, spans[1].start + 1e-6);
    EXPECT_LE(spans[1].end, spans[2].start + 1e-6);
  }
}

TEST(Gpu, KnowsItsEnvironment) {
  const Environment e = backend->environment();
  EXPECT_EQ(e.backend, "cuda");
  EXPECT_NE(e.device, "");
  EXPECT_THAT(e.collectives_library, ::testing::StartsWith("NCCL 2."));
  EXPECT_THAT(e.toolkit, ::testing::HasSubstr("cuBLASLt"));
  EXPECT_GT(e.limits.peak(DType::fp16), 1e12) << "capability without a row in the table of peaks";
  EXPECT_GT(e.limits.memory_bytes_per_s, 1e11);
  EXPECT_GT(e.limits.l2_bytes, 1e6);
  EXPECT_GT(e.limits.sms, 1);
  const Health health = backend->health();
  EXPECT_GE(health.clock_mhz, 0);
  std::printf("%s\n", to_json_line(e).c_str());
}

TEST(Gpu, SaysWhenMemoryIsShort) { EXPECT_THROW(backend->allocate(size_t{1} << 50), BackendError); }

}  // namespace

int run_tests(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  const auto processes = make_ranks();
  ranks = processes.get();
  std::unique_ptr<Backend> gpu;
  try {
    gpu = make_cuda_backend(*ranks);
  } catch (const BackendError& error) {
    const bool skipped = std::string(error.what()).starts_with("no CUDA device");
    std::printf("%s\n",
                skipped ? test::skip_line(error.what(), "a GPU and its driver").c_str() : error.what());
    return skipped ? 77 : 1;
  }
  backend = gpu.get();
  return RUN_ALL_TESTS();
}

}  // namespace rehearse::calibration

int main(int argc, char** argv) { return rehearse::calibration::run_tests(argc, argv); }
