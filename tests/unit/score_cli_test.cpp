// rehearse score on files of measured steps with errors in them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/support/folder.hpp"
#include "tests/support/program.hpp"

namespace rehearse::test {
namespace {

using ::testing::HasSubstr;

const std::string kRow =
    "- {id: a, family: zero-bubble, kind: iteration, tier: A, gpu: A100-SXM4-80GB, gpus: 8, gpus_per_node: "
    "8, model: "
    "{layers: 8, hidden: 1024, heads: 16, vocab: 50304, seq: 1024}, layout: {tp: 1, pp: 2, dp: 4, vpp: 1, "
    "mbs: 1, gbs: "
    "32, recompute: none, schedule: 1f1b, overlap: {p2p: true}}, target_iteration_s: 1.2, measured: "
    "{anything: [1]}}\n";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

ProgramRun score(const std::string& text, const std::string& words = "") {
  const TemporaryFolder folder;
  std::ofstream(folder.file("t.yaml")) << text;
  return run_program("score " + folder.file("t.yaml") + " " + words, REHEARSE_SOURCE_DIR);
}

struct Case {
  const char *from, *to, *message;
};
const Case kCases[] = {
    {"vpp: 1", "vpp: 0", "rows[0].layout.vpp must be at least 1, not '0' [E-RANGE]"},
    {"gpus_per_node: 8", "gpus_per_node: 0", "rows[0].gpus_per_node must be at least 1, not '0' [E-RANGE]"},
    {"tp: 1", "tp: 0", "rows[0].layout.tp must be at least 1, not '0' [E-RANGE]"},
    {"tp: 1", "tp: 99999999999999999999", "rows[0].layout.tp: '99999999999999999999'"},
    {"mbs: 1", "mbs: -1", "rows[0].layout.mbs must be at least 1, not '-1' [E-RANGE]"},
    {"heads: 16", "heads: 0", "rows[0].model.heads must be at least 1, not '0' [E-RANGE]"},
    {"seq: 1024", "seq: 0x400", "rows[0].model.seq: '0x400' is not a decimal integer [E-NUMBER]"},
    {"seq: 1024", "seq: 1e400", "rows[0].model.seq: '1e400'"},
    {"_s: 1.2", "_s: nan", "rows[0].target_iteration_s: 'nan' is not a decimal number [E-NUMBER]"},
    {"_s: 1.2", "_s: 0", "rows[0].target_iteration_s must be more than 0, not '0' [E-RANGE]"},
    {"_s: 1.2", "_s: 1e308", "rows[0].target_iteration_s must be at most 1e+15, not '1e308' [E-RANGE]"},
    {"recompute", "recompote", "no row of measured steps has the key 'recompote' here [E-KEY-UNKNOWN]"},
    {"p2p: true", "p2q: true", "no row of measured steps has the key 'p2q' here [E-KEY-UNKNOWN]"},
    {"p2p: true", "p2p: yes", "rows[0].layout.overlap.p2p must be true or false"},
    {"vpp: 1", "zero: [1]", "rows[0].layout.zero must be a word or a number, not a list [E-TYPE]"},
    {"kind: iteration", "kind: iterations", "rows[0].kind"},
    {"tier: A", "tier: D", "rows[0].tier"},
    {"id: a, ", "", "rows[0] has no 'id' [E-KEY-MISSING]"},
};

TEST(ScoreCli, ARowWithAnErrorIsNamedAndTheOthersAreScored) {
  for (const Case& c : kCases) {
    const std::string bad = replaced(kRow, c.from, c.to), good = replaced(kRow, "id: a", "id: b");
    const ProgramRun alone = score("rows:\n" + bad);
    EXPECT_EQ(alone.status, 2) << c.to;
    EXPECT_EQ(alone.out, "") << c.to;
    EXPECT_THAT(alone.err, HasSubstr(c.message)) << c.to;
    EXPECT_TRUE(std::regex_search(alone.err, std::regex("t.yaml:2:[0-9]+: error: "))) << alone.err;
    const ProgramRun run = score("rows:\n" + bad + good, "--json -");
    EXPECT_EQ(run.status, 2) << c.to;
    const auto json = nlohmann::json::parse(run.out);
    EXPECT_EQ(json["not_scored"]["refused"], 1) << c.to;
    EXPECT_EQ(json["families"][0]["rows"], 1) << c.to;
    EXPECT_TRUE(json["rows"][0].contains("refused")) << c.to;
    EXPECT_GT(json["rows"][1]["predicted_s"], 0) << c.to;
  }
}

TEST(ScoreCli, WhatIsRefusedBesideItHasAPlace) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("bad.json")) << "{\n  \"families\": ,\n}";
  const std::string report =
      run_program("report " + folder.file("bad.json") + " -o -", REHEARSE_SOURCE_DIR).err;
  const bool no_page = report.find("E-REPORT-BUILD") != std::string::npos;
  EXPECT_TRUE(no_page ||
              std::regex_search(report, std::regex("bad.json:2:15: error: .* \\[E-REPORT-JSON\\]")))
      << report;
  const std::string run =
      run_program("run scenarios/7b-8xa100-dp.yaml --set collectives.algorithm=nvls", REHEARSE_SOURCE_DIR)
          .err;
  EXPECT_TRUE(std::regex_search(run, std::regex("--set collectives.algorithm=nvls:1:[0-9]+: error: .* "
                                                "\\[E-NCCL-ALGO\\]")))
      << run;
}

TEST(ScoreCli, RowsWithoutErrorsEndWith0) {
  const ProgramRun run = score("version: 1\nrows:\n" + kRow, "--json -");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(nlohmann::json::parse(run.out)["not_scored"]["refused"], 0);
}

TEST(ScoreCli, AFileWithoutAScoredRowSaysSoAndFails) {
  for (const std::string& rows : {std::string(" []\n"), "\n" + replaced(kRow, "1f1b", "1f1bb"),
                                  "\n" + replaced(kRow, "recompute: none", "recompute: nonesuch")}) {
    const ProgramRun run = score("version: 1\nrows:" + rows);
    EXPECT_EQ(run.status, 1) << run.err;
    EXPECT_THAT(run.out, HasSubstr("nothing was scored"));
  }
  EXPECT_THAT(score("version: 1\nrows:\n" + replaced(kRow, "1f1b", "1f1bb")).out,
              HasSubstr("schedule 1f1bb"));
  const ProgramRun prose = score("version: 1\nrows:\n" + replaced(kRow, "1f1b", "\"1f1b (PipeDream)\""));
  EXPECT_EQ(prose.status, 0) << prose.err;
}

TEST(ScoreCli, WhatIsNoFileOfRowsIsRefused) {
  EXPECT_THAT(score("rows: 3\n").err,
              HasSubstr("t.yaml:1:7: error: a file of measured steps has a list 'rows'"));
  EXPECT_THAT(score("rows: [3]\n").err, HasSubstr("rows[0] must be a mapping, not '3' [E-TYPE]"));
  EXPECT_THAT(score("rwos:\n" + kRow).err, HasSubstr("[E-TRUTH-ROWS]"));
  EXPECT_THAT(score("rows:\n" + kRow + "more: 1\n").err, HasSubstr("[E-KEY-UNKNOWN]"));
  EXPECT_THAT(score("rows:\n" + kRow, "--set layout.tp=2").err, HasSubstr("score takes no --set"));
}

}  // namespace
}  // namespace rehearse::test
