#include <gmock/gmock.h>

#include <cstdio>
#include <fstream>
#include <set>

#include "calibration/probes/grid.hpp"
#include "calibration/probes/sweep.hpp"
#include "sim/base/error.hpp"
#include "tests/support/scripted_backend.hpp"

namespace rehearse::calibration {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

const Limits kGpu{{{DType::fp32, 67e12},
                   {DType::tf32, 494e12},
                   {DType::fp16, 989e12},
                   {DType::bf16, 989e12},
                   {DType::fp8, 1979e12}},
                  3.35e12,
                  450e9,
                  50e9,
                  80e9,
                  50e6,
                  132,
                  1830};
const Limits kCpu{{{DType::fp32, 60e9}}, 20e9, 10e9, 0, 8e9, 32e6, 1, 3000};

Wanted wanted(const Limits& limits, int ranks) {
  Wanted w;
  w.ranks = w.per_node = ranks;
  w.limits = limits;
  w.memory_bytes = limits.memory_bytes / 2;
  for (const auto& [type, flops] : limits.peak_flops) w.dtypes.push_back(type);
  return w;
}

class ProbesTest : public ::testing::Test {
 protected:
  Bench& bench() {
    made.emplace(backend, ranks);
    made->rules.cap_s = 0.05;
    made->limits.l2_bytes = 1e5;
    return *made;
  }
  ScriptedRanks ranks;
  ScriptedBackend backend{make_host_backend(ranks)};
  std::optional<Bench> made;
};

const Work kSmallGemm = GemmCall{DType::fp32, GemmRole::forward, {32, 32, 32}};

TEST_F(ProbesTest, EveryPointIsThereOnceAndFits) {
  for (const Limits& limits : {kGpu, kCpu})
    for (const int ranks_ : {1, 2, 8})
      for (const Probe& probe : probe_table()) {
        const Wanted w = wanted(limits, ranks_);
        std::set<std::string> names;
        double before = HUGE_VAL;
        for (const Point& point : probe.points(w)) {
          EXPECT_TRUE(names.insert(point_of(point.work)).second) << point_of(point.work);
          EXPECT_LE(point.value, before);
          before = point.value;
          EXPECT_LE(estimated(point.work, w), 0.1);
          EXPECT_GT(point.seconds, 0);
          if (&limits == &kCpu) {
            EXPECT_LT(point.seconds, 1.1) << point_of(point.work);
          }
        }
        if (probe.name != "overlap" || ranks_ > 1) {
          EXPECT_FALSE(names.empty()) << probe.name << ranks_;
        }
      }
}

TEST_F(ProbesTest, CollectivesReachFromBytesToGigabytesOverEveryGroup) {
  std::set<std::string> groups, ops;
  double least = HUGE_VAL, most = 0;
  bool odd = false, between = false;
  for (const Point& point : kCollectiveProbe.points(wanted(kGpu, 8))) {
    const auto& c = std::get<CollectiveCall>(point.work);
    groups.insert(std::to_string(c.group.size) + "/" + std::to_string(c.group.stride) +
                  (c.group.concurrent ? "c" : ""));
    ops.insert(point_of(point.work).substr(0, point_of(point.work).find(' ')));
    least = std::min(least, c.bytes);
    most = std::max(most, c.bytes);
    odd |= c.bytes == (1 << 20) + 16 || c.bytes == (1 << 20) + 8;
    between |= c.bytes == 3 << 19;
  }
  EXPECT_THAT(groups, ElementsAre("2/1", "2/1c", "2/4c", "4/1", "4/1c", "4/2c", "8/1c"));
  EXPECT_EQ(ops.size(), 6u);
  EXPECT_EQ(least, 8);
  EXPECT_GE(most, double(1 << 30));
  EXPECT_TRUE(odd);
  EXPECT_TRUE(between);
}

TEST_F(ProbesTest, StridedGroupsLieAcrossNodes) {
  EXPECT_EQ(group_of(4, 4, true, 8), (Group{4, 4, true, 2, 2}));
  EXPECT_EQ(group_of(2, 8, true, 8), (Group{2, 8, true, 2, 1}));
  EXPECT_EQ(group_of(8, 1, true, 8), (Group{8, 1, true, 1, 8}));
  EXPECT_EQ(group_of(16, 1, true, 8), (Group{16, 1, true, 2, 8}));
}

TEST_F(ProbesTest, SharesOfABudgetGoToEveryProbe) {
  std::vector<const Probe*> probes;
  for (const Probe& probe : probe_table()) probes.push_back(&probe);
  const auto tasks = tasks_of(probes, wanted(kCpu, 2), {}, backend, ScriptedRanks(2));
  std::map<std::string_view, double> seconds;
  double sum = 0, before = HUGE_VAL;
  for (const ProbePoint& task : within(tasks, 120)) {
    EXPECT_LE(task.point.value, before);
    before = task.point.value;
    seconds[task.probe->name] += task.point.seconds;
    sum += task.point.seconds;
  }
  EXPECT_LE(sum, 120);
  EXPECT_GT(sum, 110);
  for (const char* name :
       {"gemm", "batched_gemm", "attention", "memory", "launch", "bandwidth", "collective"})
    EXPECT_GT(seconds[name], 0.9) << name;
  EXPECT_GT(seconds["gemm"], seconds["bandwidth"]);
}

TEST_F(ProbesTest, TheMostValuableComesFirstAndTheRestIsFilledUp) {
  const auto point = [](double n, double value, double seconds) {
    return Point{GemmCall{DType::fp32, GemmRole::forward, {n, n, n}}, value, seconds};
  };
  const auto tasks = tasks_of({point(1, 1, 5), point(2, 3, 4), point(3, 2, 7), point(4, 0.5, 1)},
                              {point_of(point(4, 0, 0).work)});
  std::vector<double> order;
  for (const ProbePoint& task : tasks) order.push_back(std::get<GemmCall>(task.point.work).shape.m);
  EXPECT_THAT(order, ElementsAre(2, 3, 1));
  order.clear();
  for (const ProbePoint& task : within(tasks, 10))
    order.push_back(std::get<GemmCall>(task.point.work).shape.m);
  EXPECT_THAT(order, ElementsAre(2, 1));
}

TEST_F(ProbesTest, ThePaceLearnsFromWhatPointsTook) {
  std::vector<ProbePoint> tasks;
  for (int i = 1; i <= 20; ++i)
    tasks.push_back({&kGemmProbe, {GemmCall{DType::fp32, GemmRole::forward, {double(i), 1, 1}}, 1, 1}});
  Pace pace(tasks, 20);
  EXPECT_EQ(pace.expected(0), 20u);
  EXPECT_DOUBLE_EQ(pace.left(0), 20);
  double elapsed = 0;
  for (; pace.next(elapsed); elapsed += 2) pace.took(2);
  EXPECT_EQ(pace.done(), 10u);
  EXPECT_LE(elapsed, 20);
}

TEST_F(ProbesTest, APointIsCheckedAndTimed) {
  const Sample sample = run_point(bench(), kSmallGemm);
  EXPECT_EQ(sample.status, Status::ok) << sample.code << sample.reason;
  EXPECT_GT(sample.device.median, 0);
  EXPECT_GE(sample.device.n, 3);
  EXPECT_FALSE(sample.when.empty());
}

TEST_F(ProbesTest, BuffersTakeTurnsUntilTheCacheIsPast) {
  const Work copy = MemoryCall{DType::fp32, MemoryKernel::copy, {1, 1024}};  // 8 KiB a set
  backend.clock = [](size_t n) { return Elapsed{1e-5 * double(n), 1e-5 * double(n)}; };
  Bench& b = bench();
  EXPECT_EQ(run_point(b, copy).status, Status::ok);
  std::set<const void*> used;
  for (const auto& timing : backend.seen) used.insert(timing.begin(), timing.end());
  EXPECT_EQ(used.size(), 37u);  // 3e5 / 8192, rounded up
  const auto& last = backend.seen.back();
  EXPECT_EQ(std::set<const void*>(last.begin(), last.end()).size(), std::min<size_t>(37, last.size()));
  b.warm_l2 = true;
  backend.seen.clear();
  const Sample warm = run_point(b, copy);
  EXPECT_THAT(warm.flags, Contains("warm-l2"));
  used.clear();
  for (const auto& timing : backend.seen) used.insert(timing.begin(), timing.end());
  EXPECT_EQ(used.size(), 1u);
}

TEST_F(ProbesTest, NothingIsLeftAllocated) {
  bench();
  for (const Work& work : {kSmallGemm, Work(MemoryCall{DType::fp32, MemoryKernel::adam, {1, 500}}),
                           Work(MemoryCall{DType::fp32, MemoryKernel::embedding, {16, 8}})})
    EXPECT_EQ(run_point(*made, work).status, Status::ok);
  made.reset();
  EXPECT_EQ(backend.held, 0u);
}

TEST_F(ProbesTest, AWrongResultIsNotTimed) {
  backend.after = [](const Call& call) { static_cast<float*>((*call.operands)[2].data)[0] += 1; };
  const Sample sample = run_point(bench(), kSmallGemm);
  EXPECT_EQ(sample.status, Status::rejected);
  EXPECT_EQ(sample.code, "wrong-result");
  EXPECT_EQ(sample.device.n, 0);
  EXPECT_EQ(backend.runs, 1);
}

TEST_F(ProbesTest, MemoryThatIsShortFailsThePointAlone) {
  backend.memory_bytes = 1000;
  const Sample sample = run_point(bench(), kSmallGemm);
  EXPECT_EQ(sample.status, Status::failed);
  EXPECT_EQ(sample.code, "no-memory");
  EXPECT_EQ(backend.held, 0u);
  backend.memory_bytes = 1e9;
  EXPECT_EQ(run_point(*made, kSmallGemm).status, Status::ok);
}

TEST_F(ProbesTest, WhatArenasHoldGivesWay) {
  Bench& b = bench();
  backend.memory_bytes = 1.2e6;
  EXPECT_EQ(run_point(b, MemoryCall{DType::fp32, MemoryKernel::copy, {1, 1024}}).status, Status::ok);
  EXPECT_EQ(run_point(b, MemoryCall{DType::fp32, MemoryKernel::copy, {1, 140000}}).status, Status::ok);
}

TEST_F(ProbesTest, ACallThatFailsFailsThePoint) {
  backend.instead = [](const Call&) { throw BackendError("the library says no"); };
  const Sample sample = run_point(bench(), kSmallGemm);
  EXPECT_EQ(sample.code, "call-failed");
  EXPECT_EQ(sample.reason, "the library says no");
}

TEST_F(ProbesTest, RefusalsAreFailures) {
  backend.refuse = [](const Work&) { return "too new"; };
  EXPECT_EQ(run_point(bench(), kSmallGemm).code, "refused");
  const CollectiveCall four{CollectiveOp::all_reduce, DType::fp32, 64, {4, 1, true, 1, 4}};
  EXPECT_EQ(run_point(bench(), four).reason, "groups of 4 with stride 1 do not fit 1 ranks");
}

TEST_F(ProbesTest, ZeroTimesAreRejected) {
  backend.clock = [](size_t) { return Elapsed{}; };
  EXPECT_EQ(run_point(bench(), kSmallGemm).code, "zero-time");
}

// A file with what was not believed is read again when the sweep goes on.
TEST_F(ProbesTest, WhatIsNoTimeIsNotWritten) {
  for (const double t : {-1e-3, double(NAN), HUGE_VAL}) {
    backend.clock = [t](size_t) { return Elapsed{t, t}; };
    Sample sample = run_point(bench(), kSmallGemm);
    EXPECT_EQ(sample.code, "zero-time");
    const std::string path = ::testing::TempDir() + "no_time.jsonl";
    Environment environment;
    environment.id = sample.environment = "e";
    std::ofstream(path) << to_json_line(environment) << '\n' << to_json_line(sample) << '\n';
    EXPECT_EQ(read_samples(path).samples.size(), 1u) << t;
    std::remove(path.c_str());
  }
}

// The log-sum-exp is that of the forward in every set; all else is in turn, and random.
TEST_F(ProbesTest, ABackwardAttentionIsGivenNoLeftovers) {
  const Work work = AttentionCall{DType::fp32, true, {1, 32, 2, 2, 16, true}};
  const OperandSets sets(bench(), work);
  ASSERT_GT(sets.count(), 2);
  const Operands &first = sets.first(), &second = sets.all()[1];
  for (size_t i = 0; i < first.size(); ++i)
    EXPECT_EQ(first[i].data == second[i].data, i == 4) << first[i].spec.name;
  EXPECT_NE(backend.read(first[4], 0, 1)[0], 0);
  for (const size_t input : {0, 1, 2, 3, 5})
    EXPECT_NE(backend.read(second[input], 7, 1)[0], 0) << second[input].spec.name;
}

TEST_F(ProbesTest, ImpossibleSpeedsAreRejected) {
  backend.clock = [](size_t n) { return Elapsed{1e-9 * double(n), 1e-9 * double(n)}; };
  Bench& b = bench();
  b.limits = kCpu;
  EXPECT_EQ(run_point(b, kSmallGemm).code, "above-peak");
  EXPECT_EQ(run_point(b, MemoryCall{DType::fp32, MemoryKernel::copy, {64, 64}}).code, "above-memory");
}

TEST_F(ProbesTest, OneRankIsUnfit) {
  const CollectiveCall one{CollectiveOp::all_reduce, DType::fp32, 64, {1, 1, true, 1, 1}};
  EXPECT_EQ(run_point(bench(), one).status, Status::unfit);
}

TEST_F(ProbesTest, ThrottlingIsRecorded) {
  backend.now = {1200, 400, 85, {"thermal"}};
  const Sample sample = run_point(bench(), kSmallGemm);
  EXPECT_THAT(sample.flags, Contains("throttled"));
  EXPECT_EQ(sample.clock_before_mhz, 1200);
}

TEST_F(ProbesTest, ASweepKeepsWhatItMeasuredAndStopsWhenAsked) {
  std::vector<ProbePoint> tasks;
  for (int i = 1; i <= 5; ++i)
    tasks.push_back({&kGemmProbe, {GemmCall{DType::fp32, GemmRole::forward, {double(i), 8, 8}}, 1, 0.01}});
  std::vector<Sample> kept;
  const Sweep sweep = run_sweep(bench(), tasks, 100,
                                {.keep = [&](const Sample& s) { kept.push_back(s); },
                                 .show = [](const ProbePoint&, const Pace&, double) {},
                                 .stop = [&] { return kept.size() == 3; }});
  EXPECT_EQ(kept.size(), 3u);
  EXPECT_TRUE(sweep.interrupted);
  EXPECT_EQ(sweep.left, 2u);
  ASSERT_EQ(sweep.tallies.size(), 1u);
  EXPECT_EQ(sweep.tallies[0].ok, 3);
  EXPECT_EQ(kept[0].probe, "gemm");
}

TEST_F(ProbesTest, AFullDiskEndsASweep) {
  const ProbePoint task{&kGemmProbe, {kSmallGemm, 1, 0.01}};
  EXPECT_THROW(run_sweep(bench(), {task, task}, 100,
                         {.keep = [](const Sample&) { throw std::runtime_error("disk full"); },
                          .show = [](const ProbePoint&, const Pace&, double) {},
                          .stop = [] { return false; }}),
               std::runtime_error);
}

// The other ranks are told before the exception leaves.
TEST_F(ProbesTest, WhatCannotBeShownEndsASweep) {
  const ProbePoint task{&kGemmProbe, {kSmallGemm, 1, 0.01}};
  int asked = 0;
  EXPECT_THROW(run_sweep(bench(), {task, task}, 100,
                         {.keep = [](const Sample&) {},
                          .show = [](const ProbePoint&, const Pace&,
                                     double) { throw std::runtime_error("no terminal"); },
                          .stop = [&] { return ++asked > 5; }}),
               std::runtime_error);
  EXPECT_EQ(asked, 1);
}

class PointsFile : public ::testing::Test {
 protected:
  std::vector<Point> read(const std::string& text) {
    std::ofstream(path) << text;
    return read_points(path);
  }
  std::string message(const std::string& text) {
    try {
      read(text);
    } catch (const InputErrors& e) {
      const auto& error = e.errors.front();
      return error.code + " " + std::to_string(error.place.line) + " " + error.message;
    }
    return "none";
  }
  void TearDown() override { std::remove(path.c_str()); }
  std::string path = ::testing::TempDir() + "points.jsonl";
};

TEST_F(PointsFile, ReadsWhatIsWritten) {
  const Point point{kSmallGemm, 0.25, 1.5};
  const auto points = read(to_json_line(point) + "\n");
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(point_of(points[0].work), point_of(kSmallGemm));
  EXPECT_EQ(points[0].value, 0.25);
  EXPECT_EQ(points[0].seconds, 1.5);
}

TEST_F(PointsFile, SaysWhatIsWrongAndWhere) {
  const std::string line = to_json_line(Point{kSmallGemm});
  EXPECT_EQ(message(line + "\n" + line + "\n"),
            "E-POINTS 2 the point 'gemm fp32 forward m=32 n=32 k=32' stands already in line 1");
  EXPECT_EQ(message(line + "\nx\n"), "E-POINTS 2 the line is not JSON");
  EXPECT_EQ(message("{\"value\": 1}\n"), "E-POINTS 1 point has no 'work'");
  EXPECT_EQ(message("{\"work\": {\"kind\": \"launch\"}, \"valeu\": 1}\n"),
            "E-POINTS 1 point has an unknown key 'valeu'");
  EXPECT_EQ(message("{\"point\": \"launch graph\", \"work\": {\"kind\": \"launch\"}}\n"),
            "E-POINTS 1 point.point is 'launch graph', and the work is 'launch stream'");
  EXPECT_EQ(message(""), "E-POINTS 0 no point stands in it");
}

}  // namespace
}  // namespace rehearse::calibration
