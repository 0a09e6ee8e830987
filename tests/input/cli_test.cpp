// The program's own behaviour towards the shell: exit status, what goes to stdout and what to stderr.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>

#include "tests/support/program.hpp"
#include "tests/support/skip.hpp"

namespace fs = std::filesystem;
using rehearse::test::no_page;
using rehearse::test::ProgramRun;
using rehearse::test::run_program;
using rehearse::test::text_of;
using testing::HasSubstr;

namespace {

const std::string kInput = std::string(REHEARSE_SOURCE_DIR) + "/tests/input";

ProgramRun outcome_of(const std::string& words) {
  return run_program(words, kInput, "REHEARSE_DATA=" + kInput + "/data");
}

}  // namespace

TEST(Cli, CheckPrintsThePlan) {
  const ProgramRun run = outcome_of("check ../fuzz/base.yaml");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.err, "");
  EXPECT_THAT(run.out, HasSubstr("16 on 4 nodes x 4 GPUs"));
  EXPECT_THAT(run.out, HasSubstr("8 micro-batches of 1 on each of 4 replicas"));
}

TEST(Cli, JsonReplacesTheTableOnStdout) {
  const ProgramRun run = outcome_of("check ../fuzz/base.yaml --json -");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out.front(), '{');
  EXPECT_THAT(run.out, HasSubstr("\"micro_batches\": 8"));
}

TEST(Cli, SettingsVaryTheScenario) {
  const ProgramRun run = outcome_of(
      "check ../fuzz/base.yaml --set layout.tp=4 --set layout.dp=null --set 'batch={global: 6, micro: 3}' "
      "--json -");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\"micro_batches\": 1"));
}

TEST(Cli, StdinIsAScenario) {
  const ProgramRun run = outcome_of("check - <../fuzz/base.yaml");
  EXPECT_EQ(run.status, 0) << run.err;
  const ProgramRun bad = outcome_of("check - <cases/layout-gpus.yaml");
  EXPECT_EQ(bad.status, 2);
  EXPECT_THAT(bad.err, testing::StartsWith("<stdin>:5:28: error: "));
}

TEST(Cli, BadInputLeavesStdoutEmpty) {
  for (const char* words :
       {"check cases/layout-gpus.yaml", "check cases/layout-gpus.yaml --json -", "check nowhere.yaml",
        "check", "check a b", "check ../fuzz/base.yaml --sett x=1", "check ../fuzz/base.yaml --json",
        "chekc x", "", "check ../fuzz/base.yaml --json /no/such/folder/x.json",
        "check ../fuzz/base.yaml --set x", "check ../fuzz/base.yaml --qui", "check cases"}) {
    const ProgramRun run = outcome_of(words);
    EXPECT_EQ(run.status, 2) << words;
    EXPECT_EQ(run.out, "") << words;
    EXPECT_THAT(run.err, HasSubstr("error: ")) << words;
    EXPECT_THAT(run.err, HasSubstr("[E-")) << words;
  }
}

TEST(Cli, MisspeltWordsGetTheNearest) {
  EXPECT_THAT(outcome_of("chekc x").err, HasSubstr("did you mean 'check'?"));
  EXPECT_THAT(outcome_of("check x --sett a=b").err, HasSubstr("did you mean '--set'?"));
}

TEST(Cli, WarningsGoToStderrUnlessQuiet) {
  const std::string words = "check ../fuzz/base.yaml --set layout.tp=8 --set layout.dp=1";
  EXPECT_THAT(outcome_of(words).err, HasSubstr("[W-TP-NODE]"));
  const ProgramRun quiet = outcome_of(words + " --quiet");
  EXPECT_EQ(quiet.status, 0);
  EXPECT_EQ(quiet.err, "");
  EXPECT_THAT(quiet.out, HasSubstr("W-TP-NODE"));
}

// Whatever is to be written, the scenario stays as it was.
TEST(Cli, NoOutputOverwritesTheScenario) {
  const std::string file = testing::TempDir() + "cli_scenario.yaml", text = "name: mine\n";
  for (const char* words :
       {"check S --json S", "run S --json S", "run S --trace S", "run S --stop-after graph --dump S",
        "ledger S --json S", "score S --json S", "schedule S --csv S", "schedules S --svg S"}) {
    std::ofstream(file) << text;
    const ProgramRun run = outcome_of(std::regex_replace(words, std::regex("S"), file));
    EXPECT_EQ(run.status, 2) << words;
    EXPECT_EQ(run.out, "") << words;
    EXPECT_THAT(run.err, HasSubstr(" would overwrite '" + file + "' [E-CLI]")) << words;
    EXPECT_EQ(text_of(file), text) << words;
  }
  EXPECT_THAT(outcome_of("run ../fuzz/base.yaml --json x.json --trace ./x.json").err,
              HasSubstr("--json and --trace name one file [E-CLI]"));
}

TEST(Cli, HelpAndVersion) {
  const ProgramRun help = outcome_of("--help");
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.out, HasSubstr("check"));
  for (const char* command : {"run", "check", "ledger", "schedule", "schedules", "score"}) {
    const ProgramRun its = outcome_of(std::string(command) + " --help");
    EXPECT_EQ(its.status, 0);
    EXPECT_THAT(its.out, testing::StartsWith("usage: rehearse " + std::string(command) + " "));
  }
  EXPECT_THAT(outcome_of("--version").out, testing::StartsWith("rehearse "));
}

