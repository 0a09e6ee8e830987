// `rehearse schedules` as the shell sees it: the schedules compared on 175B.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/support/folder.hpp"
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

namespace {

// A scenario of PP stages beside the files that a test writes.
class SchedulesBeside : public testing::Test {
 protected:
  void SetUp() override { write("s.yaml", scenario(2)); }
  static std::string scenario(int pp) {
    return "name: s\nmodel: {layers: 32, hidden: 1024, heads: 32, vocab: 32000, sequence: 2048}\n"
           "cluster: {topology: dgx-a100-80g, nodes: 1}\nprofile: a100-sxm4-80gb\nlayout: {pp: " +
           std::to_string(pp) + "}\nbatch: {global: 32, micro: 1, sequence: 2048}\nrecompute: none\n";
  }
  void write(const std::string& name, const std::string& text) { std::ofstream(folder_.file(name)) << text; }
  ProgramRun run(const std::string& words) { return run_program(words, folder_.file("")); }
  rehearse::test::TemporaryFolder folder_;
};

// Sends as soon as there is something to send, receives just before use; 2 stages, 2 chunks, 4 micro-batches.
const std::string kLowered =
    "0F0,0SEND_F0,0F1,0SEND_F1,2RECV_F0,2F0,2SEND_F0,2RECV_F1,2F1,2SEND_F1,0F2,0SEND_F2,2RECV_B0,2B0,2SEND_"
    "B0,0F3,0SEND_F3,"
    "2RECV_B1,2B1,2SEND_B1,2RECV_F2,2F2,2SEND_F2,0RECV_B0,0B0,2RECV_F3,2F3,2SEND_F3,0RECV_B1,0B1,2RECV_B2,"
    "2B2,2SEND_B2,"
    "2RECV_B3,2B3,2SEND_B3,0RECV_B2,0B2,0RECV_B3,0B3\n"
    "1RECV_F0,1F0,1SEND_F0,1RECV_F1,1F1,1SEND_F1,3RECV_F0,3F0,3B0,3SEND_B0,3RECV_F1,3F1,3B1,3SEND_B1,1RECV_"
    "F2,1F2,1SEND_F2,"
    "1RECV_B0,1B0,1SEND_B0,1RECV_F3,1F3,1SEND_F3,1RECV_B1,1B1,1SEND_B1,3RECV_F2,3F2,3B2,3SEND_B2,3RECV_F3,"
    "3F3,3B3,3SEND_B3,"
    "1RECV_B2,1B2,1SEND_B2,1RECV_B3,1B3,1SEND_B3\n";

}  // namespace

// Each runs the chunks that are asked for where it can, its own where it cannot.
TEST_F(SchedulesBeside, ChunksThatTheScenariosScheduleCannotRunAreNoObstacle) {
  write("s.yaml", scenario(8));
  const ProgramRun done =
      run("schedules s.yaml --schedules 1f1b,interleaved,zb-v --set layout.chunks=4 --json -");
  ASSERT_EQ(done.status, 0) << done.err;
  auto of = entries(done);
  EXPECT_EQ(of["1f1b"]["chunks"], 1);
  EXPECT_EQ(of["interleaved"]["chunks"], 4);
  EXPECT_EQ(of["zb-v"]["chunks"], 2);
  std::string layers = "1";
  for (int i = 1; i < 32; ++i) layers += ", 1";
  const ProgramRun uneven =
      run("schedules s.yaml --schedules 1f1b,interleaved --set layout.chunks=4 --set 'layout.stage_layers=[" +
          layers + "]' --json -");
  ASSERT_EQ(uneven.status, 0) << uneven.err;
  EXPECT_FALSE(entries(uneven)["1f1b"].contains("refused"));
}

TEST_F(SchedulesBeside, AFileIsARowByItsNameAndAsTheScenariosSchedule) {
  const ProgramRun made = run("schedule s.yaml --set layout.pp=8 --csv mine.csv --quiet");
  ASSERT_EQ(made.status, 0) << made.err;
  write("s.yaml", scenario(8));
  for (const char* words : {"--schedules 1f1b,mine.csv", "--set schedule=mine.csv"}) {
    const ProgramRun done = run(std::string("schedules s.yaml --json - ") + words);
    ASSERT_EQ(done.status, 0) << done.err;
    const auto of = entries(done);
    double mine = 0;
    for (const auto& [name, entry] : of)
      if (name.ends_with("mine.csv")) mine = entry["step_time_s"];
    EXPECT_DOUBLE_EQ(mine, of.at("1f1b")["step_time_s"]) << words;
  }
  EXPECT_THAT(run("schedules s.yaml --schedules none.csv").out, HasSubstr("E-SCHEDULE-FILE"));
}

