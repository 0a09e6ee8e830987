// Keys of a cluster that change what collectives take, or are said to change nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/folder.hpp"
#include "tests/support/program.hpp"

namespace rehearse::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Of a group that a table is of, of one that none is of, and of two nodes.
TEST(IdleKeys, LatencyOfNvlinkIsPartOfEachHop) {
  const TemporaryFolder folder;
  const auto with = [&](const std::string& latency, int ranks) {
    std::ofstream(folder.file("h100.yaml"))
        << "name: h\ngpu: h100-sxm5-80gb\ngpus_per_node: 8\nnvlink: 450 GB/s\nnvlink_latency: " << latency
        << "\nnics_per_node: 8\nnic: 400 Gb/s\nnic_latency: 2.7 us\nnetwork: ib-ndr\nfabric: one_tier\n";
    const ProgramRun run =
        run_program("collective all_reduce --topology " + folder.file("h100.yaml") +
                        " --profile h100-sxm5-80gb --ranks " + std::to_string(ranks) + " --per-node " +
                        std::to_string(std::min(ranks, 8)) + " --bytes 8KiB --quiet --json -",
                    REHEARSE_SOURCE_DIR, "OMP_NUM_THREADS=1");
    EXPECT_EQ(run.status, 0) << run.err;
    return run.status == 0 ? nlohmann::json::parse(run.out)["rows"][0]["time_us"].get<double>() : 0;
  };
  for (const int ranks : {8, 6, 16}) {
    const double as_profiled = with("0.6 us", ranks);
    EXPECT_LT(with("0.1 us", ranks), as_profiled) << ranks;
    EXPECT_GT(with("2 us", ranks), as_profiled + 1.4) << ranks;
  }
}

TEST(IdleKeys, SwitchesThatReduceForNobodyAreNamed) {
  const auto out = [](const std::string& sets) {
    return run_program("run 7b-8xa100-dp.yaml --set cluster.sharp=true " + sets,
                       REHEARSE_SOURCE_DIR "/scenarios", "OMP_NUM_THREADS=1")
        .out;
  };
  const std::string warning = "cluster.sharp has no effect";
  EXPECT_THAT(out(""), HasSubstr(warning));
  EXPECT_THAT(out("--set cluster.nodes=4 --set layout.dp=32"), Not(HasSubstr(warning)));
}

}  // namespace
}  // namespace rehearse::test
