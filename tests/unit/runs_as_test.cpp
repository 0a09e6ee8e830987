// How collectives run is told once: trace, ledger and `rehearse collective` name the same algorithm and
// protocol.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/support/folder.hpp"
#include "tests/support/program.hpp"

namespace rehearse::test {
namespace {

using Json = nlohmann::json;

Json read_json(const std::string& file) { return Json::parse(text_of(file)); }

struct Files {
  Json report, trace;
};

// The shipped step of 1024 A100s with few micro-batches.
Files run_step(const std::string& more) {
  const TemporaryFolder folder;
  const std::string trace = folder.file("trace.json"), report = folder.file("report.json");
  const ProgramRun run =
      run_program("run scenarios/gpt3-175b-1024xa100.yaml --set batch.global=128 --quiet " + more +
                      " --trace " + trace + " --json " + report,
                  REHEARSE_SOURCE_DIR);
  EXPECT_EQ(run.status, 0) << run.err;
  return {read_json(report), read_json(trace)};
}

std::set<std::string> kernels_of(const Json& trace, const std::string& operation) {
  std::set<std::string> found;
  for (const Json& event : trace["traceEvents"]) {
    const std::string name = event.value("name", "");
    if (name.find(operation) != std::string::npos) found.insert(name);
  }
  return found;
}

// "tree ll128" of the rows that are not transfers.
std::set<std::string> ways_of(const Json& report) {
  std::set<std::string> found;
  for (const Json& row : report["ledger"])
    for (const Json& way : row["runs_as"])
      if (row["collective"] != "send_recv")
        found.insert(way["algorithm"].get<std::string>() + " " + way["protocol"].get<std::string>());
  return found;
}

Json collective_row(const std::string& words) {
  const ProgramRun run = run_program(
      "collective all_reduce --topology dgx-a100-80g --profile a100-sxm4-80gb --json - --quiet " + words,
      REHEARSE_SOURCE_DIR);
  EXPECT_EQ(run.status, 0) << run.err;
  return Json::parse(run.out)["rows"][0];
}

TEST(RunsAs, WhatIsAskedForIsNamedEverywhere) {
  const Files files = run_step("--set 'collectives={algorithm: tree, protocol: ll128}'");
  EXPECT_EQ(ways_of(files.report), std::set<std::string>{"tree ll128"});
  EXPECT_EQ(kernels_of(files.trace, "AllReduce"),
            std::set<std::string>{"ncclDevKernel_AllReduce_Sum_f32_TREE_LL128"});
  const Json row = collective_row("--ranks 1024 --per-node 8 --bytes 8 --algo tree --proto ll128");
  EXPECT_EQ(row["algorithm"], "tree");
  EXPECT_EQ(row["protocol"], "ll128");
}

TEST(RunsAs, AFewBytesOverAllRanksTakeATreeAndAllGradientsARing) {
  const Files files = run_step("");
  for (const Json& row : files.report["ledger"]) {
    if (row["what"] != "gradient norm") continue;
    const Json alone = collective_row("--ranks 1024 --per-node 8 --bytes 8");
    EXPECT_EQ(row["runs_as"][0]["algorithm"], alone["algorithm"]);
    EXPECT_EQ(row["runs_as"][0]["protocol"], alone["protocol"]);
    EXPECT_EQ(alone["algorithm"], "tree");
  }
  EXPECT_EQ(kernels_of(files.trace, "AllReduce"),
            (std::set<std::string>{"ncclDevKernel_AllReduce_Sum_f32_RING_SIMPLE",
                                   "ncclDevKernel_AllReduce_Sum_f32_TREE_LL"}));
}

}  // namespace
}  // namespace rehearse::test
