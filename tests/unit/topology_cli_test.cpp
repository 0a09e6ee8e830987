// `rehearse topology` as the shell sees it.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/support/program.hpp"

using rehearse::test::ProgramRun;
using rehearse::test::run_program;
using rehearse::test::TemporaryFolder;
using rehearse::test::text_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

namespace {

ProgramRun topology(const std::string& words) {
  return run_program("topology " + words, REHEARSE_SOURCE_DIR);
}

std::vector<std::string> strings(const nlohmann::json& list) { return list.get<std::vector<std::string>>(); }

}  // namespace

TEST(TopologyCommand, PrintsTiersLinksBisectionAndPairs) {
  const ProgramRun run = topology("a100-fat-tree-4to1 --nodes 32");
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out,
            "a100-fat-tree-4to1: 32 nodes x 8 a100-sxm4-80gb = 256 GPUs\n"
            "  node       NVLink to all: 300 GB/s a GPU and direction, 0.6 us\n"
            "  NICs       8 x 25 GB/s a node, 2.7 us from node to node, ib-hdr\n"
            "  network    fat_tree: switches in tiers; all NICs of a node on one leaf\n"
            "  tier 1     2 leaf: 16 nodes below each, 4:1 to what is above, 1.2 us\n"
            "\n"
            "  links                   count    GB/s each  GB/s together\n"
            "  NIC up                    256           25           6400\n"
            "  NIC down                  256           25           6400\n"
            "  leaf up                     2          800           1600\n"
            "  leaf down                   2          800           1600\n"
            "\n"
            "  bisection  800 GB/s one way, 25 % of the 3200 that the NICs of the first half send\n"
            "\n"
            "  from GPU to GPU                                          GB/s       us  links\n"
            "  in one node, NVLink                     0 -      1        300      0.6  0\n"
            "  over one leaf                           0 -      8         25      2.7  2\n"
            "  over the spine                          0 -    128         25      3.9  4\n");
}

TEST(TopologyCommand, NamesAPathLinkByLink) {
  const ProgramRun run = topology(
      "l40s-pcie --nodes 2 --from 1 --to 14 --set cluster.overrides='[{link: node1.pcie6, slow: 0.5}]'");
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\n  GPU 1 to GPU 14: between nodes, 15.5 GB/s, 2.7 us\n"
                                 "    node0.pcie1.up                           31 GB/s\n"
                                 "    node0.nic0.up                            25 GB/s\n"
                                 "    node1.nic1.down                          25 GB/s\n"
                                 "    node1.pcie6.down                       15.5 GB/s\n"));
  EXPECT_THAT(run.out, HasSubstr("  override   node1.pcie6: 0.5 of its rate\n"));
}

TEST(TopologyCommand, SaysWhereItPresumesTheNodes) {
  const std::string presumed = "(2 nodes presumed: the topology names no number; --nodes N does)";
  EXPECT_THAT(topology("dgx-h100").out, HasSubstr(presumed));
  EXPECT_THAT(topology("dgx-h100 --nodes 3").out, Not(HasSubstr("presumed")));
  const ProgramRun torus = topology("a100-torus-4x4x4");  // its dimensions say
  EXPECT_THAT(torus.out, StartsWith("a100-torus-4x4x4: 64 nodes x 8 "));
}

TEST(TopologyCommand, TakesAScenariosCluster) {
  const ProgramRun run = topology(
      "scenarios/gpt3-175b-1024xa100.yaml --set cluster.fabric.shape=ring --set fabric.rate='1 GB/s'");
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, StartsWith("dgx-a100-80g: 128 nodes x 8 "));
  EXPECT_THAT(run.out, HasSubstr("bisection  2 GB/s one way"));
}

