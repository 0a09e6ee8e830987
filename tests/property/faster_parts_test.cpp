// A faster part, or an overlap that slows nothing, never makes a step longer.
#include <gtest/gtest.h>

#include "sim/base/names.hpp"
#include "sim/engine/engine.hpp"
#include "sim/schedule/schedule.hpp"
#include "sim/step/step.hpp"
#include "sim/study/knobs.hpp"
#include "tests/support/scenarios.hpp"

namespace rehearse {
namespace {

// One scenario a schedule and network: TP in the node, stages and replicas over NICs that they share.
std::vector<Scenario> one_of_each_schedule() {
  std::vector<Scenario> list;
  for (const auto& row : schedule_table()) {
    if (row.value.searches) continue;  // another order for other costs, each the best that it finds
    Scenario s = test::small_scenario();
    s.schedule = row.name;
    s.layout.tp = 2, s.layout.pp = 4, s.layout.dp = 2;
    s.layout.chunks = row.value.min_chunks;
    s.layout.placement = row.value.placement;
    s.cluster.nodes = 4, s.cluster.gpus_per_node = 4, s.cluster.nics_per_node = 2;
    s.batch.global = 16;
    s.overlap = {true, true, true, true};
    s.layout.zero = 1;
    list.push_back(s);
    s.overlap = {false, false, false, false};
    s.layout.zero = 0;
    list.push_back(s);
  }
  return list;
}

double ideal_step(const Scenario& s) {
  return simulate(resolve(s), {.engine = run_ideal}).report.step_time_s;
}

std::string overlaps_of(const Scenario& s) {
  return s.schedule + (s.overlap.grad_reduce ? ", all overlaps" : ", no overlap");
}

Scenario turned(Scenario s, const char* knob, double factor) {
  for (const auto& row : knob_table())
    if (row.name == knob) row.value(s, factor);
  return s;
}

// With each transfer alone on its links, and nothing slowed, a step is the longest path of its graph.
TEST(FasterParts, NeverLengthenAStep) {
  for (Scenario s : one_of_each_schedule()) {
    s.stack.overlap_slowdown.value = 0;
    const double before = ideal_step(s);
    for (const char* knob : {"nvlink", "nic", "hbm", "flops"})
      for (double faster : {1.1, 2.0, 8.0})
        EXPECT_LE(ideal_step(turned(s, knob, faster)), before * (1 + 1e-9))
            << knob << " x" << faster << ", " << overlaps_of(s);
    for (const char* knob : {"latency", "launch"})
      for (double shorter : {0.9, 0.5, 0.1})
        EXPECT_LE(ideal_step(turned(s, knob, shorter)), before * (1 + 1e-9))
            << knob << " x" << shorter << ", " << overlaps_of(s);
  }
}

// What overlap costs is the compute that it slows and the links that it shares: without both it costs
// nothing.
TEST(FasterParts, OverlapThatSlowsNothingNeverLengthensAStep) {
  for (Scenario s : one_of_each_schedule()) {
    s.stack.overlap_slowdown.value = 0;
    s.overlap = {false, false, false, false};
    const double before = ideal_step(s);
    for (bool Overlap::*overlap :
         {&Overlap::grad_reduce, &Overlap::param_gather, &Overlap::tp, &Overlap::p2p}) {
      if (overlap == &Overlap::param_gather && s.layout.zero == 0) continue;
      Scenario changed = s;
      changed.overlap.*overlap = true;
      EXPECT_LE(ideal_step(changed), before * (1 + 1e-9)) << overlaps_of(s);
    }
  }
}

// ... and with either, the critical path says by how much it is slowed.
TEST(FasterParts, CriticalPathTellsWhatOverlapSlows) {
  Scenario s = test::scenario_of_175b(128);
  const auto slowed = [](const Report& report) {
    double sum = 0;
    for (const auto& step : report.critical) sum += step.slowed_s;
    return sum;
  };
  s.overlap = {false, false, false, false};
  const Report apart = simulate(resolve(s), {.engine = run_ideal}).report;
  s.overlap.grad_reduce = true;
  const Report beside = simulate(resolve(s), {.engine = run_ideal}).report;
  s.stack.overlap_slowdown.value = 0;
  const Report free = simulate(resolve(s), {.engine = run_ideal}).report;
  EXPECT_EQ(slowed(apart), 0);
  EXPECT_EQ(slowed(free), 0);
  EXPECT_GT(slowed(beside), 0);
  EXPECT_NEAR(beside.step_time_s - free.step_time_s, slowed(beside), 0.3 * slowed(beside));
}

}  // namespace
}  // namespace rehearse
