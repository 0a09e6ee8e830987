// Closed forms of pipeline schedules, against schedules replayed by the engines at given costs.
#include <algorithm>

#include "tests/oracle/pipeline_replay.hpp"

namespace rehearse {
namespace {

struct FB {
  double forward, backward;
};
constexpr FB kCosts[] = {{1, 1}, {1, 2}, {2, 1}, {1, 3}, {0.37, 5.1}, {4.9, 0.11}};
constexpr int kMicroBatches[] = {1, 2, 3, 4, 5, 7, 8, 13, 16, 24};

class PipelineOracle : public EveryEngine {};
INSTANTIATE_TEST_SUITE_P(Engines, PipelineOracle, testing::ValuesIn(engine_names()), name_of_engine);

std::string describe(const PipelineShape& s, FB t, double c) {
  return "p " + std::to_string(s.stages) + " m " + std::to_string(s.micro_batches) + " v " +
         std::to_string(s.chunks) + " F " + std::to_string(t.forward) + " B " + std::to_string(t.backward) +
         " c " + std::to_string(c);
}

// (m + p - 1)(F + B); idle/ideal (p - 1)/m, bubble (p - 1)/(m + p - 1).
TEST_P(PipelineOracle, GpipeAndOneForwardOneBackwardTakeTheSameTime) {
  for (const char* name : {"gpipe", "1f1b"})
    for (int p = 1; p <= 8; ++p)
      for (int m : kMicroBatches)
        for (FB t : kCosts) {
          SCOPED_TRACE(name + (" " + describe({p, m, 1}, t, 0)));
          const auto figures =
              replay(build_schedule(name, {p, m, 1}), {t.forward, t.backward, 0, 0}, engine());
          expect_close(figures.makespan_s, (m + p - 1) * (t.forward + t.backward));
          expect_close(figures.ideal_s, m * (t.forward + t.backward));
          expect_close(figures.idle_over_ideal, double(p - 1) / m);
          expect_close(figures.bubble_fraction, double(p - 1) / (m + p - 1));
        }
}

// GPipe holds all micro-batches on every stage, 1F1B min(m, p - s) on stage s: the first holds most.
TEST_P(PipelineOracle, LiveMicroBatches) {
  for (int p = 1; p <= 8; ++p)
    for (int m : kMicroBatches)
      for (FB t : kCosts) {
        SCOPED_TRACE(describe({p, m, 1}, t, 0));
        std::vector<int> expected;
        for (int s = 0; s < p; ++s) expected.push_back(std::min(m, p - s));
        const StageCosts costs{t.forward, t.backward, 0, 0};
        EXPECT_EQ(replay(build_schedule("1f1b", {p, m, 1}), costs, engine()).peak_live, expected);
        EXPECT_EQ(replay(build_schedule("gpipe", {p, m, 1}), costs, engine()).peak_live,
                  std::vector<int>(size_t(p), m));
      }
}

// idle/ideal (p - 1)/(v m) and min(v m, 2(p - r - 1) + (v - 1)p + 1) live chunks on rank r, for m a multiple
// of p.
TEST_P(PipelineOracle, Interleaved) {
  for (int p = 1; p <= 8; ++p)
    for (int v = 2; v <= 4; ++v)
      for (int m : {p, 2 * p, 3 * p, 5 * p})
        for (FB t : kCosts) {
          SCOPED_TRACE(describe({p, m, v}, t, 0));
          const auto figures =
              replay(build_schedule("interleaved", {p, m, v}), {t.forward, t.backward, 0, 0}, engine());
          expect_close(figures.ideal_s, m * (t.forward + t.backward));
          expect_close(figures.idle_over_ideal, double(p - 1) / (v * m));
          std::vector<int> expected;
          for (int r = 0; r < p; ++r) expected.push_back(std::min(v * m, 2 * (p - r - 1) + (v - 1) * p + 1));
          EXPECT_EQ(figures.peak_live, expected);
        }
}

constexpr double kTransfers[] = {0.01, 0.25, 1, 3.7, 40};  // below, at and far above F and B

// GPipe: (m + p - 1)(F + B) + 2(p - 1)c, whatever c: the pipeline fills once and drains once over p - 1
// boundaries.
TEST_P(PipelineOracle, GpipeWithTransfers) {
  for (int p = 1; p <= 8; ++p)
    for (int m : kMicroBatches)
      for (FB t : kCosts)
        for (double c : kTransfers) {
          SCOPED_TRACE(describe({p, m, 1}, t, c));
          const auto figures =
              replay(build_schedule("gpipe", {p, m, 1}), {t.forward, t.backward, 0, c}, engine());
          expect_close(figures.makespan_s, (m + p - 1) * (t.forward + t.backward) + 2 * (p - 1) * c);
        }
}

// 1F1B, p | m, p >= 2: (m + p - 1)(F + B) + c[2(p - 1)m/p + 2(p - 2)], whatever c >= 0, F, B > 0. The first
// stage may hold p micro-batches, and a micro-batch's way to the last stage and back costs p(F + B) + 2(p -
// 1)c: so every p micro-batches take that long, however c compares to F and B. The wave that drains after the
// m/p turns meets 2(p - 2) more boundaries: B of the last micro-batch leaves the last stage late, as F of it
// entered stage 1 late. With p = 1 there is no boundary, and the form (which would give -2c) does not apply.
TEST_P(PipelineOracle, OneForwardOneBackwardWithTransfers) {
  for (int p = 2; p <= 8; ++p)
    for (int m : {p, 2 * p, 3 * p, 5 * p})
      for (FB t : kCosts)
        for (double c : kTransfers) {
          SCOPED_TRACE(describe({p, m, 1}, t, c));
          const auto figures =
              replay(build_schedule("1f1b", {p, m, 1}), {t.forward, t.backward, 0, c}, engine());
          expect_close(figures.makespan_s,
                       (m + p - 1) * (t.forward + t.backward) + c * (2.0 * (p - 1) * m / p + 2 * (p - 2)));
        }
}

TEST_P(PipelineOracle, OneStageHasNoTransfers) {
  for (const char* name : {"gpipe", "1f1b", "interleaved"}) {
    const int v = std::string(name) == "interleaved" ? 3 : 1;
    const auto figures = replay(build_schedule(name, {1, 6, v}), {1, 2, 0, 5}, engine());
    expect_close(figures.makespan_s, 18);
    EXPECT_EQ(figures.idle_over_ideal, 0) << name;
  }
}

// Schedules without a split run B + W as one.
TEST_P(PipelineOracle, WeightGradientsRunInsideAWholeBackward) {
  for (const char* name : {"gpipe", "1f1b"}) {
    const auto schedule = build_schedule(name, {4, 8, 1});
    const auto split = replay(schedule, {1, 1.25, 0.5, 0.3}, engine()),
               whole = replay(schedule, {1, 1.75, 0, 0.3}, engine());
    expect_close(split.makespan_s, whole.makespan_s);
    expect_close(split.ideal_s, 8 * 2.75);
  }
}

// Two stages, one micro-batch: F F I I in a row; the last stage's W beside the first stage's I.
TEST_P(PipelineOracle, SplitBackward) {
  const auto schedule = from_csv("0F0,0I0,0W0\n1F0,1I0,1W0\n", "split.csv", {2, 1, 1});
  const auto figures = replay(schedule, {1, 2, 4, 0.5}, engine());
  expect_close(figures.makespan_s, 1 + 0.5 + 1 + 2 + 0.5 + 2 + 4);
  expect_close(figures.ideal_s, 7);
  EXPECT_EQ(figures.peak_live, (std::vector<int>{1, 1}));
}

// What W defers, it holds: both activations of a stage live until the W.
TEST_P(PipelineOracle, DeferredWeightGradientsHoldActivations) {
  const auto schedule = from_csv("0F0,0I0,0F1,0I1,0W0,0W1\n", "split.csv", {1, 2, 1});
  EXPECT_EQ(replay(schedule, {1, 1, 1, 0}, engine()).peak_live, (std::vector<int>{2}));
}

// 1F1B does not shrink the bubble, and pays about 2c a micro-batch for exposed transfers that GPipe does not.
TEST_P(PipelineOracle, ExposedTransfersOfOneForwardOneBackward) {
  const int p = 8, m = 96;
  const double c = 0.1;
  const StageCosts costs{1, 2, 0, c};
  const double gpipe = replay(build_schedule("gpipe", {p, m, 1}), costs, engine()).makespan_s;
  const double one = replay(build_schedule("1f1b", {p, m, 1}), costs, engine()).makespan_s;
  expect_close(one - gpipe, c * (2.0 * (p - 1) * m / p - 2));
}

}  // namespace
}  // namespace rehearse
