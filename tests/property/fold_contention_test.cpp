// Folding on networks that contend: tiers, rails, PCIe, slow links and nodes. What is folded must run exactly
// as unfolded, unit by unit; replicas that run differently must not be in one class.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "sim/engine/engine.hpp"
#include "sim/graph/fold.hpp"
#include "sim/graph/lower.hpp"
#include "sim/io/scenario.hpp"
#include "sim/spec/check.hpp"
#include "sim/step/plan.hpp"
#include "tests/support/pick.hpp"
#include "tests/support/scenarios.hpp"

namespace rehearse {
namespace {

using test::pick;

void draw_network(std::mt19937& random, Cluster& c) {
  c.fabric = pick(random, {FabricShape::one_tier, FabricShape::fat_tree, FabricShape::fat_tree,
                           FabricShape::rail, FabricShape::rail, FabricShape::ring, FabricShape::full_mesh,
                           FabricShape::torus, FabricShape::dragonfly, FabricShape::links});
  c.wire = c.local = c.global = BytesPerSec(pick(random, {12.5e9, 50e9}));
  c.hop_latency = Seconds(0.5e-6);
  if (c.nodes < 2) c.fabric = FabricShape::one_tier;
  const int half = c.nodes % 2 == 0 ? 2 : 1;
  if (c.fabric == FabricShape::torus) c.dims = {half, c.nodes / half};
  if (c.fabric == FabricShape::dragonfly) c.nodes_per_router = half, c.routers_per_group = 1;
  if (c.fabric == FabricShape::links) {  // two leaves, two spines
    for (int n = 0; n < c.nodes; ++n)
      c.wires.push_back({"node" + std::to_string(n), n < c.nodes / 2 ? "leaf0" : "leaf1", 2.0 * c.wire});
    for (const char* leaf : {"leaf0", "leaf1"})
      for (const char* spine : {"spine0", "spine1"}) c.wires.push_back({leaf, spine, c.wire});
  }
  if (c.fabric == FabricShape::fat_tree || c.fabric == FabricShape::rail) {
    const int leaf = pick(random, {1, 2, 3, 4});
    c.tiers = {{leaf, pick(random, {1.0, 2.0, 4.0, 8.0}), Seconds(1e-6)}};
    if (pick(random, {true, false}))
      c.tiers.push_back({2 * leaf, pick(random, {1.0, 2.0, 4.0}), Seconds(2e-6)});
  }
  c.node = pick(random, {NodeShape::nvswitch, NodeShape::nvswitch, NodeShape::pairs, NodeShape::pcie});
  if (c.gpus_per_node % 2 != 0) c.node = NodeShape::nvswitch;
  if (c.node != NodeShape::nvswitch || pick(random, {true, false}))
    c.pcie = BytesPerSec(31e9), c.pcie_latency = Seconds(1e-6);
  if (c.pcie.value > 0 && c.gpus_per_node % 4 == 0 && pick(random, {true, false}))
    c.gpus_per_switch = 2, c.bridge = BytesPerSec(31e9);
  c.rank_order = pick(random, {RankOrder::node, RankOrder::node, RankOrder::rail});
}

void spoil(std::mt19937& random, Cluster& c) {
  const int node = std::uniform_int_distribution<int>(0, c.nodes - 1)(random);
  const std::string nic = "node" + std::to_string(node) + ".nic0";
  const int kind = pick(random, {0, 1, 2});
  if (kind == 0) c.overrides = {{.node = node, .slow = 0.5}};
  if (kind == 1) c.overrides = {{.link = nic, .slow = 0.25}};
  if (kind == 2) c.overrides = {{.link = nic, .slow = 0.25, .down = c.ports_per_node() > 1}};
}

Scenario draw(std::mt19937& random) {
  Scenario s = test::small_scenario();
  auto& l = s.layout;
  auto& c = s.cluster;
  c.gpus_per_node = pick(random, {1, 2, 4, 8});
  c.nics_per_node = pick(random, {1, c.gpus_per_node, c.gpus_per_node});
  l.tp = pick(random, {1, 2, 4});
  l.pp = pick(random, {1, 2, 4});
  do l.dp = pick(random, {2, 3, 4, 6, 8, 16});
  while (l.tp * l.pp * l.dp > 64 || l.tp * l.pp * l.dp % c.gpus_per_node != 0);
  c.nodes = l.tp * l.pp * l.dp / c.gpus_per_node;
  std::array<Axis, 3> order{Axis::tp, Axis::pp, Axis::dp};
  if (pick(random, {true, false})) std::shuffle(order.begin(), order.end(), random);
  l.order = {order[0], order[1], order[2], Axis::cp, Axis::ep};
  s.model.layers = l.pp;
  l.zero = pick(random, {0, 1});
  s.batch.global = l.dp * l.pp * pick(random, {1, 2});
  s.schedule = pick(random, {"1f1b", "1f1b", "gpipe", "zb-h1"});
  s.overlap.p2p = pick(random, {true, false});
  s.model.tied_embeddings = pick(random, {true, false});
  draw_network(random, c);
  if (c.nodes > 1 && pick(random, {true, true, false})) spoil(random, c);
  const auto gpus = place_ranks(c);
  if (!gpus.empty()) l.gpu_of_rank = std::make_shared<const std::vector<int>>(gpus);
  return s;
}

TaskGraph lowered(const Scenario& s, bool fold) {
  return lower(s, build_schedule(s.schedule, {s.layout.pp, s.micro_batches(), s.layout.chunks}),
               {.fold = fold});
}

// When each unit of the graph has done its last action.
std::vector<double> ends_of_units(const TaskGraph& graph, const Timeline& timeline) {
  std::vector<double> ends(graph.units.size(), 0);
  for (size_t t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    if (task.kind != TaskKind::run || !task.pipeline) continue;
    for (const int32_t u : graph.unit_sets[size_t(task.units)])
      ends[size_t(u)] = std::max(ends[size_t(u)], timeline.end[t]);
  }
  return ends;
}

bool replicas_differ(const std::vector<double>& ends, int pp) {
  for (size_t u = size_t(pp); u < ends.size(); ++u)
    if (std::abs(ends[u] / ends[u % size_t(pp)] - 1) > 1e-6) return true;
  return false;
}

TEST(FoldContention, FoldedEqualsUnfoldedUnitByUnit) {
  std::mt19937 random(20261130);
  int folded_runs = 0, must_not = 0, shared = 0;
  for (int i = 0; i < 200; ++i) {
    const Scenario s = draw(random);
    const TaskGraph folded = lowered(s, true), whole = lowered(s, false);
    const Timeline a = run_simgrid(folded), b = run_simgrid(whole);
    ASSERT_NEAR(a.step / b.step, 1, 1e-9) << "draw " << i << ": " << folded.fold_note;
    const auto of_class = ends_of_units(folded, a), of_unit = ends_of_units(whole, b);
    const Fold fold =
        make_fold(ParallelLayout(s.layout), Fabric(s.cluster), {.tied_embeddings = s.model.tied_embeddings});
    for (size_t u = 0; u < of_unit.size(); ++u)
      ASSERT_NEAR(of_class[size_t(fold.unit_class[u])] / of_unit[u], 1, 1e-9)
          << "draw " << i << " unit " << u << ": " << folded.fold_note;
    folded_runs += folded.units.size() < whole.units.size();
    shared += b.shared_flows > 0;
    if (!replicas_differ(of_unit, s.layout.pp)) continue;
    ++must_not;
    EXPECT_GT(folded.units.size(), size_t(s.layout.pp)) << "draw " << i;
    EXPECT_NE(folded.fold_note.find("folded"), std::string::npos) << folded.fold_note;
  }
  EXPECT_GE(must_not, 50);
  EXPECT_GE(folded_runs, 60);
  EXPECT_GE(shared, 100);
  RecordProperty("must_not", must_not);
  RecordProperty("folded", folded_runs);
  RecordProperty("shared", shared);
}

TEST(FoldContention, FoldedEqualsUnfoldedOn1024GpusOfATwoLevelFatTree) {
  Scenario s = test::scenario_of_175b(512);
  s.cluster.fabric = FabricShape::fat_tree;
  s.cluster.tiers = {{16, 4, Seconds(1e-6)}};  // two replicas a leaf
  const TaskGraph folded = lowered(s, true), whole = lowered(s, false);
  const Timeline a = run_simgrid(folded), b = run_simgrid(whole);
  EXPECT_NEAR(a.step / b.step, 1, 1e-9);
  EXPECT_EQ(folded.simulated_ranks, 8) << folded.fold_note;
  EXPECT_EQ(whole.simulated_ranks, 1024);
  EXPECT_GT(b.shared_flows, 0);
}

double step_of(const std::string& rate_gb_s, bool fold) {
  const std::string source = REHEARSE_SOURCE_DIR;
  const Plan plan = resolve(read_job(source + "/tests/property/sensitive.yaml",
                                     {"cluster.fabric.global=" + rate_gb_s + " GB/s"}, {{source}}));
  return run_simgrid(lower(plan.scenario, plan.schedule, {.fold = fold})).step;
}

// Where rounding decides which of two flows comes first, folded and unfolded differ by no more than either
// moves with a rate changed by parts in 1e11.
TEST(FoldContention, WhereFoldedIsNotTheUnfoldedALayoutIsSensitive) {
  const double folded = step_of("10", true), whole = step_of("10", false);
  double least = whole, most = whole;
  for (const char* rate : {"10.0000000001", "10.0000000003", "10.000000001", "9.9999999997"}) {
    const double moved = step_of(rate, false);
    least = std::min(least, moved), most = std::max(most, moved);
  }
  EXPECT_GT(most / least - 1, 1e-3);  // else it is not sensitive, and the fold has to be exact
  EXPECT_LE(std::abs(folded - whole), most - least);
}

}  // namespace
}  // namespace rehearse
