// Random steps: whatever happened, the account covers them.
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "sim/account/walk.hpp"
#include "sim/engine/engine.hpp"
#include "tests/support/report_step.hpp"

namespace rehearse {
namespace {

using test::HandStep;

struct Draw {
  std::mt19937 random;
  int below(int n) { return int(random() % unsigned(n)); }
  double seconds() { return below(8) == 0 ? 0.0 : 0.25 * (1 + below(12)) + 1e-3 * below(100); }
};

// Units of random stages, each with a chain of runs; between them transfers and collectives that depend on
// and release some of the runs, in order of creation.
void build(HandStep& step, Draw& draw) {
  const int units = 1 + draw.below(5);
  for (int u = 0; u < units; ++u) step.unit(draw.below(3), u, 1 + draw.below(4), 1 + draw.below(8));
  for (Axis axis : {Axis::tp, Axis::pp, Axis::dp})
    step.traffic(axis, "x", axis == Axis::pp ? CollectiveOp::send_recv : CollectiveOp::all_reduce, 2, 8, 8);
  step.traffic(Axis::dp, "scalar", CollectiveOp::all_reduce, 2, 4, 4, true);
  std::vector<int32_t> last_run(size_t(units), -1), recent;
  for (int i = 0, n = 5 + draw.below(60); i < n; ++i) {
    const int u = draw.below(units);
    std::vector<int32_t> after;
    for (int32_t t : recent)
      if (draw.below(4) == 0) after.push_back(t);
    Task task;
    if (draw.below(5) < 3) {
      const int32_t program =
          step.program("F", Part(draw.below(2)), draw.seconds(), Basis(draw.below(kBases)));
      auto& p = step.graph.programs[program];
      p.slowed_duration = p.duration * 1.25;
      task.kind = TaskKind::run, task.program = program, task.units = step.units({u}),
      task.duration = p.duration;
      if (last_run[u] >= 0) after.push_back(last_run[u]);
      last_run[u] = step.place(task, 0, 0, after);
    } else {
      std::vector<int32_t> set{u};
      if (const int other = draw.below(units); other != u) set.push_back(other);
      task.units = step.units(std::move(set)), task.traffic = draw.below(5) - 1,
      task.duration = draw.seconds();
      task.slows = draw.below(3) == 0;
      task.stream = Stream::dp;
      step.place(task, 0, 0, after);
    }
    recent.push_back(int32_t(step.graph.tasks.size()) - 1);
    if (recent.size() > 6) recent.erase(recent.begin());
  }
}

TEST(ReportProperty, PartsSumToTheStepAndNoneIsNegative) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    HandStep step;
    Draw draw{std::mt19937(seed)};
    build(step, draw);
    const auto& graph = step.build();
    const auto timeline = run_ideal(graph);
    const auto parts = account(graph, timeline);
    const double total = std::accumulate(parts.begin(), parts.end(), 0.0);
    ASSERT_NEAR(total, timeline.step, 1e-12 * timeline.step) << "seed " << seed;
    for (double seconds : parts) ASSERT_GE(seconds, -1e-12 * timeline.step) << "seed " << seed;

    double path = 0;
    for (const auto& s : critical_path(graph, timeline)) path += s.seconds;
    ASSERT_NEAR(path, timeline.step, 1e-12 * timeline.step) << "seed " << seed;
  }
}

// All but the bubble rests on something, and each rank's seconds are counted once.
TEST(ReportProperty, WhatTheStepRestsOnAndItsBubbleSumToTheStep) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    HandStep step;
    Draw draw{std::mt19937(seed)};
    build(step, draw);
    const auto& graph = step.build();
    const auto timeline = run_ideal(graph);
    walk_units(graph, timeline, [&](int32_t, const UnitBook& book) {
      const auto& seconds = book.rests_on.by_basis;
      const double total = std::accumulate(seconds.begin(), seconds.end(), book.parts[size_t(Part::bubble)]);
      ASSERT_NEAR(total, timeline.step, 1e-9 * timeline.step) << "seed " << seed;
    });
  }
}

// Busy time is booked as it ran: what is not idle is exactly the kernels and their slowdown.
TEST(ReportProperty, KernelsKeepTheirSeconds) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    HandStep step;
    Draw draw{std::mt19937(seed)};
    build(step, draw);
    const auto& graph = step.build();
    const auto timeline = run_ideal(graph);
    double ranks = 0, seconds = 0;
    for (const auto& unit : graph.units) ranks += unit.stands_for * unit.ranks_each;
    for (const auto& task : graph.tasks)
      if (task.kind == TaskKind::run) {
        const auto& unit = graph.units[graph.unit_sets[task.units].front()];
        seconds += task.duration * unit.stands_for * unit.ranks_each;
      }
    const auto parts = account(graph, timeline);
    ASSERT_NEAR(parts[size_t(Part::compute)] + parts[size_t(Part::recompute)], seconds / ranks, 1e-9)
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace rehearse
