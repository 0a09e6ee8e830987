// Chunks of an embedding or a head alone, and what the host adds to stages whose transfers block.
#include <gtest/gtest.h>

#include <numeric>

#include "sim/account/report.hpp"
#include "sim/engine/engine.hpp"
#include "tests/support/lowered.hpp"
#include "tests/support/scenarios.hpp"

namespace rehearse {
namespace {

Scenario pipeline(const std::string& schedule) {
  Scenario s = test::small_scenario();
  s.schedule = schedule;
  s.layout.pp = 4;
  place_chunks(s, {});
  return s;
}

// Times that micro-batches of a chunk ran an action of a kind.
int runs_of(const TaskGraph& graph, ActionKind kind, int chunk) {
  int count = 0;
  for (const auto& task : graph.tasks)
    count += task.kind == TaskKind::run && task.pipeline && task.action == kind && task.chunk.value == chunk;
  return count;
}

TEST(StageEnds, ChunksWithoutLayersRunTheirActionsAllTheSame) {
  for (const char* schedule : {"gpipe", "1f1b", "interleaved", "zb-h1", "zb-1p", "zb-v"})
    for (const bool dropout : {true, false}) {
      Scenario s = pipeline(schedule);
      s.model.dropout = dropout;
      if (s.schedule == "interleaved") s.layout.chunks = 2;
      if (s.layout.chunks == 1)
        s.layout.stage_layers = {0, 4, 4, 0};
      else
        s.layout.stage_layers = {0, 2, 1, 1, 1, 1, 2, 0};
      const TaskGraph graph = test::lowered(s);
      const int m = s.micro_batches(), last = s.layout.pp * s.layout.chunks - 1;
      for (const int chunk : {0, last}) {
        EXPECT_EQ(runs_of(graph, ActionKind::forward, chunk), m) << schedule;
        EXPECT_EQ(
            runs_of(graph, ActionKind::backward, chunk) + runs_of(graph, ActionKind::input_gradient, chunk),
            m)
            << schedule;
      }
      for (const auto run : {run_ideal, run_simgrid}) {
        const Timeline timeline = run(graph);
        const auto parts = account(graph, timeline);
        EXPECT_NEAR(std::accumulate(parts.begin(), parts.end(), 0.0), timeline.step, 1e-12 * timeline.step);
      }
    }
}

TEST(StageEnds, BlockingTransfersWaitForTheHostOnceAnAction) {
  constexpr double kWait = 1e-6;
  const auto step = [](Scenario s, double wait, bool overlap) {
    s.overlap.p2p = overlap;
    s.stack.host_per_exchange_s.value = wait;
    return run_ideal(test::lowered(s)).step;
  };
  for (const int micro_batches : {4, 8}) {
    Scenario s = pipeline("1f1b");
    s.batch.global = micro_batches;
    // From first F to last B every path of 1F1B holds m + p - 1 of each.
    EXPECT_NEAR(step(s, kWait, false) - step(s, 0, false), 2 * kWait * (micro_batches + s.layout.pp - 1),
                1e-12);
    EXPECT_EQ(step(s, kWait, true), step(s, 0, true));
    s.layout.pp = 1;
    EXPECT_EQ(step(s, kWait, false), step(s, 0, false));
  }
}

TEST(StageEnds, OfASplitBackwardTheInputGradientWaits) {
  Scenario s = pipeline("zb-h1");
  const auto lengths = [&](double wait) {
    s.stack.host_per_exchange_s.value = wait;
    std::map<ActionKind, double> found;
    const TaskGraph graph = test::lowered(s);
    for (const auto& task : graph.tasks)
      if (task.kind == TaskKind::run && task.pipeline && task.chunk.value == 1)
        found[task.action] = graph.programs[task.program].duration;
    return found;
  };
  auto without = lengths(0), with = lengths(1e-6);
  EXPECT_NEAR(with[ActionKind::forward] - without[ActionKind::forward], 1e-6, 1e-15);
  EXPECT_NEAR(with[ActionKind::input_gradient] - without[ActionKind::input_gradient], 1e-6, 1e-15);
  EXPECT_EQ(with[ActionKind::weight_gradient], without[ActionKind::weight_gradient]);
}

}  // namespace
}  // namespace rehearse
