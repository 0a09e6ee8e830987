// Whatever is switched on, each row of the ledger sends what its closed form says: folded, and rank by rank.
#include <gtest/gtest.h>

#include <random>

#include "sim/account/report.hpp"
#include "sim/engine/engine.hpp"
#include "sim/plan/model_math.hpp"
#include "tests/support/lowered.hpp"
#include "tests/support/pick.hpp"
#include "tests/support/scenarios.hpp"

namespace rehearse {
namespace {

using test::pick;

void draw_cut(std::mt19937& random, Scenario& s) {
  auto& l = s.layout;
  l.tp = pick(random, {1, 2, 4});
  l.pp = pick(random, {1, 2, 4});
  l.dp = pick(random, {1, 2, 4});
  // One GPU a node puts TP on wires.
  s.cluster.gpus_per_node = pick(random, {1, 2, 4, 8});
  const int ranks = l.tp * l.pp * l.dp;
  if (ranks < s.cluster.gpus_per_node) s.cluster.gpus_per_node = ranks;
  s.cluster.nodes = ranks / s.cluster.gpus_per_node;
  s.cluster.nics_per_node = pick(random, {1, s.cluster.gpus_per_node});
  s.schedule =
      pick<const char*>(random, {"1f1b", "gpipe", "interleaved", "zb-h1", "zb-v", "dualpipe", "dualpipe-v"});
  if (l.pp == 1) s.schedule = pick<const char*>(random, {"1f1b", "gpipe", "zb-v"});
  const bool two = s.schedule == "interleaved" || s.schedule == "zb-v" || s.schedule.starts_with("dualpipe");
  l.chunks = two ? 2 : 1;
  l.placement = s.schedule == "dualpipe"                             ? Placement::bidirectional
                : s.schedule == "zb-v" || s.schedule == "dualpipe-v" ? Placement::vee
                                                                     : Placement::looped;
  s.model.layers = l.pp * l.chunks * pick(random, {1, 2});
}

// Of 1 byte, of single matrices, of those that a chunk ends with, of all.
Bytes drawn_bucket(std::mt19937& random, const Scenario& s) {
  const double qkv = 3.0 * s.model.hidden * s.model.hidden / s.layout.tp;
  const double ffn = double(s.model.hidden) * s.model.ffn / s.layout.tp;
  const double width = pick(random, {2.0, 4.0});
  return Bytes(
      pick(random, {1.0, qkv * width, qkv / 3 * width, ffn * width, 2 * ffn * width, 1e5, 1e6, 4e6, 1e12}));
}

Scenario drawn(std::mt19937& random) {
  Scenario s = test::small_scenario();
  draw_cut(random, s);
  auto& l = s.layout;
  l.sequence_parallel = l.tp > 1 && pick(random, {true, false});
  l.scatter_gather = l.tp > 1 && l.pp > 1 && !l.sequence_parallel && pick(random, {true, false});
  l.zero = pick(random, {0, 1});
  s.batch.global = l.dp * 2 * l.pp * pick(random, {1, 2});
  s.recompute.kind = pick(random, {RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full});
  s.overlap = {pick(random, {true, false}), l.zero > 0 && pick(random, {true, false}),
               pick(random, {true, false}), pick(random, {true, false})};
  s.model.tied_embeddings = pick(random, {true, false});
  s.grad_bucket = drawn_bucket(random, s);
  return s;
}

std::string told(const Scenario& s) {
  const auto& l = s.layout;
  return s.schedule + " tp " + std::to_string(l.tp) + " pp " + std::to_string(l.pp) + " dp " +
         std::to_string(l.dp) + " gpus a node " + std::to_string(s.cluster.gpus_per_node) + " zero " +
         std::to_string(l.zero) + " gather " + std::to_string(s.overlap.param_gather) + " overlap " +
         std::to_string(s.overlap.grad_reduce) + " tied " + std::to_string(s.model.tied_embeddings) +
         " bucket " + std::to_string(s.grad_bucket.value) + " layers " + std::to_string(s.model.layers) +
         " sp " + std::to_string(l.sequence_parallel) + " recompute " + std::to_string(int(s.recompute.kind));
}

TEST(LedgerForms, EveryRowSendsWhatItsClosedFormSays) {
  std::mt19937 random(20261201);
  int on_wires = 0, gathered = 0;
  for (int i = 0; i < 300; ++i) {
    const Scenario s = drawn(random);
    on_wires += s.layout.tp > s.cluster.gpus_per_node;
    gathered += s.overlap.param_gather;
    for (const bool fold : {true, false}) {
      const auto graph = test::lowered(s, fold);
      for (const auto& row : ledger(s, graph, run_ideal(graph))) {
        ASSERT_GT(row.closed_form_bytes_per_rank, 0) << row.what << ": " << told(s);
        ASSERT_NEAR(row.bytes_sent_per_rank / row.closed_form_bytes_per_rank, 1, 1e-9)
            << row.what << " fold " << fold << ": " << told(s);
      }
    }
  }
  EXPECT_GT(on_wires, 40);
  EXPECT_GT(gathered, 40);
}

}  // namespace
}  // namespace rehearse
