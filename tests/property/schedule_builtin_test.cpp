// Every built-in schedule at every small shape.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "sim/base/error.hpp"
#include "sim/schedule/schedule.hpp"

namespace rehearse {
namespace {

template <class Visit>
void for_small_shapes(Visit visit) {
  for (const auto& row : schedule_table())
    for (int p = 1; p <= 6; ++p)
      for (int m = 1; m <= 13; ++m)
        for (int v = 1; v <= 3; ++v) {
          SCOPED_TRACE(std::string(row.name) + " p " + std::to_string(p) + " m " + std::to_string(m) + " v " +
                       std::to_string(v));
          visit(row, PipelineShape{p, m, v});
        }
}

std::vector<std::string> misfits(const ScheduleKind& kind, const PipelineShape& shape) {
  std::vector<std::string> codes;
  const int p = shape.stages, m = shape.micro_batches;
  if (shape.chunks < kind.min_chunks || shape.chunks > kind.max_chunks)
    codes.emplace_back("E-SCHEDULE-CHUNKS");
  const bool multiple = kind.micro != MicroRule::multiple || m % p == 0;
  const bool waves = kind.micro == MicroRule::any || kind.micro == MicroRule::multiple || m >= 2 * p;
  const bool even = kind.micro != MicroRule::two_ways || m % 2 == 0;
  if (!multiple || !waves || !even) codes.emplace_back("E-SCHEDULE-MICRO");
  if (kind.even_stages && p % 2 != 0) codes.emplace_back("E-SCHEDULE-STAGES");
  return codes;
}

ScheduleCosts uneven_costs(const PipelineShape& shape) {
  ScheduleCosts costs;
  for (int c = 0; c < chunk_count(shape); ++c) costs.chunks.push_back({1 + 0.1 * c, 1.3, 0.8});
  costs.transfer = 0.15;
  return costs;
}

// One shape that a schedule can run.
PipelineShape fitting(const ScheduleKind& kind) { return {4, 8, kind.min_chunks, kind.placement}; }

TEST(BuiltinSchedules, FitOrAreRefusedWithCodes) {
  int built = 0, refused = 0;
  for_small_shapes([&](const auto& row, const PipelineShape& shape) {
    const auto expected = misfits(row.value, shape);
    std::vector<std::string> codes;
    try {
      validate(build_schedule(row.name, shape));
      ++built;
    } catch (const InputErrors& e) {
      for (const auto& error : e.errors) codes.push_back(error.code);
      ++refused;
    }
    EXPECT_EQ(codes, expected);
  });
  EXPECT_GT(built, 800);
  EXPECT_GT(refused, 800);
}

// Each forward once, each backward once, whole or in its two parts.
TEST(BuiltinSchedules, RunEachActionOnceOnItsStage) {
  for_small_shapes([&](const auto& row, const PipelineShape& shape) {
    if (!misfits(row.value, shape).empty()) return;
    const Schedule schedule = build_schedule(row.name, shape);
    std::map<std::pair<int, int>, std::string> seen;
    for (int s = 0; s < shape.stages; ++s)
      for (const Action& a : schedule.stages[size_t(s)]) {
        EXPECT_EQ(stage_of(a.chunk, schedule.shape).value, s);
        seen[{a.chunk.value, a.micro.value}] += kind_letter(a.kind);
      }
    const bool copies = schedule.shape.placement == Placement::bidirectional;
    EXPECT_EQ(seen.size(), size_t(shape.stages * shape.micro_batches * (copies ? 1 : shape.chunks)));
    for (const auto& [key, kinds] : seen) {
      EXPECT_TRUE(kinds == "FB" || kinds == "FIW") << kinds;
      EXPECT_TRUE(kinds == "FB" || row.value.splits);
    }
  });
}

TEST(BuiltinSchedules, ComeBackFromTheirTexts) {
  for_small_shapes([&](const auto& row, const PipelineShape& shape) {
    if (!misfits(row.value, shape).empty()) return;
    const Schedule schedule = build_schedule(row.name, shape);
    for (auto* write : {to_csv, to_compact_csv}) {
      const std::string text = write(schedule);
      const Schedule again = from_csv(text, "s.csv", schedule.shape);
      EXPECT_EQ(again.stages, schedule.stages);
      EXPECT_EQ(write(again), text);
      EXPECT_TRUE(again.transfers.empty());
    }
  });
}

// No schedule takes less than what its actions need, and none that holds as much can be shorter than the
// bound.
TEST(BuiltinSchedules, TakeNoLessThanTheLowerBound) {
  for_small_shapes([&](const auto& row, const PipelineShape& shape) {
    if (!misfits(row.value, shape).empty()) return;
    const BuildOptions options{.costs = uneven_costs(shape)};
    const Schedule schedule = build_schedule(row.name, shape, options);
    validate(schedule);
    const ActionTimes times = time_actions(schedule, options.costs);
    EXPECT_GE(times.span, lower_bound(schedule.shape, options.costs, 0) * (1 - 1e-12));
    EXPECT_GE(times.makespan, times.span * (1 - 1e-12));
    const auto peaks = peak_live(schedule);
    const double held = *std::max_element(peaks.begin(), peaks.end());
    EXPECT_GE(times.span, lower_bound(schedule.shape, options.costs, held) * (1 - 1e-12));
  });
}

// Dropping, doubling or moving any one action is always noticed.
TEST(BuiltinSchedules, AnyOneChangeIsNoticed) {
  const auto code_of = [](const Schedule& schedule) -> std::string {
    try {
      validate(schedule);
    } catch (const InputErrors& e) {
      return e.errors[0].code;
    }
    return "";
  };
  for (const auto& row : schedule_table()) {
    SCOPED_TRACE(row.name);
    const Schedule good = build_schedule(row.name, fitting(row.value));
    for (size_t s = 0; s < good.stages.size(); ++s)
      for (size_t i = 0; i < good.stages[s].size(); ++i) {
        const Action action = good.stages[s][i];
        Schedule bad = good;
        bad.stages[s].erase(bad.stages[s].begin() + long(i));
        EXPECT_EQ(code_of(bad), "E-SCHEDULE-MISSING");
        bad.stages[(s + 1) % good.stages.size()].push_back(action);
        EXPECT_EQ(code_of(bad), "E-SCHEDULE-STAGE");
        bad = good;
        bad.stages[s].push_back(action);
        EXPECT_EQ(code_of(bad), "E-SCHEDULE-TWICE");
        bad = good;
        bad.stages[s][i].micro = MicroBatch(good.shape.micro_batches);
        EXPECT_EQ(code_of(bad), "E-SCHEDULE-RANGE");
      }
  }
}

// A backward before its own forward stops the stage that holds it, and the message names it.
TEST(BuiltinSchedules, BackwardBeforeItsForwardIsADeadlock) {
  for (const auto& row : schedule_table()) {
    const Schedule good = build_schedule(row.name, fitting(row.value));
    for (size_t s = 0; s < good.stages.size(); ++s)
      for (size_t i = 0; i < good.stages[s].size(); ++i) {
        const Action backward = good.stages[s][i];
        if (backward.kind != ActionKind::backward && backward.kind != ActionKind::input_gradient) continue;
        Schedule bad = good;
        auto& order = bad.stages[s];
        const Action forward{ActionKind::forward, backward.chunk, backward.micro};
        order.erase(order.begin() + long(i));
        order.insert(std::find(order.begin(), order.end(), forward), backward);
        try {
          validate(bad);
          ADD_FAILURE() << row.name << " stage " << s << " " << short_name(backward);
        } catch (const InputErrors& e) {
          EXPECT_EQ(e.errors[0].code, "E-SCHEDULE-DEADLOCK");
          EXPECT_NE(std::string(e.what()).find("stands at " + short_name(backward)), std::string::npos)
              << e.what();
        }
      }
  }
}

// More memory, or a search, never makes an order longer, however F, I and W lie to each other.
TEST(ZeroBubble, NoScheduleIsLongerThanOneThatHoldsLess) {
  std::mt19937 random(20231130);
  std::uniform_real_distribution<double> cost(0.2, 2.5), late(0, 0.5);
  std::uniform_int_distribution<int> stages(1, 9), micro(1, 20);
  int outlasts = 0, borrowed = 0;
  for (int round = 0; round < 300; ++round) {
    const PipelineShape shape{stages(random), micro(random), 1};
    const ChunkCosts costs{cost(random), cost(random), cost(random)};
    BuildOptions options;
    options.costs.chunks.assign(size_t(shape.stages), costs);
    options.costs.transfer = round % 3 == 0 ? late(random) : 0;
    options.global_sync = round % 2 == 0;
    SCOPED_TRACE(testing::Message() << shape.stages << " x " << shape.micro_batches << " F " << costs.forward
                                    << " I " << costs.input << " W " << costs.weight << " c "
                                    << options.costs.transfer);
    const auto length = [&](const Schedule& schedule) {
      const ActionTimes times = time_actions(schedule, options.costs);
      return options.global_sync ? times.makespan : times.span;
    };
    const Schedule h1 = build_schedule("zb-h1", shape, options), h2 = build_schedule("zb-h2", shape, options),
                   p1 = build_schedule("zb-1p", shape, options), p2 = build_schedule("zb-2p", shape, options);
    const double rounding = 1 + 1e-9;
    EXPECT_LE(length(h1), length(build_schedule("1f1b", shape, options)) * rounding);
    EXPECT_LE(length(h2), length(h1) * rounding);
    EXPECT_LE(length(p1), length(h1) * rounding);
    EXPECT_LE(length(p2), length(h2) * rounding);
    EXPECT_LE(length(p2), length(p1) * rounding);
    const int p = shape.stages, m = shape.micro_batches;
    EXPECT_LE(peak_held(h1, 1), std::min(m, p));
    EXPECT_LE(peak_held(h2, 1), std::min(m, 2 * p - 1));
    EXPECT_LE(peak_held(p1, 1), p);
    EXPECT_LE(peak_held(p2, options.costs.weight_hold), 2 * p + 1e-9);
    outlasts += costs.weight > costs.input;
    borrowed += !h2.note.empty();
  }
  EXPECT_GT(outlasts, 100);
  EXPECT_GT(borrowed, 20);
}

// `auto` starts from all that fits, so nothing built in beats it under the same cap.
TEST(AutoSchedule, IsNeverWorseThanTheBestBuiltIn) {
  std::mt19937 random(20240524);
  std::uniform_real_distribution<double> cost(0.2, 2.0), part(0.3, 1.0);
  std::uniform_int_distribution<int> stages(2, 5), waves(1, 3), chunks(1, 2), more(0, 6);
  int better = 0, compared = 0;
  for (int round = 0; round < 100; ++round) {
    const int p = stages(random), v = chunks(random);
    const PipelineShape shape{p, p * waves(random), v};
    BuildOptions options;
    for (int c = 0; c < chunk_count(shape); ++c)
      options.costs.chunks.push_back({cost(random), cost(random), cost(random)});
    options.costs.transfer = 0.2 * cost(random);
    options.costs.weight_hold = part(random);
    options.max_live = p * v - 1 + more(random);
    SCOPED_TRACE(round);
    const Schedule found = build_schedule("auto", shape, options);
    validate(found);
    EXPECT_LE(peak_held(found, options.costs.weight_hold), options.max_live + 1e-6);
    const double length = time_actions(found, options.costs).span;
    double best = 1e300;
    for (const auto& row : schedule_table()) {
      if (row.name == "auto" || row.value.placement == Placement::bidirectional) continue;
      if (!misfits(row.value, shape).empty()) continue;
      const Schedule other = build_schedule(row.name, shape, options);
      if (peak_held(other, options.costs.weight_hold) > options.max_live + 1e-9) continue;
      best = std::min(best, time_actions(other, options.costs).span);
      ++compared;
    }
    EXPECT_LE(length, best * (1 + 1e-9));
    better += length < best * (1 - 1e-6);
    EXPECT_GE(length, lower_bound(found.shape, options.costs, options.max_live) * (1 - 1e-9));
  }
  EXPECT_GT(compared, 200);
  EXPECT_GT(better, 50);
}

TEST(AutoSchedule, SaysHowFarFromTheBoundAndWhatItCannotKeepTo) {
  const Schedule found = build_schedule("auto", {4, 8, 1}, {});
  EXPECT_NE(found.note.find("% above the lower bound"), std::string::npos) << found.note;
  try {
    build_schedule("auto", {4, 8, 2}, {.costs = {}, .max_live = 1});
    ADD_FAILURE();
  } catch (const InputErrors& e) {
    EXPECT_EQ(e.errors[0].code, "E-SCHEDULE-CAP");
  }
}

}  // namespace
}  // namespace rehearse
