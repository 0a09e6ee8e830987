// What a lowered step communicates, counted task by task, against the textbook: Shoeybi et al. 2019 (4
// all-reduces per layer and micro-batch, 6 with full recompute), Korthikanti et al. 2022 (all-gathers and
// reduce-scatters of sequence parallelism), ring all-reduce 2(N-1)/N x P, two transfers per boundary and
// micro-batch.
#include <gtest/gtest.h>

#include <map>

#include "sim/graph/lower.hpp"
#include "sim/plan/model_math.hpp"
#include "tests/support/lowered.hpp"
#include "tests/support/scenarios.hpp"

namespace rehearse {
namespace {

struct Counted {
  int calls = 0;
  double sent = 0, bytes_per_call = 0;
};
using Counts = std::map<std::pair<std::string, CollectiveOp>, Counted>;

void count(Counts& counts, const Traffic& traffic) {
  auto& c = counts[{traffic.what, traffic.op}];
  ++c.calls;
  c.sent += traffic.bytes_sent;
  c.bytes_per_call = traffic.bytes_per_call;
}

// Calls that the first rank of unit `unit` takes part in.
Counts counts_of(const TaskGraph& graph, int unit) {
  Counts counts;
  for (const auto& task : graph.tasks) {
    const auto& units = graph.unit_sets[task.units];
    if (std::find(units.begin(), units.end(), unit) == units.end() || task.slice > 0) continue;
    if (task.traffic >= 0) count(counts, graph.traffic[task.traffic]);
    if (task.program >= 0)
      for (const auto& op : graph.programs[task.program].ops)
        if (op.traffic >= 0) count(counts, graph.traffic[op.traffic]);
  }
  return counts;
}

Scenario tp4_pp2_dp2() {
  Scenario s = test::small_scenario();
  s.layout.tp = 4, s.layout.pp = 2, s.layout.dp = 2;
  s.cluster.nodes = 2;
  return s;
}

class Recomputed : public ::testing::TestWithParam<std::tuple<RecomputeKind, bool, bool>> {};

TEST_P(Recomputed, TensorCollectivesPerLayerAndMicroBatch) {
  const auto [recompute, sequence_parallel, overlap] = GetParam();
  Scenario s = tp4_pp2_dp2();
  s.recompute.kind = recompute;
  s.layout.sequence_parallel = sequence_parallel;
  s.overlap.tp = overlap;
  const auto counts = counts_of(test::lowered(s), 0);
  const int calls = s.micro_batches() * s.model.layers / s.layout.pp;
  const auto expect = [&](const char* what, CollectiveOp op, int per_layer) {
    const auto found = counts.find({what, op});
    EXPECT_EQ(found == counts.end() ? 0 : found->second.calls, per_layer * calls) << what << ' ' << int(op);
    if (found != counts.end()) {
      EXPECT_DOUBLE_EQ(found->second.bytes_per_call, 256.0 * 1 * 512 * 2);
    }
  };
  const bool full = recompute == RecomputeKind::full;
  const auto reduce = sequence_parallel ? CollectiveOp::reduce_scatter : CollectiveOp::all_reduce;
  expect("block forward", reduce, 2);
  expect("block backward", reduce, 2);
  expect("block recompute", reduce, full ? 2 : 0);
  expect("block forward", CollectiveOp::all_gather, sequence_parallel ? 2 : 0);
  expect("block backward", CollectiveOp::all_gather, sequence_parallel ? 4 : 0);
  expect("block recompute", CollectiveOp::all_gather, full && sequence_parallel ? 2 : 0);
}

INSTANTIATE_TEST_SUITE_P(All, Recomputed,
                         ::testing::Combine(::testing::Values(RecomputeKind::none, RecomputeKind::selective,
                                                              RecomputeKind::full),
                                            ::testing::Bool(), ::testing::Bool()));

TEST(Lowering, GradientBytesAreTheRingClosedForm) {
  for (const bool overlap : {false, true})
    for (const int zero : {0, 1})
      for (const double bucket : {1e5, 1e6, 1e9}) {
        Scenario s = tp4_pp2_dp2();
        s.overlap.grad_reduce = overlap;
        s.layout.zero = zero;
        s.grad_bucket = Bytes(bucket);
        const TaskGraph graph = test::lowered(s, false);
        for (size_t u = 0; u < graph.units.size(); ++u) {
          double parameters = 0;
          for (const auto& chunk : plan_chunks(s))
            if (chunk.stage.value == graph.units[u].pp) parameters += chunk_parameters(s, chunk).total();
          const auto counts = counts_of(graph, int(u));
          const double n = s.layout.dp;
          const double expected = (zero ? 1 : 2) * (n - 1) / n * parameters * 4;
          double sent = 0;
          for (const auto& [key, c] : counts)
            if (key.first == "gradients") sent += c.sent;
          EXPECT_NEAR(sent / expected, 1, 1e-12) << overlap << zero << bucket;
        }
      }
}

// Also where a tensor collective on the wire stands after the last weights.
TEST(Lowering, WeightBytesAreTheRingClosedForm) {
  for (const bool overlap : {false, true})
    for (const int gpus_per_node : {2, 8})
      for (const int pp : {1, 2}) {
        Scenario s = tp4_pp2_dp2();
        s.layout.pp = pp;
        s.cluster.gpus_per_node = s.cluster.nics_per_node = gpus_per_node;
        s.cluster.nodes = 8 * pp / gpus_per_node;
        s.layout.zero = 1;
        s.overlap.param_gather = overlap;
        const TaskGraph graph = test::lowered(s, false);
        for (size_t u = 0; u < graph.units.size(); ++u) {
          double parameters = 0, sent = 0;
          for (const auto& chunk : plan_chunks(s))
            if (chunk.stage.value == graph.units[u].pp) parameters += chunk_parameters(s, chunk).total();
          for (const auto& [key, c] : counts_of(graph, int(u)))
            if (key.first == "weights") sent += c.sent;
          EXPECT_NEAR(sent / (parameters * 2 / 2), 1, 1e-12) << overlap << ' ' << gpus_per_node << ' ' << pp;
        }
      }
}

TEST(Lowering, TransfersPerBoundary) {
  for (const int chunks : {1, 2}) {
    Scenario s = tp4_pp2_dp2();
    s.layout.pp = 4, s.layout.dp = 1, s.layout.chunks = chunks;
    s.schedule = chunks > 1 ? "interleaved" : "1f1b";
    const TaskGraph graph = test::lowered(s);
    int transfers = 0;
    for (const auto& task : graph.tasks) transfers += task.stream == Stream::pp_send;
    EXPECT_EQ(transfers, 2 * s.micro_batches() * (4 * chunks - 1));
  }
}

TEST(Lowering, PartsOfAProgramSumToItsDuration) {
  Scenario s = tp4_pp2_dp2();
  s.overlap.tp = true;
  s.layout.sequence_parallel = true;
  for (const auto& program : test::lowered(s).programs) {
    double sum = 0;
    for (double part : program.part_s) sum += part;
    EXPECT_NEAR(sum / program.duration, 1, 1e-12) << program.name;
    EXPECT_GE(program.slowed_duration, program.duration);
  }
}

TEST(Lowering, TensorGroupsAcrossNodesPutTheirCollectivesOnTheWire) {
  Scenario s = test::small_scenario();
  s.layout.tp = 8;
  s.cluster.gpus_per_node = 4, s.cluster.nics_per_node = 4, s.cluster.nodes = 2;
  const TaskGraph graph = test::lowered(s);
  int flows = 0;
  for (const auto& task : graph.tasks) flows += task.kind == TaskKind::flow && task.stream == Stream::tp;
  // 4 per layer and micro-batch; embedding, head's input gradient and 3 of the loss once a micro-batch.
  EXPECT_EQ(flows, s.micro_batches() * (4 * s.model.layers + 5));
}

// TP 4 on nodes of 6 GPUs: the second of three TP groups lies across both nodes, the others inside one.
TEST(Lowering, EachTensorGroupIsPricedAsItLies) {
  Scenario s = test::small_scenario();
  s.layout.tp = 4, s.layout.dp = 3;
  s.batch.global = 6;
  s.cluster.nodes = 2;
  s.cluster.gpus_per_node = s.cluster.nics_per_node = 6;
  const int calls = s.micro_batches() * (4 * s.model.layers + 5);
  for (bool fold : {false, true}) {
    const auto graph = test::lowered(s, fold);
    for (int u = 0; u < int(graph.units.size()); ++u) {
      const auto& ranks = graph.units[u].ranks;
      int inside = 0, on_wire = 0;
      for (const auto& task : graph.tasks) {
        if (graph.unit_sets[task.units] != std::vector<int32_t>{u}) continue;
        on_wire += task.kind == TaskKind::flow && task.stream == Stream::tp;
        if (task.program < 0) continue;
        for (const auto& op : graph.programs[task.program].ops) inside += op.stream == Stream::tp;
      }
      const bool across = ranks.front().value / 6 != ranks.back().value / 6;
      EXPECT_EQ(on_wire, across ? calls : 0) << "unit " << u << ", fold " << fold;
      EXPECT_EQ(inside, across ? 0 : calls) << "unit " << u << ", fold " << fold;
    }
  }
}

}  // namespace
}  // namespace rehearse
