#include <gtest/gtest.h>

#include <cstdio>
#include <ctime>
#include <fstream>
#include <set>

#include "sim/base/error.hpp"
#include "sim/schedule/schedule.hpp"
#include "tests/support/sanitized.hpp"

namespace rehearse {
namespace {

std::string complaint_of(const std::string& name, const PipelineShape& shape) {
  try {
    load_schedule(name, shape);
  } catch (const InputErrors& e) {
    return e.what();
  }
  return "";
}

TEST(ScheduleTable, AWrongNameListsTheValidOnes) {
  EXPECT_EQ(
      complaint_of("1f1d", {2, 4, 1}),
      "error: no schedule is called '1f1d' [E-SCHEDULE-NAME]\n"
      "  hint: did you mean '1f1b'? valid: gpipe, 1f1b, interleaved, interleaved-short, looped-bfs, zb-h1, "
      "zb-h2, zb-1p, zb-2p, zb-v, zb-v-half, zb-v-min, dualpipe, dualpipe-v, auto, or the path of a .csv\n");
}

TEST(ScheduleTable, ShapesThatDoNotFit) {
  EXPECT_EQ(complaint_of("interleaved", {4, 6, 1}),
            "error: schedule 'interleaved' needs at least 2 chunks a stage [E-SCHEDULE-CHUNKS]\n"
            "  hint: try --set layout.chunks=2, or --set schedule=1f1b\n"
            "error: schedule 'interleaved' needs micro-batches in multiples of the stages, and 6 is no "
            "multiple of 4 "
            "[E-SCHEDULE-MICRO]\n"
            "  hint: micro-batches = batch.global / (batch.micro x layout.dp)\n");
  EXPECT_EQ(complaint_of("gpipe", {4, 6, 2}),
            "error: schedule 'gpipe' runs one chunk a stage, not 2 [E-SCHEDULE-CHUNKS]\n"
            "  hint: try --set layout.chunks=1, or --set schedule=looped-bfs\n");
}

TEST(ScheduleTable, ShapesOfTheVAndDualSchedules) {
  EXPECT_EQ(complaint_of("zb-v", {4, 6, 3}),
            "error: schedule 'zb-v' runs 2 chunks a stage, not 3 [E-SCHEDULE-CHUNKS]\n"
            "  hint: try --set layout.chunks=2\n");
  EXPECT_EQ(complaint_of("dualpipe", {3, 5, 2}),
            "error: schedule 'dualpipe' needs at least two micro-batches a stage, and 5 are fewer than 2 x 3 "
            "[E-SCHEDULE-MICRO]\n"
            "  hint: micro-batches = batch.global / (batch.micro x layout.dp)\n"
            "error: schedule 'dualpipe' pairs the stages, and 3 is odd [E-SCHEDULE-STAGES]\n"
            "  hint: only an even layout.pp can be paired\n");
  EXPECT_NE(complaint_of("dualpipe", {2, 5, 2}).find("5 is odd [E-SCHEDULE-MICRO]"), std::string::npos);
}

TEST(ScheduleTable, ShapesThatCannotBe) {
  EXPECT_NE(complaint_of("1f1b", {0, 4, 1}).find("E-SCHEDULE-SHAPE"), std::string::npos);
  EXPECT_NE(complaint_of("1f1b", {4, -1, 1}).find("E-SCHEDULE-SHAPE"), std::string::npos);
  EXPECT_NE(complaint_of("interleaved", {1 << 20, 1 << 20, 1 << 20}).find("too many actions"),
            std::string::npos);
}

TEST(ScheduleTable, LoadsACsvByItsPath) {
  const std::string path = testing::TempDir() + "rehearse_schedule_table_test.csv";
  std::ofstream(path) << "0F0,0B0\n";
  EXPECT_EQ(load_schedule(path, {1, 1, 1}).stages[0].size(), 2U);
  std::ofstream(path, std::ios::trunc) << "";
  EXPECT_NE(complaint_of(path, {1, 1, 1}).find("the schedule is empty [E-SCHEDULE-FILE]"), std::string::npos);
  std::remove(path.c_str());
  EXPECT_NE(complaint_of(path, {1, 1, 1}).find("the schedule cannot be read: "), std::string::npos);
}

// Figure 4 of Narayanan et al. 2021 (p = 4, m = 8), first stage.
TEST(ScheduleTable, MegatronsInterleavedOrder) {
  const Schedule schedule = build_schedule("interleaved", {4, 8, 2});
  std::string first;
  for (const Action& a : schedule.stages[0]) first += short_name(a) + " ";
  EXPECT_EQ(first,
            "0F0 0F1 0F2 0F3 4F0 4F1 4F2 4F3 0F4 0F5 0F6 4B0 0F7 4B1 4F4 4B2 4F5 4B3 4F6 0B0 4F7 0B1 "
            "0B2 0B3 4B4 4B5 4B6 4B7 0B4 0B5 0B6 0B7 ");
}

TEST(ScheduleTable, PeakLiveOfAnOrder) {
  EXPECT_EQ(peak_live(build_schedule("1f1b", {4, 8, 1})), (std::vector<int>{4, 3, 2, 1}));
  EXPECT_EQ(peak_live(build_schedule("gpipe", {2, 5, 1})), (std::vector<int>{5, 5}));
  EXPECT_EQ(peak_live(build_schedule("interleaved", {2, 4, 2})), (std::vector<int>{5, 3}));
}

TEST(ScheduleTable, TooLargeForASearchOrAStepIsRefused) {
  const auto code_of = [](const char* name, const PipelineShape& shape) -> std::string {
    try {
      build_schedule(name, shape);
      return "";
    } catch (const InputErrors& found) {
      return found.errors.front().code;
    }
  };
  for (const char* name : {"auto", "zb-2p"}) {
    EXPECT_EQ(code_of(name, {512, 2048, 1}), "E-SCHEDULE-SHAPE");
    EXPECT_EQ(code_of(name, {8, 100'000, 1}), "E-SCHEDULE-SHAPE");
  }
  EXPECT_EQ(code_of("zb-v", {128, 8192, 2}), "E-SCHEDULE-SHAPE");
  EXPECT_EQ(code_of("1f1b", {8, 100'000, 1}), "");
  EXPECT_EQ(code_of("1f1b", {1024, 8192, 1}), "E-SCHEDULE-SHAPE");
}

// Counted in looks, not in seconds: a search of many stages and micro-batches ends early, and says so.
TEST(ScheduleTable, AutoEndsAtItsBudgetOfWorkAndSaysSo) {
  const auto began = std::clock();
  const Schedule large = build_schedule("auto", {64, 1024, 1});
  EXPECT_LT(double(std::clock() - began) / CLOCKS_PER_SEC, test::kSanitized ? 300 : 30);
  EXPECT_NE(large.note.find("ended at its budget of work"), std::string::npos) << large.note;
  const Schedule small = build_schedule("auto", {2, 4, 1});
  EXPECT_EQ(small.note.find("budget"), std::string::npos) << small.note;
}

TEST(ScheduleTable, AutoSaysWhatItStartedFrom) {
  std::set<std::string> starts;
  for (const PipelineShape shape : {PipelineShape{2, 4, 1}, {2, 16, 1}, {4, 8, 1}, {4, 8, 2}})
    for (const double live : {0.0, 3.0}) {
      const std::string note = build_schedule("auto", shape, {.max_live = live}).note;
      EXPECT_TRUE(note.starts_with("started from ")) << note;
      EXPECT_EQ(note.find("from ;"), std::string::npos) << note;
      starts.insert(note.substr(0, note.find(';')));
    }
  EXPECT_TRUE(starts.count("started from a list schedule"));
}

}  // namespace
}  // namespace rehearse
