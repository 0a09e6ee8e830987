// rehearse collective, with the shipped H100 profile and topology.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/folder.hpp"
#include "tests/support/program.hpp"

namespace rehearse::test {
namespace {

using ::testing::HasSubstr;

const std::string kH100 = "--topology dgx-h100 --profile h100-sxm5-80gb ";

ProgramRun collective(const std::string& words) {
  return run_program("collective " + words, REHEARSE_SOURCE_DIR, "OMP_NUM_THREADS=1");
}

nlohmann::json answer(const std::string& words) {
  const ProgramRun run = collective(words + " --json -");
  EXPECT_EQ(run.status, 0) << run.err;
  return run.status == 0 ? nlohmann::json::parse(run.out) : nlohmann::json();
}

TEST(CollectiveCli, RowsHoldWhatTheContractNames) {
  const auto json = answer("all_reduce " + kH100 + "--ranks 16 --per-node 8 --bytes 8..8GiB");
  ASSERT_EQ(json["rows"].size(), 31u);
  double last = 0;
  for (const auto& row : json["rows"]) {
    const double us = row["time_us"], bytes = row["bytes"];
    EXPECT_NEAR(row["algbw_GBps"], bytes / us * 1e-3, 1e-9 * bytes / us);
    EXPECT_NEAR(row["busbw_GBps"].get<double>(), row["algbw_GBps"].get<double>() * 2 * 15 / 16,
                1e-9 * row["busbw_GBps"].get<double>() + 1e-12);
    EXPECT_TRUE(row["measured_us"].is_null());
    EXPECT_GT(bytes, last);
    last = bytes;
  }
  EXPECT_EQ(json["rows"][30]["algorithm"], "nvls_tree");
  EXPECT_EQ(json["rows"][0]["protocol"], "ll");
  EXPECT_TRUE(json["median_abs_error"].is_null());
}

TEST(CollectiveCli, ATableIsReadAndLeftOut) {
  const std::string words = "all_reduce " + kH100 + "--ranks 16 --per-node 8 --bytes 64MiB";
  const double with = answer(words)["rows"][0]["time_us"];
  EXPECT_NEAR(with, 466.1, 1e-6);  // h100_2x8_all_reduce_iss309a.csv
  const auto without = answer(words + " --without-table 'h100_2x8_all_reduce_iss309a*'");
  EXPECT_EQ(without["without_tables"][0], "h100_2x8_all_reduce_iss309a.csv");
  EXPECT_NE(without["rows"][0]["time_us"].get<double>(), with);
  EXPECT_NEAR(without["rows"][0]["time_us"].get<double>() / with, 1, 0.15);
}

TEST(CollectiveCli, ComparesWithALogAndWithATable) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("log.txt"))
      << "# nThread 1 nGpus 1 minBytes 8\n"
         "# Using devices\n"
         "     1048576        262144     float     sum      -1    71.93   14.58"
         "   27.33      0    71.47   14.67   27.51      0\n"
         "    67108864      16777216     float     sum      -1    932.2   71.99"
         "  134.98      0    940.0   71.39  133.86    N/A\n"
         "# Avg bus bandwidth    : 80\n";
  std::ofstream(folder.file("table.csv"))
      << "op,ranks,nodes,gpus_per_node,bytes,time_us,algbw_GBps,busbw_GBps,inplace_time_us\n"
         "all_reduce,16,2,8,1048576,71.93,14.58,27.33,71.47\n"
         "all_reduce,16,2,8,67108864,932.2,71.99,134.98,\n";
  const std::string words = "all_reduce " + kH100 + "--ranks 16 --per-node 8 --against ";
  for (const char* name : {"log.txt", "table.csv"}) {
    const auto json = answer(words + folder.file(name));
    ASSERT_EQ(json["rows"].size(), 2u) << name;
    EXPECT_NEAR(json["rows"][0]["measured_us"], 71.47, 1e-9);
    EXPECT_NEAR(json["rows"][0]["error"], 0, 1e-9);
    EXPECT_NEAR(json["rows"][1]["error"], 466.1 / 932.2 - 1, 1e-9);
    EXPECT_NEAR(json["median_abs_error"], 0.25, 1e-3);
    EXPECT_NEAR(json["p90_abs_error"], 0.5, 1e-3);
  }
  const ProgramRun text = collective(words + folder.file("log.txt"));
  EXPECT_THAT(text.out,
              HasSubstr("#       size         count      type   redop    root     time   algbw   busbw"));
  EXPECT_THAT(
      text.out,
      HasSubstr("     1048576        262144     float     sum      -1    71.47   14.67   27.51  tree"));
  EXPECT_THAT(text.out, HasSubstr("# against measured     : median |error| 25.0 %, p90 50.0 %"));
}

