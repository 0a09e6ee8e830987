#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <numeric>

#include "sim/account/report.hpp"
#include "sim/account/walk.hpp"
#include "tests/support/report_step.hpp"
#include "tests/support/sanitized.hpp"

namespace rehearse {
namespace {

using test::HandStep;

double part(const Account& account, Part p) { return account[size_t(p)]; }

Account account_of(HandStep& step) { return account(step.build(), step.timeline); }

double sum(const Account& account) { return std::accumulate(account.begin(), account.end(), 0.0); }

TEST(ReportAccount, KernelsAreBookedByTheirParts) {
  HandStep s;
  const auto u = s.unit(0);
  const auto f = s.program("F", Part::compute, 2);
  s.graph.programs[f].part_s[size_t(Part::compute)] = 1.5;
  s.graph.programs[f].part_s[size_t(Part::exposed_tp)] = 0.5;
  const auto first = s.run(u, f, 0);
  const auto b = s.run(u, s.program("B", Part::recompute, 3), 2, {first});
  s.run(u, s.program("optimizer", Part::optimizer, 1), 5, {b});
  const auto a = account_of(s);
  EXPECT_DOUBLE_EQ(part(a, Part::compute), 1.5);
  EXPECT_DOUBLE_EQ(part(a, Part::exposed_tp), 0.5);
  EXPECT_DOUBLE_EQ(part(a, Part::recompute), 3);
  EXPECT_DOUBLE_EQ(part(a, Part::optimizer), 1);
  EXPECT_DOUBLE_EQ(sum(a), 6);
}

// Two seconds of a measured kernel; half a second of a guessed all-reduce far from every table, exposed; a
// second for which stage 0 waits.
TEST(ReportAccount, SaysWhatItsSecondsRestOn) {
  HandStep s;
  const auto u0 = s.unit(0), u1 = s.unit(1);
  const auto f = s.program("F", Part::compute, 2, Basis::measured);
  const auto t = s.traffic(Axis::dp, "gradients", CollectiveOp::all_reduce, 2, 8, 8);
  s.graph.traffic[t].basis = Basis::fitted, s.graph.traffic[t].outside = true;
  const auto first = s.run(u0, f, 0);
  s.comm({u0}, t, 2, 2.5, {first});
  s.run(u1, s.program("F", Part::compute, 3.5, Basis::datasheet), 0);
  AccountSum sum;
  walk_units(s.build(), s.timeline,
             [&](int32_t u, const UnitBook& book) { sum.add(s.graph.units[u], book); });
  const auto& seconds = sum.rests_on.by_basis;
  EXPECT_DOUBLE_EQ(seconds[size_t(Basis::measured)], 2);
  EXPECT_DOUBLE_EQ(seconds[size_t(Basis::fitted)], 0.5);
  EXPECT_DOUBLE_EQ(seconds[size_t(Basis::datasheet)], 3.5);
  EXPECT_DOUBLE_EQ(seconds[size_t(Basis::guess)], 0);
  EXPECT_DOUBLE_EQ(sum.rests_on.outside, 0.5);
  EXPECT_DOUBLE_EQ(part(sum.mean(3.5), Part::bubble), 0.5);
}

TEST(ReportAccount, ATaskOfAnotherLengthThanItsProgramScalesTheParts) {
  HandStep s;
  const auto f = s.program("F", Part::compute, 2);
  const auto id = s.run(s.unit(0), f, 0, {}, 3);
  s.graph.tasks[id].duration = 3;
  EXPECT_DOUBLE_EQ(part(account_of(s), Part::compute), 3);
}

// Stage 1 waits for stage 0's kernel (bubble), then for the transfer (exposed), then computes.
TEST(ReportAccount, WaitingForAnotherStageIsBubbleUntilTheTransferStarts) {
  HandStep s;
  const auto u0 = s.unit(0), u1 = s.unit(1);
  const auto f = s.program("F", Part::compute, 2);
  const auto t = s.traffic(Axis::pp, "stage forward", CollectiveOp::send_recv, 2, 8, 4);
  const auto f0 = s.run(u0, f, 0);
  const auto sent = s.comm({u0, u1}, t, 2, 2.5, {f0});
  s.run(u1, f, 2.5, {sent});
  const auto a = account_of(s);
  // u1: 2 bubble, 0.5 exposed, 2 compute. u0: 2 compute, 0.5 sending after its last kernel, then 2 for
  // stage 1.
  EXPECT_DOUBLE_EQ(part(a, Part::compute), 2);
  EXPECT_DOUBLE_EQ(part(a, Part::exposed_pp), 0.5);
  EXPECT_DOUBLE_EQ(part(a, Part::bubble), 2);
  EXPECT_DOUBLE_EQ(sum(a), 4.5);
}

// A transfer that waits for the one before it on the same stream: both are the unit's own.
TEST(ReportAccount, TransfersInARowAreExposedFromTheFirstStart) {
  HandStep s;
  const auto u0 = s.unit(0), u1 = s.unit(1);
  const auto f = s.program("F", Part::compute, 1);
  const auto t = s.traffic(Axis::pp, "stage forward", CollectiveOp::send_recv, 2, 8, 4);
  const auto f0 = s.run(u0, f, 0);
  const auto first = s.comm({u0, u1}, t, 1, 2, {f0});
  const auto second = s.comm({u0, u1}, t, 2, 3, {first});
  s.run(u1, f, 3, {second});
  s.run(u0, s.program("F", Part::compute, 3), 1, {f0});
  const auto a = account_of(s);
  EXPECT_DOUBLE_EQ(part(a, Part::exposed_pp), 1);  // (0 + 2) / 2
  EXPECT_DOUBLE_EQ(part(a, Part::bubble), 0.5);    // (0 + 1) / 2
}

TEST(ReportAccount, WaitingForAReplicaIsOverheadAndForItsAllReduceDp) {
  HandStep s;
  const auto u0 = s.unit(0, 0), u1 = s.unit(0, 1);
  const auto t = s.traffic(Axis::dp, "gradients", CollectiveOp::all_reduce, 2, 8, 8);
  const auto fast = s.run(u0, s.program("B", Part::compute, 1), 0);
  const auto slow = s.run(u1, s.program("B", Part::compute, 3), 0);
  const auto reduce = s.comm({u0, u1}, t, 3, 4, {fast, slow});
  const auto step = s.program("optimizer", Part::optimizer, 1);
  s.run(u0, step, 4, {reduce});
  s.run(u1, step, 4, {reduce});
  const auto a = account_of(s);
  EXPECT_DOUBLE_EQ(part(a, Part::compute), 2);
  EXPECT_DOUBLE_EQ(part(a, Part::exposed_dp), 1);
  EXPECT_DOUBLE_EQ(part(a, Part::overhead), 1);  // (2 + 0) / 2
  EXPECT_DOUBLE_EQ(part(a, Part::optimizer), 1);
}

TEST(ReportAccount, ScalarsAreTheOptimizers) {
  HandStep s;
  const auto u = s.unit(0);
  const auto t = s.traffic(Axis::dp, "gradient norm", CollectiveOp::all_reduce, 2, 4, 4, true);
  const auto b = s.run(u, s.program("B", Part::compute, 1), 0);
  const auto norm = s.comm({u}, t, 1, 1.25, {b});
  s.run(u, s.program("optimizer", Part::optimizer, 1), 1.25, {norm});
  const auto a = account_of(s);
  EXPECT_DOUBLE_EQ(part(a, Part::optimizer), 1.25);
  EXPECT_DOUBLE_EQ(part(a, Part::exposed_dp), 0);

  LedgerSum sum(s.graph);  // the optimizer waits for it all the same
  walk_units(s.graph, s.timeline,
             [&](int32_t of, const UnitBook& book) { sum.add(s.graph.units[of], book); });
  ASSERT_EQ(sum.rows().size(), 1U);
  EXPECT_DOUBLE_EQ(sum.rows()[0].busy_s, 0.25);
  EXPECT_DOUBLE_EQ(sum.rows()[0].exposed_s, 0.25);
}

TEST(ReportAccount, TimeIsLinearInTheMicroBatchesOfAnOverlappedStep) {
  HandStep s;
  const auto u = s.unit(0);
  const auto t = s.traffic(Axis::tp, "block forward", CollectiveOp::all_reduce, 2, 8, 8);
  const auto f = s.program("F", Part::compute, 1);
  constexpr int micros = 200'000;
  for (int i = 0; i < micros; ++i) {
    const auto run = s.run(u, f, 2.0 * i, {}, 2.0 * i + 1.5);
    s.graph.tasks[s.comm({u}, t, 2.0 * i, 2.0 * i + 1)].slows = true;
    s.timeline.slowed.push_back({run, 2.0 * i, 2.0 * i + 1});
  }
  const auto began = std::clock();
  const auto a = account_of(s);
  EXPECT_LT(double(std::clock() - began) / CLOCKS_PER_SEC,
            test::kSanitized ? 60 : 5);  // every pair of them: a minute
  EXPECT_NEAR(part(a, Part::exposed_tp), 0.5 * micros, 1e-3);
}

TEST(ReportAccount, AGapThatNothingExplainsIsOverhead) {
  HandStep s;
  const auto u = s.unit(0);
  const auto f = s.program("F", Part::compute, 1);
  const auto first = s.run(u, f, 0.25);
  s.run(u, f, 1.5, {first});
  const auto a = account_of(s);
  EXPECT_DOUBLE_EQ(part(a, Part::overhead), 0.5);
  EXPECT_DOUBLE_EQ(sum(a), 2.5);
}

TEST(ReportAccount, SlowdownGoesToTheAxisOfTheCollectiveBesideIt) {
  HandStep s;
  const auto u = s.unit(0);
  const auto t = s.traffic(Axis::dp, "gradients", CollectiveOp::all_reduce, 2, 8, 8);
  const auto b = s.program("B", Part::compute, 2);
  const auto first = s.run(u, b, 0);
  const auto reduce = s.comm({u}, t, 2, 4, {first});
  s.graph.tasks[reduce].slows = true;
  const auto second = s.run(u, b, 2, {first}, 4.4);
  s.timeline.slowed.push_back({second, 2, 4});
  const auto a = account_of(s);
  EXPECT_DOUBLE_EQ(part(a, Part::compute), 4);
  EXPECT_NEAR(part(a, Part::exposed_dp), 0.4, 1e-15);
  EXPECT_DOUBLE_EQ(sum(a), 4.4);
}

TEST(ReportAccount, UnitsWeighByTheRanksTheyStandFor) {
  HandStep s;
  const auto u0 = s.unit(0, 0, 16, 8), u1 = s.unit(1, 0, 48, 8);
  s.run(u0, s.program("F", Part::compute, 4), 0);
  s.run(u1, s.program("F", Part::compute, 2), 0);
  const auto a = account_of(s);
  EXPECT_DOUBLE_EQ(part(a, Part::compute), 0.25 * 4 + 0.75 * 2);
  EXPECT_DOUBLE_EQ(part(a, Part::bubble), 0.75 * 2);  // stage 1 waits for stage 0 to end the step
}

TEST(ReportAccount, OfDependenciesThatEndTogetherTheLowestIdReleased) {
  HandStep s;
  const auto u0 = s.unit(0), u1 = s.unit(1);
  const auto pp = s.traffic(Axis::pp, "stage forward", CollectiveOp::send_recv, 2, 8, 4);
  const auto dp = s.traffic(Axis::dp, "weights", CollectiveOp::all_gather, 2, 8, 4);
  const auto one = s.comm({u0, u1}, pp, 0, 1);
  const auto other = s.comm({u1}, dp, 0, 1);
  s.run(u1, s.program("F", Part::compute, 1), 1, {one, other});
  s.run(u0, s.program("F", Part::compute, 2), 0);
  const auto a = account_of(s);
  EXPECT_DOUBLE_EQ(part(a, Part::exposed_pp), 0.5);
  EXPECT_DOUBLE_EQ(part(a, Part::exposed_dp), 0);
}

TEST(ReportAccount, OverlappingKernelsOfAUnitAreRefused) {
  HandStep s;
  const auto u = s.unit(0);
  const auto f = s.program("F", Part::compute, 2);
  s.run(u, f, 0);
  s.run(u, f, 1);
  EXPECT_THROW(account_of(s), std::logic_error);
}

TEST(ReportCriticalPath, TellsWhatIsSlowedByWhatRunsBeside) {
  HandStep s;
  const auto u = s.unit(0);
  const auto t = s.traffic(Axis::pp, "stage forward", CollectiveOp::send_recv, 2, 8, 4);
  const auto slowed = s.run(u, s.program("B", Part::compute, 2), 0, {}, 2.4);
  Task flow;
  flow.kind = TaskKind::flow, flow.units = s.units({u}), flow.traffic = t;
  flow.duration = 0.5, flow.amount = 8, flow.rate_cap = 4;
  s.place(flow, 2.4, 6.4, {slowed});  // alone 0.5 + 8 / 4
  const auto path = critical_path(s.build(), s.timeline);
  ASSERT_EQ(path.size(), 2u);
  EXPECT_NEAR(path[0].slowed_s, 1.5, 1e-12);
  EXPECT_NEAR(path[1].slowed_s, 0.4, 1e-12);
}

TEST(ReportCriticalPath, FollowsTheLastDependencyAndSumsToTheStep) {
  HandStep s;
  const auto u0 = s.unit(0), u1 = s.unit(1);
  const auto f = s.program("F", Part::compute, 2);
  const auto t = s.traffic(Axis::pp, "stage forward", CollectiveOp::send_recv, 2, 8, 4);
  const auto f0 = s.action(ActionKind::forward, u0, f, 0, 0, 0.5);
  const auto sent = s.comm({u0, u1}, t, 2.5, 3, {f0});
  s.action(ActionKind::forward, u0, f, 0, 1, 2.5, {f0});
  s.action(ActionKind::forward, u1, f, 1, 0, 3, {sent});
  const auto path = critical_path(s.build(), s.timeline);
  ASSERT_EQ(path.size(), 4u);
  EXPECT_EQ(path[0].what, "forward, stage 0");
  EXPECT_EQ(path[1].what, "forward, stage 1");
  EXPECT_EQ(path[2].what, "pp send_recv, stage forward");
  EXPECT_EQ(path[3].what, "waiting");
  double total = 0;
  for (const auto& step : path) total += step.seconds;
  EXPECT_DOUBLE_EQ(total, 5);
}

}  // namespace
}  // namespace rehearse