TEST(TopologyCommand, WritesJson) {
  const ProgramRun run = topology("gb200-nvl72 --nodes 36 --json - --from 0 --to 72");
  ASSERT_EQ(run.status, 0) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["gpus"], 144);
  EXPECT_EQ(json["gpus_per_domain"], 72);
  EXPECT_EQ(json["fabric"]["shape"], "one_tier");
  EXPECT_DOUBLE_EQ(json["bisection"]["bytes_per_s"].get<double>(), 18 * 4 * 50e9);
  EXPECT_EQ(json["pairs"].size(), 3);
  EXPECT_EQ(json["pairs"][1]["between"], "in one NVLink domain, other node");
  EXPECT_THAT(strings(json["path"]["links"]), ElementsAre("node0.nic0.up", "node18.nic0.down"));
  EXPECT_DOUBLE_EQ(json["path"]["bytes_per_s"].get<double>(), 50e9);
}

TEST(TopologyCommand, DrawsForGraphvizAndAsSvg) {
  const TemporaryFolder folder;
  const std::string svg = folder.file("a.svg");
  const ProgramRun run =
      topology("a100-fat-tree-4to1 --nodes 2 --set 'fabric.tiers=[{nodes: 1}]' --dot - --svg " + svg);
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out,
            "graph \"a100-fat-tree-4to1: 2 nodes of 8 GPUs\" {\n"
            "  label=\"a100-fat-tree-4to1: 2 nodes of 8 GPUs\"\n"
            "  node [shape=box, fontname=\"sans-serif\", fontsize=10]\n"
            "  edge [fontname=\"sans-serif\", fontsize=9]\n"
            "  b0 [label=\"node0\"]\n"
            "  b1 [label=\"node1\"]\n"
            "  b2 [label=\"leaf0\", style=rounded]\n"
            "  b3 [label=\"leaf1\", style=rounded]\n"
            "  b4 [label=\"spine\", style=rounded]\n"
            "  b2 -- b0 [label=\"8 x 25 GB/s\", color=\"#4c78a8\"]\n"
            "  b3 -- b1 [label=\"8 x 25 GB/s\", color=\"#4c78a8\"]\n"
            "  b4 -- b2 [label=\"200 GB/s\", color=\"#54a24b\"]\n"
            "  b4 -- b3 [label=\"200 GB/s\", color=\"#54a24b\"]\n"
            "}\n");
  const std::string drawn = text_of(svg);
  EXPECT_THAT(drawn, StartsWith("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  for (const char* part : {">node1</text>", ">leaf0</text>", ">spine</text>", ">NIC 8 x 25 GB/s</text>"})
    EXPECT_THAT(drawn, HasSubstr(part));
}

TEST(TopologyCommand, DrawsManyNodesAsOneOfAKind) {
  const ProgramRun run = topology("a100-rail-1024 --dot -");
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("[label=\"128 x node\"]"));
  EXPECT_THAT(run.out, HasSubstr("[label=\"56 x rail.leaf\", style=rounded]"));
  EXPECT_THAT(run.out, HasSubstr("[label=\"1024 x (25 GB/s)\""));
  EXPECT_THAT(topology("a100-torus-4x4x4 --svg -").out, HasSubstr(">torus z 64 x (33 GB/s)</text>"));
}

TEST(TopologyCommand, RefusesWhatCannotBe) {
  const auto refused = [](const std::string& words, const std::string& said) {
    const ProgramRun run = topology(words);
    EXPECT_EQ(run.status, 2) << words;
    EXPECT_EQ(run.out, "") << words;
    EXPECT_THAT(run.err, HasSubstr(said)) << words;
  };
  refused("dgx-h200x", "there is no topology named 'dgx-h200x' [E-FILE-MISSING]");
  refused("dgx-h200 --from 0", "--from and --to go together");
  refused("dgx-h200 --from 0 --to 16", "--to 16: the GPUs are 0 to 15 [E-CLI]");
  refused("dgx-h200 --from 0 --to 9 --set 'overrides=[{node: 1, down: true}]'", "--to 9: node 1 is down");
  refused("dgx-h200 --json - --dot -", "cannot share standard output");
  refused("dgx-h200 --nodes 0", "--nodes takes a number from 1 up");
  refused("dgx-h200 --set fabric.shape=tore", "fabric.shape cannot be 'tore' [E-CHOICE]");
  refused("a100-torus-4x4x4 --nodes 8",
          "a torus of 4 x 4 x 4 has 64 nodes, and the cluster 8 [E-CLUSTER-DIMS]");
}