TEST(CollectiveCli, AlgorithmsAndProtocolsCanBeForced) {
  const std::string words = "all_reduce " + kH100 + "--ranks 16 --per-node 8 --bytes 256MiB";
  EXPECT_EQ(answer(words)["rows"][0]["algorithm"], "nvls_tree");
  EXPECT_EQ(answer(words + " --algo ring")["rows"][0]["algorithm"], "ring");
  EXPECT_EQ(answer(words + " --algo ^nvls_tree,ring")["rows"][0]["algorithm"], "tree");
  EXPECT_EQ(answer(words + " --algo ring --proto ^simple")["rows"][0]["protocol"], "ll128");
}

TEST(CollectiveCli, SaysWhereBusbwPassesTheLinks) {
  const ProgramRun run = collective("all_reduce " + kH100 + "--ranks 16 --per-node 8 --bytes 8GiB");
  EXPECT_THAT(run.out, HasSubstr("nvls_tree moves fewer bytes than a ring"));
}

TEST(CollectiveCli, RefusesWhatCannotBe) {
  const std::string some = "--ranks 16 --per-node 8 --bytes 8..64 ";
  for (const auto& [words, code] : std::vector<std::pair<std::string, std::string>>{
           {"all_reduse " + kH100 + some, "E-CLI"},
           {"all_reduce --profile h100-sxm5-80gb " + some, "E-CLI"},
           {"all_reduce --topology dgx-h1000 --profile h100-sxm5-80gb " + some, "E-FILE-MISSING"},
           {"all_reduce " + kH100 + "--ranks 12 --per-node 8 --bytes 8", "E-CLI"},
           {"all_reduce " + kH100 + "--ranks 16 --per-node 9 --bytes 8", "E-CLI"},
           {"all_reduce " + kH100 + "--ranks 1 --bytes 8", "E-CLI"},
           {"all_reduce " + kH100 + "--ranks 16 --per-node 8", "E-CLI"},
           {"all_reduce " + kH100 + "--ranks 16 --bytes 64..8", "E-CLI"},
           {"all_reduce " + kH100 + "--ranks 16 --bytes 8..8GiB --step 1.0", "E-CLI"},
           {"all_reduce " + kH100 + some + "--algo rong", "E-CLI"},
           {"all_reduce " + kH100 + some + "--proto ^ll,ll128,simple", "E-NCCL-ALGO"},
           {"all_reduce " + kH100 + "--ranks 4 --bytes 8 --algo nvls", "E-NCCL-ALGO"},
           {"all_gather " + kH100 + some + "--algo tree", "E-NCCL-ALGO"},
           {"all_reduce --topology host-2 --profile host-2core --ranks 2 --bytes 8 --algo ring",
            "E-NCCL-ALGO"},
           {"all_reduce " + kH100 + "--ranks 16 --against README.md", "E-AGAINST"},
           {"all_gather " + kH100 + "--ranks 16 --against tests/oracle/nccl_model_checks.csv",
            "E-AGAINST"}}) {
    const ProgramRun run = collective(words);
    EXPECT_EQ(run.status, 2) << words;
    EXPECT_EQ(run.out, "") << words;
    EXPECT_THAT(run.err, HasSubstr("[" + code + "]")) << words;
  }
}

}  // namespace
}  // namespace rehearse::test