TEST(Cli, RunRefusesWhatItCannotHonour) {
  const std::string run = "run ../fuzz/base.yaml ";
  for (const char* words :
       {"--stop-after graph --json x.json", "--stop-after graph --trace x.json",
        "--stop-after timeline --expect 'mfu<=1'", "--dump x.txt", "--trace-ranks 0", "--trace ''",
        "--trace ../fuzz/base.yaml", "--json ../fuzz/base.yaml", "--trace x.json --json ./x.json",
        "--engine magic", "--fold on", "--stop-after lunch", "--trace x.json --trace-detail atom",
        "--trace x.json --trace-ranks 0,x", "--expect step_time_s", "--expect 'step_time_s<=fast'",
        "--expect 'no.such<=1'", "--expect 'memory.stages.9.peak_bytes<=1'", "--expect 'memory.stages<=1'"}) {
    const ProgramRun refused = outcome_of(run + words);
    EXPECT_EQ(refused.status, 2) << words;
    EXPECT_EQ(refused.out, "") << words;
    EXPECT_THAT(refused.err, HasSubstr("[E-CLI]")) << words;
  }
}

TEST(Cli, ExpectationsDecideTheStatus) {
  const std::string run = "run ../fuzz/base.yaml --quiet --json /dev/null ";
  EXPECT_EQ(outcome_of(run + "--expect 'step_time_s>0' --expect 'memory.stages.0.peak_bytes>1'").status, 0);
  const ProgramRun missed = outcome_of(run + "--expect 'mfu>=2'");
  EXPECT_EQ(missed.status, 1);
  EXPECT_THAT(missed.err, HasSubstr("expectation missed: mfu>=2"));
}

TEST(Cli, ReportRefusesWhatItCannotShow) {
  if (outcome_of("report ../fuzz/base.yaml --quiet -o /dev/null").err.find("E-REPORT-BUILD") !=
      std::string::npos)
    GTEST_SKIP() << no_page();
  for (const auto& [words, said] : {std::pair{"report ../fuzz/base.yaml", "neither a page nor figures"},
                                    {"report -o x.html", "RESULT... is missing"},
                                    {"report ../fuzz/base.yaml -o ../fuzz/base.yaml", "would overwrite"},
                                    {"report nowhere.yaml -o -", "E-FILE-MISSING"},
                                    {"report ../page/page.cmake -o -", "E-"},
                                    {"report ../../package.json -o -", "E-REPORT-JSON"},
                                    {"report ../fuzz/base.yaml -o - --engine none", "E-CLI"}}) {
    SCOPED_TRACE(words);
    const ProgramRun run = outcome_of(words);
    EXPECT_EQ(run.status, 2);
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(run.err, HasSubstr(said));
  }
}

TEST(Cli, ReportIsTheSameEachTime) {
  const ProgramRun first = outcome_of("report ../fuzz/base.yaml -o -");
  if (first.err.find("E-REPORT-BUILD") != std::string::npos) GTEST_SKIP() << no_page();
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_THAT(first.out, testing::StartsWith("<!doctype html>"));
  EXPECT_EQ(first.out, outcome_of("report ../fuzz/base.yaml -o -").out);
}

TEST(Cli, ReportWritesFiguresWithoutAPage) {
  std::string folder = (fs::temp_directory_path() / "rehearse-figures-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const ProgramRun run = outcome_of("report ../fuzz/base.yaml ../fuzz/base.yaml --svg " + folder + "/new");
  EXPECT_EQ(run.status, 0) << run.err;
  for (const char* name : {"account", "base-timeline", "base-memory", "base-memory-peak", "base-2-timeline"})
    EXPECT_GT(fs::file_size(folder + "/new/" + name + ".svg"), 500U) << name;
  fs::remove_all(folder);
}

TEST(Cli, ReportShowsAStore) {
  std::string folder = (fs::temp_directory_path() / "rehearse-store-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  std::ofstream(folder + "/s.yaml")
      << "base: " + kInput + "/../fuzz/base.yaml\n"
      << "set: {layout.dp: null}\naxes: {layout.pp: [1, 2], layout.tp: [2, 3]}\n";
  const ProgramRun sweep = outcome_of("sweep " + folder + "/s.yaml --store " + folder + "/s.sqlite --quiet");
  ASSERT_EQ(sweep.status, 0) << sweep.err;
  const ProgramRun figures = outcome_of("report " + folder + "/s.sqlite --svg " + folder);
  EXPECT_EQ(figures.status, 0) << figures.err;
  EXPECT_GT(fs::file_size(folder + "/s-front.svg"), 500U);
  const ProgramRun page = outcome_of("report " + folder + "/s.sqlite -o - --quiet");
  fs::remove_all(folder);
  if (page.err.find("E-REPORT-BUILD") != std::string::npos) GTEST_SKIP() << no_page();
  EXPECT_EQ(page.status, 0) << page.err;
  EXPECT_THAT(page.out, HasSubstr(R"("sweeps":[{"name":"s",)"));
  EXPECT_THAT(page.out, HasSubstr(R"("rows":4,)"));
  EXPECT_THAT(page.out, HasSubstr(R"({"name":"layout.pp","values":[)"));
}
