// `rehearse schedule` as the shell sees it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sim/schedule/schedule.hpp"
#include "tests/support/program.hpp"

using rehearse::test::ProgramRun;
using rehearse::test::run_program;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

// 4 stages, 8 micro-batches, 1 chunk.
ProgramRun schedule(const std::string& words) {
  return run_program(
      "schedule gpt3-175b-1024xa100.yaml --set layout.pp=4 --set layout.dp=32 --set batch.global=256 " +
          words,
      REHEARSE_SOURCE_DIR "/scenarios");
}

}  // namespace

TEST(ScheduleCommand, DrawsInAsciiWhereNobodyWatches) {
  const ProgramRun run = schedule("--costs F=1,B=2 --quiet");
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, StartsWith("stage\n 0 |F0-F1-F2-F3-..................B0====F4-B1===="));
  EXPECT_THAT(run.out, HasSubstr("1f1b: 4 stages, 8 micro-batches, 1 chunk a stage\n"
                                 "  makespan         33 s, first forward to last backward\n"
                                 "  busy             24 s, mean over the ranks\n"
                                 "  idle share       27.27 % of the makespan\n"
                                 "  idle over ideal  37.50 %\n"
                                 "  peak live        4 3 2 1 chunk activations, by stage\n"));
}

TEST(ScheduleCommand, PrintsThePipelineAsJson) {
  for (const char* engine : {"ideal", "simgrid"}) {
    const ProgramRun run = schedule("--costs F=1,B=2,W=0,c=0.5 --json - --engine " + std::string(engine));
    ASSERT_EQ(run.status, 0) << run.err;
    const auto json = nlohmann::json::parse(run.out);
    EXPECT_EQ(json["schedule"], "1f1b");
    EXPECT_EQ(json["stages"], 4);
    EXPECT_EQ(json["micro_batches"], 8);
    EXPECT_EQ(json["chunks"], 1);
    EXPECT_DOUBLE_EQ(json["pipeline"]["makespan_s"], 33 + 0.5 * (2 * 3 * 2 + 4));
    EXPECT_EQ(json["pipeline"]["peak_live"], (std::vector<int>{4, 3, 2, 1}));
  }
}

TEST(ScheduleCommand, BadCostsHaveAPlace) {
  const ProgramRun run = schedule("--costs F=1,B=-2,X=3,F=4,c=one");
  EXPECT_EQ(run.status, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, StartsWith("--costs F=1,B=-2,X=3,F=4,c=one:1:7: error: a cost lies between 0 and 1e12 "
                                  "seconds [E-COSTS-VALUE]\n"
                                  "  F=1,B=-2,X=3,F=4,c=one\n"
                                  "        ^\n"));
  EXPECT_THAT(run.err, HasSubstr(":1:10: error: 'X' is no cost [E-COSTS-KEY]\n"));
  EXPECT_THAT(run.err, HasSubstr(":1:14: error: 'F' is given twice [E-COSTS-KEY]\n"));
  EXPECT_THAT(run.err, HasSubstr(":1:20: error: 'one' is not a decimal number [E-COSTS-VALUE]\n"));
  EXPECT_THAT(schedule("--costs F=1").err, HasSubstr("is missing [E-COSTS-KEY]"));
  EXPECT_THAT(schedule("--costs F=0,B=0,c=1").err, HasSubstr("F, B and W are all 0 [E-COSTS-VALUE]"));
  EXPECT_THAT(schedule("--costs ''").err, HasSubstr("[E-COSTS-KEY]"));
}

TEST(ScheduleCommand, WritesTheScheduleAsCsv) {
  const ProgramRun run = schedule("--costs F=1,B=2 --csv -");
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, rehearse::to_csv(rehearse::build_schedule("1f1b", {4, 8, 1})));
}

TEST(ScheduleCommand, WrongChoicesAreRefused) {
  for (const char* words : {"--engine simgird", "--grid asci", "--width 10", "--csv - --json -"}) {
    const ProgramRun run = schedule(std::string("--costs F=1,B=2 ") + words);
    EXPECT_EQ(run.status, 2) << words;
    EXPECT_EQ(run.out, "") << words;
    EXPECT_THAT(run.err, HasSubstr("[E-CLI]")) << words;
  }
}

TEST(ScheduleCommand, DrawsTheScenarioItself) {
  const ProgramRun run = schedule("--json -");
  ASSERT_EQ(run.status, 0) << run.err;
  const auto pipeline = nlohmann::json::parse(run.out)["pipeline"];
  EXPECT_GT(pipeline["makespan_s"], 1);
  EXPECT_GT(pipeline["bubble_fraction"], 0.2);  // 3/11 with equal stages and free transfers
  EXPECT_LT(pipeline["bubble_fraction"], 0.4);
  EXPECT_EQ(pipeline["peak_live"], (std::vector<int>{4, 3, 2, 1}));
}
