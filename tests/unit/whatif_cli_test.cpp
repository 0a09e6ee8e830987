// `rehearse compare` and `rehearse sensitivity` as the shell sees them, against runs of the same settings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/program.hpp"

using rehearse::test::ProgramRun;
using rehearse::test::run_program;
using testing::HasSubstr;

namespace {

ProgramRun rehearse_(const std::string& words) {
  return run_program(words + " --quiet", REHEARSE_SOURCE_DIR "/scenarios");
}

nlohmann::json json_of(const std::string& words) {
  const ProgramRun run = rehearse_(words + " --json -");
  EXPECT_EQ(run.status, 0) << run.err;
  return nlohmann::json::parse(run.out);
}

double step_of(const std::string& settings) {
  return json_of("run gpt3-175b-1024xa100.yaml " + settings)["step_time_s"].get<double>();
}

}  // namespace

TEST(Compare, DifferencesAreThoseOfTheRuns) {
  const auto json = json_of("compare gpt3-175b-1024xa100.yaml --with 'layout.pp=16; layout.dp=null'");
  const auto a = json_of("run gpt3-175b-1024xa100.yaml"),
             b = json_of("run gpt3-175b-1024xa100.yaml --set layout.pp=16 --set layout.dp=null");
  ASSERT_EQ(json["compared"].size(), 2u);
  for (const char* figure : {"step_time_s", "mfu", "account_s", "memory", "ledger"}) {
    EXPECT_EQ(json["compared"][0][figure], a[figure]) << figure;
    EXPECT_EQ(json["compared"][1][figure], b[figure]) << figure;
  }
  const auto& by = json["differences"][0];
  EXPECT_EQ(by["step_time_s"], b["step_time_s"].get<double>() - a["step_time_s"].get<double>());
  double sum = 0;
  for (const auto& [part, seconds] : by["account_s"].items())
    if (part != "total") sum += seconds.get<double>();
  EXPECT_NEAR(sum, by["step_time_s"].get<double>(), 1e-9);
  EXPECT_GT(by["account_s"]["bubble"], 0.3);
}

TEST(Compare, ShowsEachRunOnce) {
  const ProgramRun run = rehearse_("compare 7b-8xa100-dp.yaml 7b-8xa100-dp.yaml --with recompute=full");
  EXPECT_EQ(run.status, 1) << run.err;  // it does not fit
  EXPECT_THAT(run.out, HasSubstr("C: 7b-8xa100-dp with recompute=full"));
  EXPECT_THAT(run.out, HasSubstr(" = "));
}

TEST(Compare, RefusesWhatCannotBeCompared) {
  EXPECT_THAT(rehearse_("compare 7b-8xa100-dp.yaml").err,
              HasSubstr("there is nothing to compare with [E-CLI]"));
  EXPECT_THAT(rehearse_("compare 7b-8xa100-dp.yaml --with 'layout.tp'").err,
              HasSubstr("--with: 'layout.tp' is no KEY=VALUE [E-CLI]"));
  EXPECT_THAT(rehearse_("compare 7b-8xa100-dp.yaml --with ' ; '").err,
              HasSubstr("--with names no setting [E-CLI]"));
  EXPECT_THAT(
      rehearse_("sensitivity 7b-8xa100-dp.yaml --against 'layout.tp=16 layout.dp=8'").err,
      HasSubstr("--against: 'layout.tp=16 layout.dp=8' holds two settings, and only ';' separates them "
                "[E-CLI]\n  hint: try --against 'layout.tp=16; layout.dp=8'"));
  EXPECT_THAT(rehearse_("compare 7b-8xa100-dp.yaml --with 'layout.tp=2, layout.dp=4'").err,
              HasSubstr("try --with 'layout.tp=2; layout.dp=4'"));
  const ProgramRun bad = rehearse_("compare 7b-8xa100-dp.yaml --with 'layout.tp=3'");
  EXPECT_EQ(bad.status, 2);
  EXPECT_EQ(bad.out, "");
}

// What a setting can do, a knob does alike.
TEST(Sensitivity, PointsAreThoseOfTheRuns) {
  const auto json = json_of("sensitivity gpt3-175b-1024xa100.yaml --factors 0.5,2");
  std::map<std::pair<std::string, double>, double> steps;
  for (const auto& point : json["sensitivity"])
    if (point.contains("step_time_s")) steps[{point["knob"], point["factor"]}] = point["step_time_s"];
  EXPECT_EQ(steps.size(), 27u);
  const auto at = [&](const char* knob, double factor) { return steps.at({knob, factor}); };
  const double base = step_of("");
  for (const auto& [key, step] : steps) {
    if (key.second == 1) {
      EXPECT_EQ(step, base) << key.first;
    }
  }
  EXPECT_EQ(at("nvlink", 2), step_of("--set 'cluster.nvlink=600 GB/s'"));
  EXPECT_EQ(at("nic", 0.5), step_of("--set 'cluster.nic=100 Gb/s'"));
  EXPECT_EQ(at("batch", 2), step_of("--set batch.global=3072"));
  EXPECT_EQ(at("sequence", 2), step_of("--set batch.sequence=4096 --set model.sequence=4096"));
  EXPECT_EQ(at("gpus", 2), step_of("--set cluster.nodes=256 --set layout.dp=32"));
  // Kernels bound by their FLOPs are all but some of the step.
  EXPECT_GT(at("flops", 2), base / 2);
  EXPECT_LT(at("flops", 2), 0.75 * base);
  EXPECT_LT(at("hbm", 2), base);
  EXPECT_GT(at("latency", 2), base);
  EXPECT_GT(at("launch", 2), base);
}

// Each byte and FLOP twice as fast, and nothing waits for less than half as long.
TEST(Sensitivity, AllRatesTogetherHalveTheStepAtMost) {
  const auto json = json_of("sensitivity gpt3-175b-1024xa100.yaml --factors 0.99,1.01");
  double sum = 0;
  for (const auto& knob : json["knobs"])
    for (const char* rate : {"nvlink", "nic", "hbm", "flops"})
      if (knob["knob"] == rate) sum -= knob["elasticity"].get<double>();
  EXPECT_LT(sum, 1);
  EXPECT_GT(sum, 0.9);
}

TEST(Sensitivity, BreakEvenIsWhereTheStepsAreEqual) {
  const auto json = json_of(
      "sensitivity gpt3-175b-1024xa100.yaml --factors 2 --against 'layout.tp=4; layout.pp=16; layout.dp=16'");
  for (const auto& knob : json["knobs"]) {
    if (knob["knob"] != "nvlink") continue;
    ASSERT_EQ(knob["break_even"].size(), 1u);
    const double rate = 300 * knob["break_even"][0].get<double>();
    const std::string nvlink = "--set 'cluster.nvlink=" + std::to_string(rate) + " GB/s' ";
    EXPECT_NEAR(step_of(nvlink) / step_of(nvlink + "--set layout.tp=4 --set layout.pp=16"), 1, 1e-3);
  }
}

TEST(Sensitivity, RefusesFactorsThatAreNone) {
  for (const char* factors : {"0", "-1", "65", "x", "1,,2"})
    EXPECT_THAT(rehearse_(std::string("sensitivity 7b-8xa100-dp.yaml --factors ") + factors).err,
                HasSubstr("[E-CLI]"))
        << factors;
  // Half of one node is none.
  EXPECT_THAT(rehearse_("sensitivity 7b-8xa100-dp.yaml --factors 0.5").out,
              HasSubstr("cluster.nodes 1 x 0.5 is no whole number [E-KNOB-WHOLE]"));
}
