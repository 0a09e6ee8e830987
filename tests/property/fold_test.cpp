// A folded run must give exactly the unfolded times, whatever the layout; what cannot be folded must not be.
#include "sim/graph/fold.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "sim/engine/engine.hpp"
#include "sim/graph/lower.hpp"
#include "tests/support/pick.hpp"
#include "tests/support/scenarios.hpp"

namespace rehearse {
namespace {

struct Drawn {
  Scenario scenario;
  bool shared_nics, overlapped_dp, pp_in_node;
};

using test::pick;

void draw_layout(std::mt19937& random, Scenario& s) {
  auto& l = s.layout;
  auto& c = s.cluster;
  c.gpus_per_node = pick(random, {2, 4, 8});
  c.nics_per_node = pick(random, {1, 2, c.gpus_per_node, c.gpus_per_node / 2});
  l.tp = pick(random, {1, 2, 4});
  l.pp = pick(random, {1, 2, 3, 4});
  l.chunks = l.pp > 1 ? pick(random, {1, 1, 2}) : 1;
  const int rest = l.tp * l.pp;
  do l.dp = pick(random, {1, 2, 3, 4, 6, 8, 16});
  while (rest * l.dp > 64 || (rest * l.dp > c.gpus_per_node && rest * l.dp % c.gpus_per_node != 0));
  if (rest * l.dp < c.gpus_per_node)
    c.gpus_per_node = rest * l.dp, c.nics_per_node = pick(random, {1, c.gpus_per_node});
  c.nodes = rest * l.dp / c.gpus_per_node;
  std::array<Axis, 3> order{Axis::tp, Axis::pp, Axis::dp};
  std::shuffle(order.begin(), order.end(), random);
  l.order = {order[0], order[1], order[2], Axis::cp, Axis::ep};
}

Drawn drawn_step(std::mt19937& random) {
  Scenario s = test::small_scenario();
  draw_layout(random, s);
  auto& l = s.layout;
  s.model.layers = l.pp * l.chunks * pick(random, {1, 2});
  l.sequence_parallel = l.tp > 1 && pick(random, {true, false});
  l.scatter_gather = l.tp > 1 && l.pp > 1 && !l.sequence_parallel && pick(random, {true, false});
  l.zero = pick(random, {0, 1});
  s.schedule = l.chunks > 1 ? "interleaved" : pick(random, {"1f1b", "gpipe"});
  s.batch.micro = pick(random, {1, 2});
  s.batch.global = s.batch.micro * l.dp * l.pp * pick(random, {1, 2, 3});
  s.recompute.kind = pick(random, {RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full});
  s.overlap = {pick(random, {true, false}), l.zero > 0 && pick(random, {true, false}),
               pick(random, {true, false}), pick(random, {true, false})};
  s.model.tied_embeddings = pick(random, {true, false});
  s.grad_bucket = Bytes(pick(random, {1e6, 4e6, 1e9}));
  const bool pp_in_node = l.pp > 1 && l.tp * l.pp <= s.cluster.gpus_per_node && l.order[2] == Axis::dp;
  return {s, s.cluster.nics_per_node < s.cluster.gpus_per_node, s.overlap.grad_reduce && l.dp > 1,
          pp_in_node};
}

double step(const Scenario& s, bool fold, Engine engine, TaskGraph& graph) {
  const auto schedule = build_schedule(s.schedule, {s.layout.pp, s.micro_batches(), s.layout.chunks});
  graph = lower(s, schedule, {.fold = fold});
  return engine(graph).step;
}

TEST(Fold, FoldedEqualsUnfoldedOnRandomLayouts) {
  std::mt19937 random(20261129);
  int special = 0, folded_runs = 0, unfoldable = 0;
  for (int i = 0; i < 200; ++i) {
    const Drawn drawn = drawn_step(random);
    special += drawn.shared_nics || drawn.overlapped_dp || drawn.pp_in_node;
    for (const auto& engine : engine_table()) {
      TaskGraph folded, whole;
      const double a = step(drawn.scenario, true, engine.value, folded);
      const double b = step(drawn.scenario, false, engine.value, whole);
      ASSERT_NEAR(a / b, 1, 1e-9) << "layout " << i << ' ' << engine.name << ": " << folded.fold_note;
      EXPECT_EQ(whole.simulated_ranks, whole.ranks);
      folded_runs += folded.units.size() < whole.units.size();
      unfoldable += drawn.scenario.layout.dp > 1 && folded.units.size() == whole.units.size();
    }
  }
  EXPECT_GE(special, 67);
  EXPECT_GT(folded_runs, 100);
  RecordProperty("folded", folded_runs);
  RecordProperty("unfoldable", unfoldable);
}

TEST(Fold, FoldedEqualsUnfoldedOn1024Gpus) {
  Scenario s = test::scenario_of_175b(1536);
  for (const auto& engine : engine_table()) {
    TaskGraph folded, whole;
    const double a = step(s, true, engine.value, folded), b = step(s, false, engine.value, whole);
    EXPECT_NEAR(a / b, 1, 1e-9) << engine.name;
    EXPECT_EQ(folded.simulated_ranks, 8);
    EXPECT_EQ(whole.simulated_ranks, 1024);
  }
}

TEST(Fold, ReplicasThatDoNotAlignWithNodesFoldOnlyWhereTheyLieAlike) {
  Scenario s = test::small_scenario();
  s.layout.tp = 1, s.layout.pp = 3, s.layout.dp = 8;
  s.cluster.nodes = 3;
  const auto fold = make_fold(ParallelLayout(s.layout), Fabric(s.cluster), {.tied_embeddings = true});
  EXPECT_EQ(fold.units.size(), 9u);  // a node may end after the first stage, the second or the third
  EXPECT_THAT(fold.note, ::testing::HasSubstr("do not align with nodes of 8 GPUs"));
}

TEST(Fold, ReplicasThatAllLieDifferentlyAreNotFolded) {
  Scenario s = test::small_scenario();
  s.layout.tp = 1, s.layout.pp = 3, s.layout.dp = 2;
  s.cluster.gpus_per_node = 2, s.cluster.nics_per_node = 2, s.cluster.nodes = 3;
  const auto fold = make_fold(ParallelLayout(s.layout), Fabric(s.cluster), {.tied_embeddings = true});
  EXPECT_EQ(fold.units.size(), 6u);
  EXPECT_THAT(fold.note,
              ::testing::HasSubstr("not folded: replicas of 3 ranks do not align with nodes of 2 GPUs"));
}

TEST(Fold, AlignedReplicasFoldToOne) {
  Scenario s = test::small_scenario();
  s.layout.tp = 8, s.layout.pp = 8, s.layout.dp = 16;
  s.cluster.nodes = 128;
  const auto fold = make_fold(ParallelLayout(s.layout), Fabric(s.cluster), {.tied_embeddings = true});
  EXPECT_EQ(fold.units.size(), 8u);
  EXPECT_EQ(fold.simulated_ranks, 8);
}

}  // namespace
}  // namespace rehearse
