// What the network of a cluster does to a step, against closed forms: shares of NICs and spines, rank order,
// slow links.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/account/links.hpp"
#include "sim/engine/engine.hpp"
#include "sim/graph/lower.hpp"
#include "sim/plan/group_links.hpp"
#include "sim/plan/model_math.hpp"
#include "tests/support/engine_graph.hpp"
#include "tests/support/program.hpp"
#include "tests/support/scenarios.hpp"

namespace rehearse::test {
namespace {

constexpr double kRelative = 1e-9;

Cluster cluster_of(int nodes, int gpus, std::vector<Tier> tiers = {},
                   FabricShape shape = FabricShape::fat_tree) {
  Cluster c;
  c.nodes = nodes, c.gpus_per_node = c.nics_per_node = gpus;
  c.nvlink = BytesPerSec(300e9), c.nic = BytesPerSec(25e9), c.nic_latency = Seconds(2e-6);
  c.fabric = tiers.empty() ? FabricShape::one_tier : shape;
  c.tiers = std::move(tiers);
  return c;
}

// A graph of flows over the links of a fabric, which may meet there.
class OnFabric {
 public:
  explicit OnFabric(const Cluster& cluster) : fabric_(cluster) {
    for (int l = 0; l < fabric_.link_count(); ++l) b_.link(fabric_.link(LinkId(l)).rate.value);
  }
  // `bytes` leave each domain of the group.
  int32_t group(const std::vector<int>& gpus, double bytes, bool pairs = false) {
    std::vector<GpuId> ids;
    for (int g : gpus) ids.emplace_back(g);
    const GroupLinks links = pairs ? pair_links(ids, fabric_) : ring_links(ids, fabric_);
    std::vector<std::pair<int32_t, int32_t>> route(links.weights.begin(), links.weights.end());
    return b_.flow(b_.route(route), bytes / links.parts, {}, 0);
  }
  int32_t transfer(int from, int to, double bytes) {
    std::vector<std::pair<int32_t, int32_t>> route;
    for (const LinkId l : fabric_.route(GpuId(from), GpuId(to)).links) route.emplace_back(l.value, 1);
    return b_.flow(b_.route(route), bytes, {}, 0);
  }
  Timeline run() { return run_simgrid(b_.build()); }

