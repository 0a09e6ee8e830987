#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/account/report.hpp"
#include "sim/plan/memory.hpp"
#include "tests/support/report_step.hpp"
#include "tests/support/scenarios.hpp"

namespace rehearse {
namespace {

using test::HandStep;

struct TwoStages : ::testing::Test {
  TwoStages() {
    scenario = test::small_scenario();
    scenario.layout.pp = 2;
    chunks = plan_chunks(scenario);
    step.unit(0), step.unit(1);
    one_second = step.program("x", Part::compute, 1);
  }
  int32_t act(ActionKind kind, int unit, int micro, double start) {
    return step.action(kind, unit, one_second, unit, micro, start);
  }
  MemoryReport report() { return memory_report(scenario, step.build(), step.timeline); }

  Scenario scenario;
  std::vector<ChunkPlan> chunks;
  HandStep step;
  int32_t one_second = 0;
};

TEST_F(TwoStages, ActivationsLiveFromForwardToBackward) {
  act(ActionKind::forward, 0, 0, 0);
  act(ActionKind::forward, 0, 1, 1);
  act(ActionKind::backward, 0, 0, 2);
  act(ActionKind::backward, 0, 1, 3);
  const auto memory = report();
  const auto bytes = activation_memory(scenario, chunks[0]);
  const auto& stage = memory.stages.at(0);
  ASSERT_EQ(stage.over_time.size(), 5u);
  EXPECT_DOUBLE_EQ(stage.over_time[0].parts.activations, bytes.stored);
  EXPECT_DOUBLE_EQ(stage.over_time[1].parts.activations, 2 * bytes.stored);
  EXPECT_DOUBLE_EQ(stage.over_time[2].parts.activations, 2 * bytes.stored + bytes.transient);
  EXPECT_NEAR(stage.over_time[3].parts.activations, bytes.stored + bytes.transient, 1);
  EXPECT_EQ(stage.over_time[4].parts.activations, 0);
  EXPECT_EQ(stage.over_time[4].time_s, 4);
  EXPECT_EQ(stage.peak_time_s, 2);
  EXPECT_EQ(stage.peak.activations, stage.over_time[2].parts.activations);
}

TEST_F(TwoStages, PartsSumToThePeakAndStaticPartsArePlanned) {
  act(ActionKind::forward, 1, 0, 0);
  act(ActionKind::backward, 1, 0, 1);
  const auto memory = report();
  const auto fixed = static_memory(scenario, chunks, StageId(1));
  const auto bytes = activation_memory(scenario, chunks[1]);
  const auto& peak = memory.stages.at(1).peak;
  EXPECT_EQ(peak.weights, fixed.weights);
  EXPECT_EQ(peak.optimizer, fixed.optimizer);
  EXPECT_EQ(peak.framework, fixed.framework);
  EXPECT_GT(peak.logits, 0);
  EXPECT_DOUBLE_EQ(peak.logits, bytes.logits);
  EXPECT_DOUBLE_EQ(peak.total(), fixed.weights + fixed.gradients + fixed.optimizer + fixed.buffers +
                                     fixed.framework + bytes.stored + bytes.transient + bytes.logits);
  EXPECT_EQ(memory.peak_bytes, std::max(memory.stages[0].peak.total(), memory.stages[1].peak.total()));
}

TEST_F(TwoStages, AStageWithoutTasksHoldsItsStaticParts) {
  act(ActionKind::forward, 1, 0, 0);
  const auto fixed = static_memory(scenario, chunks, StageId(0));
  const auto stage = report().stages.at(0);
  EXPECT_EQ(stage.peak.weights, fixed.weights);
  EXPECT_EQ(stage.peak.activations, 0);
}

TEST_F(TwoStages, ASplitBackwardKeepsWhatItsWeightGradientNeeds) {
  act(ActionKind::forward, 0, 0, 0);
  act(ActionKind::input_gradient, 0, 0, 1);
  act(ActionKind::weight_gradient, 0, 0, 4);
  const auto stage = report().stages.at(0);
  const auto bytes = activation_memory(scenario, chunks[0]);
  EXPECT_NEAR(stage.over_time.at(2).parts.activations, bytes.weight, 1);  // at 2 s, when I ended
  EXPECT_GT(bytes.weight, 0);
  EXPECT_LT(bytes.weight, bytes.stored);
  EXPECT_EQ(stage.over_time.back().time_s, 5);
  EXPECT_EQ(stage.over_time.back().parts.activations, 0);
}

TEST_F(TwoStages, PiecesOfABackwardAreOne) {
  act(ActionKind::forward, 0, 0, 0);
  act(ActionKind::backward, 0, 0, 1);
  act(ActionKind::backward, 0, 0, 2);
  const auto stage = report().stages.at(0);
  ASSERT_EQ(stage.over_time.size(), 3u);
  EXPECT_EQ(stage.over_time[1].time_s, 1);
  EXPECT_EQ(stage.over_time[2].time_s, 3);
}

TEST_F(TwoStages, OfReplicasTheFullestIsShown) {
  const auto replica = step.unit(0, 1);
  act(ActionKind::forward, 0, 0, 0);
  act(ActionKind::backward, 0, 0, 1);
  for (int micro : {0, 1, 2}) step.action(ActionKind::forward, replica, one_second, 0, micro, micro);
  EXPECT_DOUBLE_EQ(report().stages.at(0).peak.activations, 3 * activation_memory(scenario, chunks[0]).stored);
}

TEST_F(TwoStages, FitsUpToTheCapacity) {
  act(ActionKind::forward, 0, 0, 0);
  auto profile = std::make_shared<DeviceProfile>(*scenario.profile);
  scenario.profile = profile;
  const double peak = report().peak_bytes;
  profile->memory_bytes.value = peak;
  EXPECT_TRUE(report().fits);
  profile->memory_bytes.value = peak - 1;
  EXPECT_FALSE(report().fits);
  EXPECT_EQ(report().capacity_bytes, peak - 1);
}

}  // namespace
}  // namespace rehearse
