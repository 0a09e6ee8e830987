#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "sim/plan/layout.hpp"

using namespace rehearse;

namespace {

using Order = std::array<Axis, 5>;
constexpr Order kTextbook{Axis::tp, Axis::cp, Axis::pp, Axis::ep, Axis::dp};

std::vector<int> values(const std::vector<RankId>& ranks) {
  std::vector<int> v;
  v.reserve(ranks.size());
  for (const auto r : ranks) v.push_back(r.value);
  return v;
}

Cluster eight_gpu_nodes(int nodes) { return Cluster{.nodes = nodes, .gpus_per_node = 8}; }

TEST(PlanLayout, RankAndCoordinatesInvertInEveryOrder) {
  Order order{Axis::tp, Axis::cp, Axis::pp, Axis::ep, Axis::dp};
  std::sort(order.begin(), order.end());
  do {
    const ParallelLayout layout({.tp = 2, .cp = 3, .pp = 5, .ep = 2, .dp = 4, .order = order});
    ASSERT_EQ(layout.ranks(), 120);
    std::set<int> seen;
    for (int dp = 0; dp < 4; ++dp)
      for (int pp = 0; pp < 5; ++pp)
        for (int cp = 0; cp < 3; ++cp)
          for (int tp = 0; tp < 2; ++tp) {
            const auto r = layout.rank({.tp = tp, .cp = cp, .pp = pp, .dp = dp});
            const auto c = layout.coordinates(r);
            EXPECT_EQ(std::tuple(c.tp, c.cp, c.pp, c.dp), std::tuple(tp, cp, pp, dp));
            seen.insert(r.value);
          }
    EXPECT_EQ(seen.size(), 120U);
    EXPECT_EQ(*seen.begin(), 0);
    EXPECT_EQ(*seen.rbegin(), 119);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(PlanLayout, StridesFollowTheOrderFromInsideOut) {
  const ParallelLayout textbook({.tp = 8, .pp = 4, .dp = 2, .order = kTextbook});
  EXPECT_EQ(textbook.rank({.tp = 1}).value, 1);
  EXPECT_EQ(textbook.rank({.pp = 1}).value, 8);
  EXPECT_EQ(textbook.rank({.dp = 1}).value, 32);
  const ParallelLayout megatron(
      {.tp = 8, .pp = 4, .dp = 2, .order = {Axis::tp, Axis::cp, Axis::ep, Axis::dp, Axis::pp}});
  EXPECT_EQ(megatron.rank({.dp = 1}).value, 8);
  EXPECT_EQ(megatron.rank({.pp = 1}).value, 16);
}

TEST(PlanLayout, GroupsShareAllOtherCoordinates) {
  const ParallelLayout layout({.tp = 2, .pp = 2, .dp = 3, .order = kTextbook});
  EXPECT_EQ(values(layout.group(RankId(5), Axis::tp)), (std::vector{4, 5}));
  EXPECT_EQ(values(layout.group(RankId(5), Axis::pp)), (std::vector{5, 7}));
  EXPECT_EQ(values(layout.group(RankId(5), Axis::dp)), (std::vector{1, 5, 9}));
  EXPECT_EQ(values(layout.group(RankId(5), Axis::cp)), (std::vector{5}));
}

TEST(PlanLayout, ExpertGroupsStandInsideDataGroups) {
  const ParallelLayout layout({.tp = 2, .ep = 2, .dp = 4, .order = kTextbook});
  EXPECT_EQ(layout.ranks(), 8);
  EXPECT_EQ(values(layout.group(RankId(1), Axis::ep)), (std::vector{1, 3}));
  EXPECT_EQ(values(layout.group(RankId(7), Axis::ep)), (std::vector{5, 7}));
  EXPECT_EQ(values(layout.group(RankId(7), Axis::dp)), (std::vector{1, 3, 5, 7}));
}

TEST(PlanLayout, OutermostIsByOrderAmongAxesThatSpanRanks) {
  const ParallelLayout layout({.tp = 2, .cp = 2, .pp = 2, .ep = 2, .dp = 2, .order = kTextbook});
  EXPECT_EQ(layout.outermost({Axis::cp, Axis::dp}), Axis::dp);
  EXPECT_EQ(layout.outermost({Axis::pp, Axis::tp}), Axis::pp);
  EXPECT_EQ(layout.outermost({Axis::dp, Axis::ep}), Axis::dp);
  EXPECT_EQ(layout.outermost({Axis::ep, Axis::dp}), Axis::dp);
  EXPECT_EQ(layout.outermost({Axis::ep, Axis::pp}), Axis::ep);
  const ParallelLayout pipeline_outside(
      {.tp = 2, .pp = 2, .dp = 2, .order = {Axis::ep, Axis::tp, Axis::cp, Axis::dp, Axis::pp}});
  EXPECT_EQ(pipeline_outside.outermost({Axis::dp, Axis::pp}), Axis::pp);
  const ParallelLayout one_replica({.cp = 2, .dp = 1, .order = kTextbook});
  EXPECT_EQ(one_replica.outermost({Axis::cp, Axis::dp}), Axis::cp);
  EXPECT_THROW((void)layout.outermost({}), std::invalid_argument);
}

TEST(PlanLayout, RefusesOrdersThatLeaveAnAxisOut) {
  EXPECT_THROW(ParallelLayout({.order = {Axis::tp, Axis::tp, Axis::pp, Axis::ep, Axis::dp}}),
               std::invalid_argument);
  EXPECT_THROW(ParallelLayout({.tp = 0}), std::invalid_argument);
  EXPECT_THROW(ParallelLayout({.ep = 2, .dp = 3}), std::invalid_argument);
}

TEST(PlanLayout, GroupShapeCountsNodes) {
  const ParallelLayout layout({.tp = 8, .pp = 2, .dp = 4, .order = kTextbook});
  const Fabric fabric(eight_gpu_nodes(8));
  EXPECT_EQ(shape_of(layout.group(RankId(0), Axis::tp), layout, fabric), (GroupShape{8, 1, 8, true}));
  EXPECT_EQ(shape_of(layout.group(RankId(0), Axis::dp), layout, fabric), (GroupShape{4, 4, 1, true}));
  const ParallelLayout odd({.tp = 6, .dp = 4, .order = kTextbook});
  EXPECT_EQ(shape_of(odd.group(RankId(6), Axis::tp), odd, fabric), (GroupShape{6, 2, 4, false}));
  EXPECT_EQ(shape_of(odd.group(RankId(0), Axis::tp), odd, fabric), (GroupShape{6, 1, 6, true}));
}

Scenario layered(int layers, LayoutSpec layout) {
  Scenario s;
  s.model.layers = layers;
  s.layout = std::move(layout);
  return s;
}

TEST(PlanChunks, EqualSplitPutsChunkOnStageModuloStages) {
  const auto plan = plan_chunks(layered(24, {.pp = 4, .chunks = 3}));
  ASSERT_EQ(plan.size(), 12U);
  for (int c = 0; c < 12; ++c) {
    const auto& chunk = plan[static_cast<size_t>(c)];
    EXPECT_EQ(chunk.chunk, ChunkId(c));
    EXPECT_EQ(chunk.stage, StageId(c % 4));
    EXPECT_EQ(chunk.first_layer, 2 * c);
    EXPECT_EQ(chunk.layers, 2);
    EXPECT_EQ(chunk.recomputed_layers, 0);
    EXPECT_EQ(chunk.embedding, c == 0);
    EXPECT_EQ(chunk.head, c == 11);
  }
}

TEST(PlanChunks, GivenLayersOfChunks) {
  const auto plan = plan_chunks(layered(10, {.pp = 2, .chunks = 2, .stage_layers = {1, 4, 3, 2}}));
  ASSERT_EQ(plan.size(), 4U);
  EXPECT_EQ(plan[1].first_layer, 1);
  EXPECT_EQ(plan[2].first_layer, 5);
  EXPECT_EQ(plan[3].first_layer, 8);
  EXPECT_EQ(plan[3].layers, 2);
  EXPECT_THROW((void)plan_chunks(layered(11, {.pp = 2, .chunks = 2, .stage_layers = {1, 4, 3, 2}})),
               std::invalid_argument);
  EXPECT_THROW((void)plan_chunks(layered(10, {.pp = 2, .stage_layers = {1, 4, 5}})), std::invalid_argument);
  EXPECT_THROW((void)plan_chunks(layered(10, {.pp = 4})), std::invalid_argument);
}

TEST(PlanChunks, RecomputedLayersByKind) {
  auto s = layered(9, {.pp = 2, .stage_layers = {7, 2}});
  const auto recomputed = [&] {
    const auto plan = plan_chunks(s);
    return std::pair(plan[0].recomputed_layers, plan[1].recomputed_layers);
  };
  EXPECT_EQ(recomputed(), std::pair(0, 0));
  s.recompute = {.kind = RecomputeKind::selective};
  EXPECT_EQ(recomputed(), std::pair(0, 0));
  s.recompute = {.kind = RecomputeKind::full};
  EXPECT_EQ(recomputed(), std::pair(7, 2));
  s.recompute = {.kind = RecomputeKind::full, .full_layers = 3};
  EXPECT_EQ(recomputed(), std::pair(3, 2));
  s.recompute = {.kind = RecomputeKind::full, .full_layers = 0};
  EXPECT_EQ(recomputed(), std::pair(0, 0));
}

}  // namespace
