// A step as calls of ranks: everything the graph holds is run once, and ranks that run their lists one call
// after the other never wait in a circle.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "calibration/plan/needs.hpp"
#include "calibration/verify/steps.hpp"
#include "calibration/verify/verify.hpp"
#include "sim/graph/csr.hpp"
#include "sim/graph/lower.hpp"
#include "tests/support/scenarios.hpp"

namespace rehearse::calibration {
namespace {

using Kind = RankCall::Kind;

struct Case {
  const char* name;
  int tp, pp, dp, chunks;
  bool sequence_parallel;
  const char* schedule;
};

Scenario scenario_of(const Case& c) {
  Scenario s = rehearse::test::small_scenario();
  s.layout.tp = c.tp, s.layout.pp = c.pp, s.layout.dp = c.dp, s.layout.chunks = c.chunks;
  s.layout.sequence_parallel = c.sequence_parallel;
  s.schedule = c.schedule;
  return s;
}

// Starts in the order of a longest path with every task taking its own time.
std::vector<double> starts_of(const TaskGraph& graph) {
  std::vector<double> start(graph.tasks.size());
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t e = 0; e < boost::num_vertices(edges_of(graph)); ++e)
      for (auto [at, end] = boost::out_edges(e, edges_of(graph)); at != end; ++at) {
        const double earliest = start[e] + graph.tasks[e].duration;
        double& there = start[boost::target(*at, edges_of(graph))];
        if (there < earliest) there = earliest, moved = true;
      }
  }
  return start;
}

struct Job {
  Scenario scenario;
  TaskGraph graph;
  std::vector<std::vector<RankCall>> calls;
};
Job job_of(const Case& c) {
  Job job{scenario_of(c), {}, {}};
  const PipelineShape shape{job.scenario.layout.pp, job.scenario.micro_batches(), job.scenario.layout.chunks};
  job.graph = lower(job.scenario, build_schedule(job.scenario.schedule, shape), {.fold = false});
  const auto start = starts_of(job.graph);
  for (int r = 0; r < job.graph.ranks; ++r) job.calls.push_back(calls_of(job.scenario, job.graph, start, r));
  return job;
}

class Calls : public testing::TestWithParam<Case> {};

TEST_P(Calls, HoldEveryKernelOfEveryRankOnce) {
  const Job job = job_of(GetParam());
  std::map<std::tuple<int, int, int>, int> seen;
  for (int r = 0; r < job.graph.ranks; ++r)
    for (const auto& call : job.calls[size_t(r)])
      if (call.op >= 0) ++seen[{call.task, call.op, r}];
  size_t expected = 0;
  for (size_t t = 0; t < job.graph.tasks.size(); ++t) {
    const Task& task = job.graph.tasks[t];
    if (task.program < 0) continue;
    const auto& ops = job.graph.programs[size_t(task.program)].ops;
    for (size_t i = 0; i < ops.size(); ++i) {
      if (ops[i].kind == OpKind::gap) continue;
      for (RankId r : job.graph.units[size_t(job.graph.unit_sets[size_t(task.units)][0])].ranks) {
        EXPECT_EQ((seen[{int(t), int(i), r.value}]), 1);
        ++expected;
      }
    }
  }
  EXPECT_EQ(seen.size(), expected);
}

// Sends need no partner to go on; collectives wait for all members, a call for the receives it comes after.
TEST_P(Calls, RunToTheirEndInOrder) {
  const Job job = job_of(GetParam());
  std::vector<size_t> at(job.calls.size());
  std::map<std::tuple<int, int, int>, int> sent;  // (task, from, to)
  const auto arrived = [&](int rank, const RankCall& call) {
    return sent.count({call.task, call.peer, rank}) > 0;
  };
  const auto can_go = [&](int rank) {
    const auto& list = job.calls[size_t(rank)];
    const RankCall& call = list[at[size_t(rank)]];
    for (int before : call.after) {
      EXPECT_LT(before, int(at[size_t(rank)]));
      if (list[size_t(before)].kind == Kind::receive && !arrived(rank, list[size_t(before)])) return false;
    }
    if (call.kind != Kind::collective) return true;
    return std::all_of(call.members.begin(), call.members.end(), [&](int member) {
      const auto& theirs = job.calls[size_t(member)];
      const size_t i = at[size_t(member)];
      return i < theirs.size() && theirs[i].task == call.task && theirs[i].op == call.op;
    });
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (int r = 0; r < job.graph.ranks; ++r) {
      if (at[size_t(r)] == job.calls[size_t(r)].size() || !can_go(r)) continue;
      const RankCall& call = job.calls[size_t(r)][at[size_t(r)]];
      moved = true;
      if (call.kind == Kind::send) ++sent[{call.task, r, call.peer}];
      if (call.kind == Kind::collective)
        for (int member : call.members) ++at[size_t(member)];
      else
        ++at[size_t(r)];
    }
  }
  for (int r = 0; r < job.graph.ranks; ++r)
    EXPECT_EQ(at[size_t(r)], job.calls[size_t(r)].size()) << "rank " << r << " is blocked";
}

