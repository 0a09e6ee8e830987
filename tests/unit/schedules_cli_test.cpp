// `rehearse schedules` as the shell sees it: the schedules compared on 175B.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "tests/support/program.hpp"

using rehearse::test::ProgramRun;
using rehearse::test::run_program;
using testing::HasSubstr;

namespace {

ProgramRun schedules(const std::string& words) {
  return run_program("schedules gpt3-175b-1024xa100.yaml --quiet " + words, REHEARSE_SOURCE_DIR "/scenarios");
}

std::map<std::string, nlohmann::json> entries(const ProgramRun& run) {
  std::map<std::string, nlohmann::json> by_name;
  const auto report = nlohmann::json::parse(run.out);
  for (const auto& entry : report.at("schedules")) by_name[entry.at("schedule")] = entry;
  return by_name;
}

}  // namespace

// PP 8 and 16: every schedule has an entry, and those that are known to be so are faster or smaller.
TEST(SchedulesCommand, All) {
  for (const char* pp : {"--set layout.dp=16", "--set layout.pp=16 --set layout.dp=8"}) {
    SCOPED_TRACE(pp);
    const ProgramRun run = schedules(std::string(pp) + " --json -");
    ASSERT_EQ(run.status, 0) << run.err;
    auto of = entries(run);
    EXPECT_EQ(of.size(), 15U);
    for (const auto& [name, entry] : of) {
      EXPECT_FALSE(entry.contains("refused")) << name << " " << entry;
      EXPECT_GT(entry["step_time_s"], 20.0) << name;
      EXPECT_EQ(entry.contains("backward_split"),
                name.starts_with("zb-") || name.starts_with("dual") || name == "auto")
          << name;
    }
    const auto step = [&](const char* name) { return of[name]["step_time_s"].get<double>(); };
    const auto bytes = [&](const char* name) { return of[name]["peak_bytes"].get<double>(); };
    EXPECT_GT(step("1f1b"), step("interleaved"));
    EXPECT_GT(step("1f1b"), step("zb-h1"));
    EXPECT_GT(step("zb-h1"), step("zb-h2"));
    EXPECT_GT(bytes("gpipe"), bytes("1f1b"));
    EXPECT_GT(bytes("interleaved"), bytes("interleaved-short"));
    EXPECT_GT(bytes("zb-h2"), bytes("zb-h1"));
    EXPECT_GT(bytes("zb-v"), bytes("zb-v-half"));
    EXPECT_GT(bytes("zb-v-half"), bytes("zb-v-min"));
    EXPECT_GT(bytes("dualpipe"), bytes("dualpipe-v"));  // two copies of the weights
    EXPECT_LE(step("auto"), step("1f1b"));
  }
}

TEST(SchedulesCommand, WhatCannotRunIsRefusedByCode) {
  const ProgramRun run = schedules(
      "--set layout.pp=16 --set layout.dp=8 --set batch.global=128 --schedules 1f1b,dualpipe --json -");
  ASSERT_EQ(run.status, 0) << run.err;
  auto of = entries(run);
  EXPECT_EQ(of["dualpipe"]["refused"], "E-SCHEDULE-MICRO");
  EXPECT_FALSE(of["1f1b"].contains("refused"));
}

TEST(SchedulesCommand, AtEqualMemory) {
  const ProgramRun run = schedules("--schedules gpipe,1f1b --memory 60GiB --json -");
  ASSERT_EQ(run.status, 0) << run.err;
  auto of = entries(run);
  EXPECT_EQ(of["gpipe"]["refused"], "E-SCHEDULE-MEMORY");
  EXPECT_LE(of["1f1b"]["peak_bytes"], 60.0 * 1024 * 1024 * 1024);
}

TEST(SchedulesCommand, GridsAndSvg) {
  const ProgramRun grid = schedules("--set batch.global=128 --schedules 1f1b,zb-h1 --grid");
  EXPECT_EQ(grid.status, 0) << grid.err;
  EXPECT_THAT(grid.out, HasSubstr("fastest that fits 80 GiB: "));
  EXPECT_THAT(grid.out, HasSubstr(" 7 |"));
  const ProgramRun svg = schedules("--set batch.global=128 --schedules 1f1b,zb-h1 --svg -");
  EXPECT_EQ(svg.status, 0) << svg.err;
  EXPECT_EQ(svg.out.rfind("<svg ", 0), 0U);
  EXPECT_THAT(svg.out, HasSubstr("<title>7I0</title>"));
  EXPECT_THAT(svg.out, HasSubstr("</svg>\n"));
}

TEST(SchedulesCommand, BadOptions) {
  for (const char* words : {"--schedules 1f1b,1f1b", "--memory lots", "--svg - --json -", "--width 10"}) {
    const ProgramRun run = schedules(words);
    EXPECT_EQ(run.status, 2) << words;
    EXPECT_EQ(run.out, "") << words;
  }
  EXPECT_THAT(schedules("--schedules 1f1d").err, HasSubstr("[E-SCHEDULE-NAME]"));
}