 private:
  Fabric fabric_;
  GraphBuilder b_;
};

std::vector<int> every(int first, int step, int count) {
  std::vector<int> gpus;
  for (int i = 0; i < count; ++i) gpus.push_back(first + i * step);
  return gpus;
}

TEST(Contention, TwoRingsOnOneNicHalve) {
  Cluster c = cluster_of(4, 2);
  c.nics_per_node = 1;  // both GPUs of a node on one NIC
  OnFabric alone(c), both(c);
  const int32_t one = alone.group(every(0, 2, 4), 5e9);
  EXPECT_NEAR(alone.run().end[one], 5e9 / 25e9, kRelative);
  const int32_t first = both.group(every(0, 2, 4), 5e9), second = both.group(every(1, 2, 4), 5e9);
  const Timeline t = both.run();
  EXPECT_NEAR(t.end[first], 2 * 5e9 / 25e9, kRelative);
  EXPECT_NEAR(t.end[second], 2 * 5e9 / 25e9, kRelative);
}

TEST(Contention, TransferBesideARingSharesTheNic) {
  OnFabric f(cluster_of(4, 1));
  const int32_t ring = f.group({0, 1, 2, 3}, 10e9), transfer = f.transfer(1, 3, 2.5e9);
  const Timeline t = f.run();
  EXPECT_NEAR(t.end[transfer], 2 * 2.5e9 / 25e9, kRelative);
  EXPECT_NEAR(t.end[ring], (10e9 + 2.5e9) / 25e9, kRelative);
}

// 8 nodes of one GPU, 4 a leaf; uplinks of a leaf carry 4 NICs / 4 = one NIC's rate.
TEST(Contention, OversubscribedSpineSlowsWhatCrossesIt) {
  const Cluster c = cluster_of(8, 1, {{4, 4, Seconds(0)}});
  // One ring crosses each cut once: the uplink of one NIC's rate is enough.
  OnFabric one(c);
  const int32_t across = one.group(every(0, 1, 8), 5e9);
  EXPECT_NEAR(one.run().end[across], 5e9 / 25e9, kRelative);
  // Four rings of two, each of one node here and one there: all four cross, and get a quarter each.
  OnFabric four(c);
  std::vector<int32_t> rings;
  for (int i = 0; i < 4; ++i) rings.push_back(four.group({i, i + 4}, 5e9));
  const Timeline t = four.run();
  for (const int32_t ring : rings) EXPECT_NEAR(t.end[ring], 4 * 5e9 / 25e9, kRelative);
  // In the leaf nothing is slowed, whatever crosses beside it.
  OnFabric inside(c);
  const int32_t left = inside.group({0, 1}, 5e9), right = inside.group({4, 5}, 5e9);
  const int32_t crossing = inside.group({2, 6}, 5e9), also = inside.group({3, 7}, 5e9);
  const Timeline u = inside.run();
  EXPECT_NEAR(u.end[left], 5e9 / 25e9, kRelative);
  EXPECT_NEAR(u.end[right], 5e9 / 25e9, kRelative);
  EXPECT_NEAR(u.end[crossing], 2 * 5e9 / 25e9, kRelative);
  EXPECT_NEAR(u.end[also], 2 * 5e9 / 25e9, kRelative);
}

TEST(Contention, RailsKeepRingsOfOneRailOffTheSpine) {
  // A rail's leaf reaches all nodes; with a fat-tree's leaves of two nodes the same rings cross the spine.
  OnFabric rail(cluster_of(4, 2, {{4, 100, Seconds(0)}}, FabricShape::rail));
  const int32_t a = rail.group(every(0, 2, 4), 5e9), b = rail.group(every(1, 2, 4), 5e9);
  const Timeline t = rail.run();
  EXPECT_NEAR(t.end[a], 5e9 / 25e9, kRelative);
  EXPECT_NEAR(t.end[b], 5e9 / 25e9, kRelative);
  OnFabric tree(cluster_of(4, 2, {{2, 4, Seconds(0)}}));  // uplinks of 4 NICs / 4
  const int32_t c = tree.group(every(0, 2, 4), 5e9), d = tree.group(every(1, 2, 4), 5e9);
  const Timeline u = tree.run();
  EXPECT_NEAR(u.end[c], 2 * 5e9 / 25e9, kRelative);
  EXPECT_NEAR(u.end[d], 2 * 5e9 / 25e9, kRelative);
}

TEST(Contention, LinkAtHalfSpeedSlowsJustTheGroupsThatUseIt) {
  Cluster c = cluster_of(4, 2);
  c.overrides = {{.link = "node1.nic0", .slow = 0.5}};
  OnFabric f(c);
  const int32_t slow = f.group(every(0, 2, 4), 5e9), other = f.group(every(1, 2, 4), 5e9);
  const int32_t around = f.group({0, 4}, 2.5e9);  // shares NICs with the slow ring, not the slow NIC
  const Timeline t = f.run();
  EXPECT_NEAR(t.end[slow], 2 * 5e9 / 25e9, kRelative);
  EXPECT_NEAR(t.end[other], 5e9 / 25e9, kRelative);
  EXPECT_NEAR(t.end[around], 2 * 2.5e9 / 25e9, kRelative);
}

// One node has 8 NICs and the other 7: 56 lanes, but the rate of 7 NICs.
TEST(Contention, RateOfAGroupIsThatOfTheDomainWithFewestPorts) {
  Cluster c = cluster_of(2, 8);
  c.overrides = {{.link = "node1.nic0", .down = true}};
  std::vector<GpuId> gpus;
  for (int g = 0; g < 16; ++g) gpus.emplace_back(g);
  const GroupLinks links = ring_links(gpus, Fabric(c));
  EXPECT_EQ(links.parts, 56);
  EXPECT_EQ(links.ports, 7);
}

// busbw = bytes / time x (n - 1) / n, bytes the whole input of a rank.
TEST(Contention, AllToAllIsBoundedByItsNics) {
  for (int nodes : {2, 3, 4, 8})
    for (int gpus : {1, 2, 8}) {
      OnFabric f(cluster_of(nodes, gpus));
      const int n = nodes * gpus;
      const double bytes = 1e9, leave = gpus * double(n - gpus) / n * bytes;  // each node's
      const int32_t flow = f.group(every(0, 1, n), leave, true);
      const double busbw = bytes / f.run().end[flow] * (n - 1) / n;
      EXPECT_NEAR(busbw / (25e9 * (n - 1) / n * nodes / (nodes - 1)), 1, kRelative) << nodes << ' ' << gpus;
    }
}

TEST(Contention, PcieWithoutNvlinkIsSharedByAllGroupsAtOnce) {
  Cluster c = cluster_of(1, 8);
  c.node = NodeShape::pcie, c.pcie = BytesPerSec(32e9), c.gpus_per_switch = 4, c.bridge = BytesPerSec(32e9);
  // Pairs below one switch have their links to themselves; pairs across share the bridge.
  OnFabric f(c);
  const int32_t below = f.group({0, 1}, 3.2e9);
  const int32_t across = f.group({2, 6}, 3.2e9), also = f.group({3, 7}, 3.2e9);
  const Timeline t = f.run();
  EXPECT_NEAR(t.end[below], 0.1, kRelative);
  EXPECT_NEAR(t.end[across], 0.2, kRelative);
  EXPECT_NEAR(t.end[also], 0.2, kRelative);
}

TEST(Contention, PcieBetweenGpuAndNicBoundsARing) {
  Cluster c = cluster_of(2, 1);
  c.pcie = BytesPerSec(10e9);
  OnFabric f(c);
  const int32_t ring = f.group({0, 1}, 5e9);
  EXPECT_NEAR(f.run().end[ring], 0.5, kRelative);
}

// Of the 7/8 that each of 8 GPUs sends, 4/7 cross the bridge between two switches of four.
TEST(Contention, AllToAllInsideAPcieNodeCrossesItsBridge) {
  Cluster c = cluster_of(1, 8);
  c.node = NodeShape::pcie, c.pcie = BytesPerSec(32e9), c.gpus_per_switch = 4, c.bridge = BytesPerSec(32e9);
  OnFabric f(c);
  const int32_t flow = f.group(every(0, 1, 8), 7e9, true);
  EXPECT_NEAR(f.run().end[flow], 4 * 4e9 / 32e9, kRelative);
}

struct Step {
  TaskGraph graph;
  Timeline timeline;
  std::map<std::string, LinkLoad> links;
};

Step step_of(const Scenario& s) {
  Step step;
  step.graph = lower(s, build_schedule(s.schedule, {s.layout.pp, s.micro_batches(), s.layout.chunks}),
                     {.fold = false});
  step.timeline = run_simgrid(step.graph);
  for (auto& load : link_loads(s, step.graph, step.timeline)) step.links[load.link] = load;
  return step;
}

double bytes_of_axis(const LinkLoad& load, Axis axis) {
  double sum = 0;
  for (const auto& t : load.traffic)
    if (t.axis == axis) sum += t.bytes;
  return sum;
}

// TP 4 x DP 2 on two nodes of four: tensor parallel groups stay in the node and gradients cross, or the
// other way round.
TEST(Contention, RankOrderChoosesWhatCrossesTheNic) {
  Scenario s = test::small_scenario();
  s.cluster.gpus_per_node = s.cluster.nics_per_node = 4, s.cluster.nodes = 2;
  s.layout.tp = 4, s.layout.dp = 2;
  const auto inside = step_of(s);
  s.layout.order = {Axis::dp, Axis::tp, Axis::pp, Axis::cp, Axis::ep};
  const auto across = step_of(s);
  for (int nic = 0; nic < 8; ++nic)
    for (const char* end : {".up", ".down"}) {
      const std::string name = "node" + std::to_string(nic / 4) + ".nic" + std::to_string(nic % 4) + end;
      // A ring of two: each rank sends its fp32 gradients once.
      const double gradients = 4 * chunk_parameters(s, plan_chunks(s)[0]).total();
      EXPECT_NEAR(bytes_of_axis(inside.links.at(name), Axis::dp) / gradients, 1, kRelative) << name;
      EXPECT_EQ(bytes_of_axis(inside.links.at(name), Axis::tp), 0);
      // A ring over 2 nodes of 2 ranks each puts 2 (n - 1) / n of the bytes on its 2 NICs of a node together:
      // 4 all-reduces of 16-bit activations a layer, of embedding and head one each; the loss's three of fp32
      // a token.
      const double tokens = s.batch.sequence, calls = 4.0 * s.model.layers + 2;
      const double bytes = s.micro_batches() * (calls * tokens * s.model.hidden * 2 + 3 * tokens * 4);
      EXPECT_NEAR(bytes_of_axis(across.links.at(name), Axis::tp) / (bytes * 3 / 4), 1, kRelative) << name;
      EXPECT_EQ(bytes_of_axis(across.links.at(name), Axis::dp), 0);
    }
  EXPECT_GT(across.timeline.step, inside.timeline.step);
}

// The shipped scenario, whole, on leaves of 16 nodes and a spine oversubscribed 4:1.
TEST(Contention, TheStepOf1024GpusIsTheSameFoldedAndNot) {
  const auto report = [](const std::string& fold) {
    const auto run = run_program("run scenarios/gpt3-175b-1024xa100.yaml --quiet --json - --fold " + fold +
                                     " --set 'cluster.fabric={shape: fat_tree, tiers: [{nodes: 16, "
                                     "oversubscription: 4, latency: 1 us}]}'",
                                 REHEARSE_SOURCE_DIR);
    EXPECT_EQ(run.status, 0) << run.err;
    return nlohmann::json::parse(run.out);
  };
  const auto folded = report("auto"), whole = report("off");
  EXPECT_EQ(whole["engine"]["simulated_ranks"], 1024);
  EXPECT_LT(folded["engine"]["simulated_ranks"], 1024);
  const double step = whole["step_time_s"];
  EXPECT_NEAR(folded["step_time_s"].get<double>() / step, 1, 1e-9);
  for (const auto& [part, seconds] : whole["account_s"].items())
    EXPECT_NEAR(folded["account_s"][part].get<double>(), seconds.get<double>(), 1e-9 * step) << part;
}

TEST(Contention, SlowNodeHoldsUpItsKernelsAndThroughThemTheStep) {
  Scenario s = test::small_scenario();
  s.cluster.nodes = 2, s.layout.dp = 16, s.batch.global = 16;
  s.stack.host_per_kernel_s.value = 0;  // nothing but kernels in a stage's time
  s.cluster.overrides = {{.node = 1, .slow = 0.5}};
  const auto slow = step_of(s);
  double busy[2] = {0, 0};
  for (const Task& task : slow.graph.tasks)
    if (task.kind == TaskKind::run && task.pipeline)
      busy[slow.graph.unit_sets[size_t(task.units)][0] >= 8] += task.duration;
  EXPECT_GT(busy[0], 0);
  EXPECT_NEAR(busy[1] / busy[0], 2, kRelative);
}

}  // namespace
}  // namespace rehearse::test
