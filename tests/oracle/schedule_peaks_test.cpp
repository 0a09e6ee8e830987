// Peaks of live chunk activations by the formulas of the papers that sim/schedule/builders.hpp names.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/base/error.hpp"
#include "sim/schedule/schedule.hpp"

namespace rehearse {
namespace {

int highest(const std::vector<int>& peaks) { return *std::max_element(peaks.begin(), peaks.end()); }
int peak_of(const char* name, const PipelineShape& shape) {
  return highest(peak_live(build_schedule(name, shape)));
}

TEST(SchedulePeaks, OfZeroBubbleByHand) {
  for (int p = 1; p <= 8; ++p)
    for (int m : {1, 2, 3, 5, 8, 13, 24}) {
      EXPECT_EQ(peak_live(build_schedule("zb-h1", {p, m, 1})), std::vector<int>(size_t(p), std::min(m, p)));
      EXPECT_EQ(peak_live(build_schedule("zb-h2", {p, m, 1})),
                std::vector<int>(size_t(p), std::min(m, 2 * p - 1)));
    }
}

TEST(SchedulePeaks, OfZeroBubbleBySearch) {
  for (int p : {1, 2, 4, 7})
    for (int m : {1, 5, 16})
      for (double hold : {0.43, 1.0}) {
        BuildOptions options;
        options.costs.weight_hold = hold;
        EXPECT_LE(highest(peak_live(build_schedule("zb-1p", {p, m, 1}, options))), p);
        EXPECT_LE(peak_held(build_schedule("zb-2p", {p, m, 1}, options), hold), 2 * p + 1e-6);
      }
}

// In micro-batches of a stage: p, floor((p + 2) / 2), floor((p + 4) / 3); here in chunks, two of which make
// one.
TEST(SchedulePeaks, OfTheVSchedules) {
  for (int p = 1; p <= 24; ++p) {
    const PipelineShape many{p, 3 * p, 2};
    EXPECT_EQ(peak_of("zb-v", many), 2 * p);
    EXPECT_EQ(peak_of("zb-v-half", many), 2 * ((p + 2) / 2)) << p;
    EXPECT_EQ(peak_of("zb-v-min", many), 2 * ((p + 4) / 3)) << p;
    for (int m : {1, 2, p}) EXPECT_LE(peak_of("zb-v", {p, m, 2}), std::min(2 * m, 2 * p));
  }
}

TEST(SchedulePeaks, OfInterleavedWithAShortWarmUpAndBreadthFirst) {
  for (int p = 1; p <= 8; ++p)
    for (int v = 2; v <= 4; ++v)
      for (int m : {p, 2 * p, 5 * p}) {
        std::vector<int> expected;
        for (int s = 0; s < p; ++s) expected.push_back(std::min(v * m, v * p - s));
        EXPECT_EQ(peak_live(build_schedule("interleaved-short", {p, m, v})), expected);
        EXPECT_EQ(peak_live(build_schedule("looped-bfs", {p, m, v})), std::vector<int>(size_t(p), v * m));
      }
}

TEST(SchedulePeaks, OfTheDualSchedules) {
  for (int p = 2; p <= 8; ++p)
    for (int m : {2 * p, 2 * p + 2, 6 * p}) {
      if (p % 2 == 0) {
        EXPECT_EQ(peak_of("dualpipe", {p, m, 2}), p + 1);
      }
      EXPECT_EQ(peak_of("dualpipe-v", {p, m, 2}), 2 * p + 1);
    }
}

// Table 1 of DeepSeek-AI's DualPipe: a bubble of (p / 2 - 1)(F&B + B - 3W), with B the whole backward. Where
// a forward and a backward take turns instead of overlapping (F&B = F + B), less than that is left.
TEST(SchedulePeaks, BubbleOfTheDualSchedules) {
  for (int p : {2, 4, 6, 8})
    for (int m : {2 * p, 4 * p}) {
      ScheduleCosts costs;
      const double f = 1, w = 1, b = 2;
      costs.chunks.assign(size_t(2 * p), {f, b - w, w});
      const double idle = time_actions(build_schedule("dualpipe", {p, m, 2}), costs).makespan - m * (f + b);
      EXPECT_LE(idle, (p / 2 - 1) * (f + b + b - 3 * w) + 1e-9);
      EXPECT_NEAR(idle, p / 2 - 1, 1e-9);
      // Twice the stages of half the work: (p - 1) chunk passes.
      const double v = time_actions(build_schedule("dualpipe-v", {p, m, 2}), costs).makespan;
      EXPECT_NEAR(v - 2 * m * (f + b), p - 1, 1e-9);
    }
}

}  // namespace
}  // namespace rehearse
