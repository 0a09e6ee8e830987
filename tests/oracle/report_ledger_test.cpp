// The ledger summed from tasks against closed forms that never look at a task.
#include <gtest/gtest.h>

#include "sim/account/report.hpp"
#include "sim/engine/engine.hpp"
#include "sim/graph/lower.hpp"
#include "sim/plan/model_math.hpp"
#include "tests/support/lowered.hpp"
#include "tests/support/scenarios.hpp"

namespace rehearse {
namespace {

std::vector<LedgerRow> ledger_of(const Scenario& s, bool fold = true) {
  const auto graph = test::lowered(s, fold);
  return ledger(s, graph, run_ideal(graph));
}

const LedgerRow* find(const std::vector<LedgerRow>& rows, Axis axis, const std::string& what,
                      CollectiveOp op) {
  for (const auto& row : rows)
    if (row.axis == axis && row.what == what && row.collective == op) return &row;
  return nullptr;
}

Scenario layout(int tp, int pp, int dp, int chunks = 1) {
  Scenario s = test::small_scenario();
  s.layout.tp = tp, s.layout.pp = pp, s.layout.dp = dp, s.layout.chunks = chunks;
  s.cluster.nodes = std::max(1, tp * pp * dp / s.cluster.gpus_per_node);
  if (chunks > 1) s.schedule = "interleaved";
  return s;
}

void expect_closed_forms(const Scenario& s, bool fold) {
  const auto rows = ledger_of(s, fold);
  ASSERT_FALSE(rows.empty());
  for (const auto& row : rows) {
    EXPECT_GT(row.closed_form_bytes_per_rank, 0) << row.what;
    EXPECT_NEAR(row.bytes_sent_per_rank / row.closed_form_bytes_per_rank, 1, 1e-9)
        << row.what << ' ' << int(row.collective) << " fold " << fold;
  }
}

struct Case {
  int tp, pp, dp, chunks;
  bool sequence_parallel, scatter_gather, tied;
  int zero;
  RecomputeKind recompute;
};
class LedgerOracle : public ::testing::TestWithParam<Case> {};

TEST_P(LedgerOracle, BytesSentEqualTheClosedForms) {
  const Case& c = GetParam();
  Scenario s = layout(c.tp, c.pp, c.dp, c.chunks);
  s.layout.sequence_parallel = c.sequence_parallel;
  s.layout.scatter_gather = c.scatter_gather;
  s.layout.zero = c.zero;
  s.model.tied_embeddings = c.tied;
  s.recompute.kind = c.recompute;
  expect_closed_forms(s, true);
  expect_closed_forms(s, false);
}

INSTANTIATE_TEST_SUITE_P(Layouts, LedgerOracle,
                         ::testing::Values(Case{4, 2, 2, 1, false, false, true, 0, RecomputeKind::full},
                                           Case{4, 2, 2, 1, true, false, true, 1, RecomputeKind::full},
                                           Case{2, 4, 2, 1, false, true, true, 0, RecomputeKind::none},
                                           Case{2, 2, 4, 2, false, false, false, 1, RecomputeKind::selective},
                                           Case{16, 1, 1, 1, false, false, true, 0, RecomputeKind::full},
                                           Case{1, 1, 8, 1, false, false, true, 0, RecomputeKind::none},
                                           Case{1, 8, 1, 1, false, false, true, 0, RecomputeKind::full}));

TEST(Ledger, TensorCallsPerLayerAndMicroBatch) {
  Scenario s = layout(4, 2, 2);
  s.recompute.kind = RecomputeKind::full;
  const auto rows = ledger_of(s);
  const double per = double(s.micro_batches()) * s.model.layers / s.layout.pp;
  double calls = 0;
  for (const char* what : {"block forward", "block recompute", "block backward"}) {
    const auto* row = find(rows, Axis::tp, what, CollectiveOp::all_reduce);
    ASSERT_TRUE(row) << what;
    EXPECT_DOUBLE_EQ(row->calls_per_step, 2 * per) << what;
    EXPECT_DOUBLE_EQ(row->bytes_per_call, 256.0 * 512 * 2);
    EXPECT_EQ(row->group_size, 4);
    EXPECT_EQ(row->ranks, 16);
    calls += row->calls_per_step;
  }
  EXPECT_DOUBLE_EQ(calls, 6 * per);
}

TEST(Ledger, GradientsAreOneRowWhateverTheirBuckets) {
  Scenario s = layout(1, 1, 8);
  const auto rows = ledger_of(s);
  const auto* row = find(rows, Axis::dp, "gradients", CollectiveOp::all_reduce);
  ASSERT_TRUE(row);
  const double parameters = total_parameters(s.model, padded_vocab(s.model, 1));
  EXPECT_GT(row->calls_per_step, 1);
  EXPECT_NEAR(row->bytes_sent_per_rank, 2.0 * 7 / 8 * parameters * 4, 1);
  EXPECT_NEAR(row->calls_per_step * row->bytes_per_call, parameters * 4, 1);
  EXPECT_DOUBLE_EQ(row->memory_factor, 1);
}

TEST(Ledger, ATransferCountsOnceAtItsSender) {
  const Scenario s = layout(1, 8, 1);
  const auto rows = ledger_of(s);
  const auto* row = find(rows, Axis::pp, "stage forward", CollectiveOp::send_recv);
  ASSERT_TRUE(row);
  EXPECT_EQ(row->ranks, 8);
  EXPECT_DOUBLE_EQ(row->calls_per_step, 7.0 / 8 * s.micro_batches());
  EXPECT_DOUBLE_EQ(row->bytes_sent_per_rank, row->calls_per_step * row->bytes_per_call);
}

TEST(Ledger, AlteredBytesOfOneTaskShow) {
  const Scenario s = layout(4, 2, 2);
  auto graph = test::lowered(s);
  const auto timeline = run_ideal(graph);
  for (auto& task : graph.tasks)
    if (task.kind != TaskKind::run && task.traffic >= 0 &&
        graph.traffic[task.traffic].what == "stage forward") {
      Traffic altered = graph.traffic[task.traffic];
      altered.bytes_sent *= 1.01;
      task.traffic = int32_t(graph.traffic.size());
      graph.traffic.push_back(altered);
      break;
    }
  const auto rows = ledger(s, graph, timeline);
  const auto* row = find(rows, Axis::pp, "stage forward", CollectiveOp::send_recv);
  ASSERT_TRUE(row);
  EXPECT_GT(row->bytes_sent_per_rank / row->closed_form_bytes_per_rank - 1, 1e-5);
}

TEST(Ledger, ExposedTimesAreThoseOfTheAccount) {
  for (bool overlap : {false, true}) {
    Scenario s = layout(4, 2, 4);
    s.overlap.tp = overlap;
    const auto graph = test::lowered(s);
    const auto timeline = run_ideal(graph);
    const auto parts = account(graph, timeline);
    double by_axis[kAxes] = {};
    for (const auto& row : ledger(s, graph, timeline)) {
      if (row.what != "gradient norm")  // the account books the wait for it to the optimizer
        by_axis[size_t(row.axis)] += row.exposed_s * row.ranks / graph.ranks;
      EXPECT_LE(row.exposed_s, row.busy_s * (1 + 1e-9) + 1e-12) << row.what;
    }
    for (Axis axis : {Axis::tp, Axis::pp})
      EXPECT_NEAR(by_axis[size_t(axis)], parts[size_t(exposed_part(axis))], 1e-9 * timeline.step)
          << int(axis);
    EXPECT_GT(by_axis[size_t(Axis::tp)], 0);
    EXPECT_GT(by_axis[size_t(Axis::pp)], 0);
    EXPECT_NEAR(by_axis[size_t(Axis::dp)], parts[size_t(Part::exposed_dp)], 1e-9 * timeline.step);
  }
}

}  // namespace
}  // namespace rehearse