// Eager transfers form no circle; who runs the file as it stands is told.
TEST_F(SchedulesBeside, AnOrderThatHangsWhenPostedRunsEagerlyWithAWarning) {
  write("order.csv", kLowered);
  const std::string words =
      "schedule s.yaml --set layout.chunks=2 --set batch.global=4 --set layout.dp=1 --set "
      "cluster.gpus_per_node=2 --set cluster.nics_per_node=2 --set schedule=order.csv --costs F=1,B=2 ";
  const ProgramRun eager = run(words + "--json -");
  ASSERT_EQ(eager.status, 0) << eager.err;
  EXPECT_NEAR(nlohmann::json::parse(eager.out)["pipeline"]["makespan_s"], 13.5, 1e-9);
  EXPECT_THAT(eager.err, HasSubstr("3SEND_B1 from stage 1 to stage 0 [W-SCHEDULE-HANG]"));
  const ProgramRun posted = run(words + "--set receives=posted");
  EXPECT_EQ(posted.status, 2);
  EXPECT_THAT(posted.err, HasSubstr("[E-SCHEDULE-DEADLOCK]"));
}

TEST_F(SchedulesBeside, DualPipeSaysThatPairsTakeTurns) {
  write("s.yaml", scenario(8));
  const ProgramRun done = run("schedule s.yaml --set schedule=dualpipe --costs F=1,B=1,W=1");
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("the F and B of a pair take turns"));
}

// What a search says of its order stands wherever the schedule is named.
TEST_F(SchedulesBeside, NotesStandInEveryCommand) {
  write("s.yaml", scenario(8));
  const std::string searched = " s.yaml --set schedule=auto --json -";
  const auto note_of = [&](const std::string& command) { return nlohmann::json::parse(run(command).out); };
  const std::string note = note_of("schedule" + searched)["note"];
  EXPECT_THAT(note, HasSubstr("above the lower bound"));
  EXPECT_EQ(note_of("run" + searched)["pipeline"]["note"], note);
  EXPECT_EQ(note_of("check" + searched)["schedule_note"], note);
  for (const char* command : {"schedule", "run", "check"})
    EXPECT_THAT(run(std::string(command) + " s.yaml --set schedule=auto").out, HasSubstr(note)) << command;
  EXPECT_FALSE(note_of("check s.yaml --json -").contains("schedule_note"));
}

TEST_F(SchedulesBeside, ZeroBubbleH2SaysWhoseOrderItTook) {
  write("s.yaml", scenario(8));
  const auto at = [&](const std::string& name, int micro_batches, const std::string& costs) {
    return nlohmann::json::parse(run("schedule s.yaml --json - --set schedule=" + name +
                                     " --set batch.global=" + std::to_string(micro_batches) + " --costs " +
                                     costs)
                                     .out);
  };
  const auto slow = at("zb-h2", 8, "F=1.3,B=1,W=2"), even = at("zb-h2", 32, "F=1,B=1,W=1");
  EXPECT_LE(slow["pipeline"]["makespan_s"].get<double>(),
            at("zb-h1", 8, "F=1.3,B=1,W=2")["pipeline"]["makespan_s"].get<double>());
  EXPECT_THAT(slow.value("note", ""), HasSubstr("the order of zb-h1"));
  EXPECT_FALSE(even.contains("note"));
}

// A word that is a file beside the scenario is that file; one of Hugging Face is said to be, with what to
// write.
TEST_F(SchedulesBeside, AFileBesideTheScenarioNeedsNoEnding) {
  write("mine", "layers: 32\nhidden: 1024\nheads: 32\nvocab: 32000\nsequence: 2048\n");
  EXPECT_EQ(run("check s.yaml --set model=mine").status, 0);
  write(
      "config.json",
      R"({"hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 14336, "max_position_embeddings": 8192,
            "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "tie_word_embeddings": false,
            "vocab_size": 128256})");
  const ProgramRun refused = run("check s.yaml --set model=config.json");
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(
      refused.err,
      HasSubstr("config.json:1:1: error: a config.json of Hugging Face is not read yet [E-NOT-MODELLED]"));
  // The hint does what was meant: 8030261248 parameters (Llama 3.1 8B).
  const size_t at = refused.err.find("try --set ") + 4;
  const std::string change = refused.err.substr(at, refused.err.find('\n', at) - at);
  const ProgramRun followed = run("ledger s.yaml --json - --set batch.sequence=2048 " + change);
  ASSERT_TRUE(followed.status == 0 || followed.status == 1) << followed.err;
  EXPECT_EQ(nlohmann::json::parse(followed.out)["parameters"], 8030261248);
}