TEST_P(Calls, OfCollectivesHaveTheGroupTheyArePricedFor) {
  const Job job = job_of(GetParam());
  for (const auto& list : job.calls)
    for (const auto& call : list) {
      if (call.kind != Kind::collective) continue;
      EXPECT_EQ(std::get<CollectiveCall>(call.work).group.size, int(call.members.size()));
    }
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, Calls,
    testing::Values(Case{"dp", 1, 1, 2, 1, false, "1f1b"}, Case{"tp", 2, 1, 1, 1, false, "1f1b"},
                    Case{"tp_sp", 2, 1, 1, 1, true, "1f1b"}, Case{"pp", 1, 2, 1, 1, false, "1f1b"},
                    Case{"gpipe", 1, 4, 1, 1, false, "gpipe"},
                    Case{"chunks", 1, 2, 1, 2, false, "interleaved"}, Case{"all", 2, 2, 2, 1, true, "1f1b"}),
    [](const auto& param) { return param.param.name; });

TEST(Account, PartsSumToTheStepAndGapsGoToWhatRan) {
  const Job job = job_of({"dp", 1, 1, 2, 1, false, "1f1b"});
  const auto& calls = job.calls[0];
  std::vector<Span> spans;
  double now = 0;
  for (size_t i = 0; i < calls.size(); ++i) {
    now += 0.25;  // nothing runs
    spans.push_back({now, now + 1});
    now += 1;
  }
  const double step = now + 0.5;
  std::map<std::string, double> parts;
  double sum = 0;
  for (const auto& [part, seconds] : account_of(job.graph, calls, spans, step))
    parts[part] = seconds, sum += seconds;
  EXPECT_NEAR(sum, step, 1e-9);
  EXPECT_NEAR(parts["overhead"], 0.25 * double(calls.size()) + 0.5, 1e-9);
  EXPECT_GT(parts["exposed_dp"], 0.9);
  EXPECT_GT(parts["optimizer"], 1.9);  // gradient norm and Adam
}

TEST(Needs, SumToTheWorkOfTheStepAndNameTheGroups) {
  Scenario s = scenario_of({"all", 2, 2, 2, 1, false, "1f1b"});
  const PipelineShape shape{2, s.micro_batches(), 1};
  const auto folded = lower(s, build_schedule("1f1b", shape)),
             whole = lower(s, build_schedule("1f1b", shape), {.fold = false});
  const auto a = needs_of(s, folded), b = needs_of(s, whole);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    const auto same = std::find_if(b.begin(), b.end(), [&](const Need& n) { return n.work == a[i].work; });
    ASSERT_NE(same, b.end()) << point_of(a[i].work);
    EXPECT_NEAR(a[i].calls, same->calls, 1e-9) << point_of(a[i].work);
    if (const auto* call = std::get_if<CollectiveCall>(&a[i].work);
        call && call->op != CollectiveOp::send_recv) {
      EXPECT_TRUE(call->group.size == 2 || call->group.size == 8) << point_of(a[i].work);
      if (call->group.size == 8) {
        EXPECT_FALSE(call->group.concurrent);
      }
    }
  }
  EXPECT_TRUE(std::any_of(a.begin(), a.end(), [](const Need& n) {
    const auto* call = std::get_if<CollectiveCall>(&n.work);
    return call && call->op == CollectiveOp::send_recv && call->group.stride == 2;
  }));
}

// Where tensor and data parallel groups are of one size, as large as each other's messages may be.
TEST(Needs, WhatRunsBesideTheBackwardIsTheGradients) {
  Scenario s = scenario_of({"all", 2, 2, 2, 1, false, "1f1b"});
  s.overlap.grad_reduce = true;
  s.grad_bucket = Bytes(1);
  const auto graph = lower(s, build_schedule("1f1b", {2, s.micro_batches(), 1}));
  std::set<std::string> reductions;
  for (const auto& traffic : graph.traffic)
    if (traffic.what == "gradients") reductions.insert(point_of(collective_of(s, traffic)));
  ASSERT_FALSE(reductions.empty());
  int overlaps = 0;
  for (const auto& need : needs_of(s, graph))
    if (const auto* both = std::get_if<OverlapCall>(&need.work)) {
      ++overlaps;
      EXPECT_TRUE(reductions.count(point_of(both->collective))) << point_of(both->collective);
    }
  EXPECT_EQ(overlaps, 1);
}

}  // namespace
}  // namespace rehearse::calibration
