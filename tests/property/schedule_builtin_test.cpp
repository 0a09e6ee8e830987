// Every built-in schedule at every small shape.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "sim/base/error.hpp"
#include "sim/schedule/schedule.hpp"

namespace rehearse {
namespace {

template <class Visit>
void for_small_shapes(Visit visit) {
  for (const auto& row : schedule_table())
    for (int p = 1; p <= 6; ++p)
      for (int m = 1; m <= 13; ++m)
        for (int v = 1; v <= 4; ++v) {
          SCOPED_TRACE(std::string(row.name) + " p " + std::to_string(p) + " m " + std::to_string(m) + " v " +
                       std::to_string(v));
          visit(row, PipelineShape{p, m, v});
        }
}

std::vector<std::string> misfits(const ScheduleKind& kind, const PipelineShape& shape) {
  std::vector<std::string> codes;
  if (shape.chunks > 1 ? !kind.takes_chunks : kind.needs_chunks) codes.emplace_back("E-SCHEDULE-CHUNKS");
  if (kind.needs_multiple && shape.micro_batches % shape.stages != 0) codes.emplace_back("E-SCHEDULE-MICRO");
  return codes;
}

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
  EXPECT_GT(built, 200);
  EXPECT_GT(refused, 200);
}

TEST(BuiltinSchedules, RunEachActionOnceOnItsStage) {
  for_small_shapes([&](const auto& row, const PipelineShape& shape) {
    if (!misfits(row.value, shape).empty()) return;
    const Schedule schedule = build_schedule(row.name, shape);
    std::map<std::string, int> count;
    for (int s = 0; s < shape.stages; ++s)
      for (const Action& a : schedule.stages[size_t(s)]) {
        EXPECT_EQ(a.chunk.value % shape.stages, s);
        ++count[short_name(a)];
      }
    EXPECT_EQ(count.size(), size_t(2 * shape.stages * shape.chunks * shape.micro_batches));
    EXPECT_TRUE(std::all_of(count.begin(), count.end(), [](const auto& entry) { return entry.second == 1; }));
  });
}

TEST(BuiltinSchedules, ComeBackFromTheirText) {
  for_small_shapes([&](const auto& row, const PipelineShape& shape) {
    if (!misfits(row.value, shape).empty()) return;
    const Schedule schedule = build_schedule(row.name, shape);
    const std::string text = to_csv(schedule);
    const Schedule again = from_csv(text, "s.csv", shape);
    EXPECT_EQ(again.stages, schedule.stages);
    EXPECT_EQ(to_csv(again), text);

    std::string compact;
    for (const auto& order : schedule.stages) {
      for (const Action& a : order) compact += short_name(a) + ",";
      compact += "\n";
    }
    EXPECT_EQ(from_csv(compact, "c.csv", shape).stages, schedule.stages);
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
    const Schedule good = build_schedule(row.name, {3, 6, row.value.needs_chunks ? 2 : 1});
    for (size_t s = 0; s < good.stages.size(); ++s)
      for (size_t i = 0; i < good.stages[s].size(); ++i) {
        const Action action = good.stages[s][i];
        Schedule bad = good;
        bad.stages[s].erase(bad.stages[s].begin() + long(i));
        EXPECT_EQ(code_of(bad), "E-SCHEDULE-MISSING");
        bad.stages[(s + 1) % 3].push_back(action);
        EXPECT_EQ(code_of(bad), "E-SCHEDULE-STAGE");
        bad = good;
        bad.stages[s].push_back(action);
        EXPECT_EQ(code_of(bad), "E-SCHEDULE-TWICE");
        bad = good;
        bad.stages[s][i].micro = MicroBatch(6);
        EXPECT_EQ(code_of(bad), "E-SCHEDULE-RANGE");
      }
  }
}

// A backward before its own forward stops the stage that holds it, and the message names it.
TEST(BuiltinSchedules, BackwardBeforeItsForwardIsADeadlock) {
  for (const auto& row : schedule_table()) {
    const Schedule good = build_schedule(row.name, {3, 6, row.value.needs_chunks ? 2 : 1});
    for (size_t s = 0; s < good.stages.size(); ++s)
      for (int i = 0; i < 6; ++i) {
        Schedule bad = good;
        auto& order = bad.stages[s];
        const Action forward{ActionKind::forward, ChunkId(int(s)), MicroBatch(i)};
        const Action backward{ActionKind::backward, ChunkId(int(s)), MicroBatch(i)};
        order.erase(std::find(order.begin(), order.end(), backward));
        order.insert(std::find(order.begin(), order.end(), forward), backward);
        try {
          validate(bad);
          ADD_FAILURE() << row.name << " stage " << s << " micro-batch " << i;
        } catch (const InputErrors& e) {
          EXPECT_EQ(e.errors[0].code, "E-SCHEDULE-DEADLOCK");
          EXPECT_NE(std::string(e.what()).find("stands at " + short_name(backward)), std::string::npos)
              << e.what();
        }
      }
  }
}

}  // namespace
}  // namespace rehearse
