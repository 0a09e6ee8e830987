// Flows on shared links against closed forms and against an independent max-min solver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/engine/engine.hpp"
#include "tests/support/engine_graph.hpp"

namespace rehearse::test {
namespace {

constexpr double kClose = 1e-9;

void expect_close(double value, double expected, const std::string& what = "") {
  EXPECT_NEAR(value, expected, kClose * std::abs(expected)) << what;
}

constexpr double kNic = 25e9;  // B/s
constexpr double kMiB = 1048576;

TEST(Sharing, UncontendedTransferIsLatencyPlusBytesOverBandwidth) {
  GraphBuilder b;
  const int32_t up = b.link(kNic), down = b.link(kNic);
  const int32_t flow = b.flow(b.route({{up, 1}, {down, 1}}), 48 * kMiB, {}, 5e-6);
  const Timeline t = run_simgrid(b.build());
  expect_close(t.end[flow], 5e-6 + 48 * kMiB / kNic);
  EXPECT_EQ(t.engine, "simgrid");
}

// A ring over n ranks: one flow that holds every NIC in both directions, 2 (n - 1) / n of the bytes on each.
int32_t add_ring(GraphBuilder& b, const std::vector<int32_t>& nics, double bytes, double latency) {
  std::vector<std::pair<int32_t, int32_t>> links;
  for (int32_t nic : nics) links.emplace_back(nic, 1);
  const double n = static_cast<double>(nics.size()) / 2;
  return b.flow(b.route(links), 2 * (n - 1) / n * bytes, {}, latency);
}

std::vector<int32_t> add_links(GraphBuilder& b, int count, double capacity = kNic) {
  std::vector<int32_t> ids;
  for (int i = 0; i < count; ++i) ids.push_back(b.link(capacity));
  return ids;
}

TEST(Sharing, UncontendedRingIsItsClosedForm) {
  for (int n : {2, 3, 16, 128}) {
    GraphBuilder b;
    const int32_t ring = add_ring(b, add_links(b, 2 * n), 160e6, 1e-5 * n);
    expect_close(run_simgrid(b.build()).end[ring], 1e-5 * n + 2.0 * (n - 1) / n * 160e6 / kNic);
  }
}

TEST(Sharing, TwoRingsOnOneNicHalve) {  // they meet on one link only and slow as wholes
  GraphBuilder b;
  auto first = add_links(b, 8), second = add_links(b, 8);
  second[3] = first[3];
  const int32_t one = add_ring(b, first, 160e6, 0), two = add_ring(b, second, 160e6, 0);
  const Timeline t = run_simgrid(b.build());
  expect_close(t.end[one], 2 * 1.5 * 160e6 / kNic);
  expect_close(t.end[two], 2 * 1.5 * 160e6 / kNic);
  expect_close(run_ideal(b.build()).end[two], 1.5 * 160e6 / kNic);
}

TEST(Sharing,
     LatencyOfTheRouteDoesNotSkewTheShares) {  // 1 us and 5 us: each half of the link while both are on it
  GraphBuilder b;
  const int32_t nic = b.link(kNic), here = b.link(kNic), there = b.link(kNic);
  const double bytes = 2.5e9;
  const int32_t near = b.flow(b.route({{nic, 1}, {here, 1}}), bytes, {}, 1e-6);
  const int32_t far = b.flow(b.route({{nic, 1}, {there, 1}}), bytes, {}, 5e-6);
  const Timeline t = run_simgrid(b.build());
  // `near` has 4 us alone; then both run at half rate until it is through, and `far` has the same 4 us left
  // at full rate.
  expect_close(t.end[near], 5e-6 + 2 * (bytes - 4e-6 * kNic) / kNic);
  expect_close(t.end[far], 1e-6 + 2 * bytes / kNic);
  EXPECT_NEAR(t.end[near], 0.2, 1e-5);
  EXPECT_NEAR(t.end[far], 0.2, 1e-5);
}

TEST(Sharing, TransferBesideARing) {  // the short transfer takes twice as long, the ring loses what it took
  GraphBuilder b;
  auto nics = add_links(b, 8);
  const int32_t ring = add_ring(b, nics, 1e9, 0);
  const int32_t transfer = b.flow(b.route({{nics[2], 1}, {b.link(kNic), 1}}), 1e8, {b.fixed(0.01)});
  const Timeline t = run_simgrid(b.build());
  expect_close(t.end[transfer], 0.01 + 2e8 / kNic);
  expect_close(t.end[ring], (1.5e9 + 1e8) / kNic);
}

TEST(Sharing, WeightTakesThatManyShares) {  // rates r and r with 2 r + r = capacity
  GraphBuilder b;
  const int32_t nic = b.link(3e9);
  const int32_t twice = b.flow(b.route({{nic, 2}}), 1e9), once = b.flow(b.route({{nic, 1}}), 2e9);
  const Timeline t = run_simgrid(b.build());
  expect_close(t.end[twice], 1);
  expect_close(t.end[once], 1 + 1.0 / 3);
}

TEST(Sharing, CappedFlowLeavesTheRestToOthers) {
  GraphBuilder b;
  const int32_t nic = b.link(4e9), route = b.route({{nic, 1}});
  const int32_t capped = b.flow(route, 1e9, {}, 0, 1e9), open = b.flow(route, 3e9);
  const int32_t two_capped = b.flow(route, 1e9, {b.fixed(2)}, 0, 1e9),
                same = b.flow(route, 1e9, {b.fixed(2)}, 0, 1e9);
  const Timeline t = run_simgrid(b.build());
  expect_close(t.end[capped], 1);
  expect_close(t.end[open], 1);
  expect_close(t.end[two_capped], 3);
  expect_close(t.end[same], 3);
}

TEST(Sharing, SuccessorStartsWhenASharedFlowEnds) {
  GraphBuilder b;
  const int32_t nic = b.link(1e9), route = b.route({{nic, 1}});
  const int32_t first = b.flow(route, 1e9), second = b.flow(route, 2e9);
  const int32_t after = b.fixed(0.5, {first}), last = b.flow(route, 1e9, {after});
  const Timeline t = run_simgrid(b.build());
  expect_close(t.end[first], 2);  // half each
  expect_close(t.end[after], 2.5);
  expect_close(t.end[second], 3.5);  // 0.5 s alone, then half again
  expect_close(t.end[last], 4);
}

TEST(Sharing, FlowThatEndsAsAnotherComesDoesNotShare) {
  GraphBuilder b;
  const int32_t route = b.route({{b.link(1e9), 1}});
  const int32_t late = b.flow(route, 1e9, {}, 1), early = b.flow(route, 1e9);  // `late` has the lower id
  const Timeline t = run_simgrid(b.build());
  EXPECT_EQ(t.end[early], 1);
  EXPECT_EQ(t.end[late], 2);
}

TEST(Sharing, ManyBytesStayExact) {  // more than 2^62 units of 2^-20 byte
  GraphBuilder b;
  const int32_t route = b.route({{b.link(1e9), 1}});
  const int32_t one = b.flow(route, 1e16), two = b.flow(route, 1e16);
  const Timeline t = run_simgrid(b.build());
  expect_close(t.end[one], 2e7);
  expect_close(t.end[two], 2e7);
}

TEST(Sharing, SharedFlowSlowsComputeUntilItReallyEnds) {
  GraphBuilder b;
  const int32_t unit = b.units({b.unit()});
  const int32_t run = b.run(b.program(10, 20), unit, 10);
  const int32_t route = b.route({{b.link(1e9), 1}});
  const int32_t flow = b.flow(route, 2e9), other = b.flow(route, 2e9);
  b.graph.tasks[flow].slows = true;
  b.graph.tasks[flow].units = unit;
  const Timeline t = run_simgrid(b.build());
  expect_close(t.end[other], 4);
  expect_close(t.end[run], 12);
  ASSERT_EQ(t.slowed.size(), 1U);
  expect_close(t.slowed[0].to, 4);
}

TEST(Sharing, CycleIsNamedAfterFlowsHaveShared) {
  GraphBuilder b;
  const int32_t route = b.route({{b.link(1e9), 1}});
  b.flow(route, 1e9);
  const int32_t flow = b.flow(route, 1e9);
  const int32_t stuck = b.fixed(1, {flow});
  b.edge(stuck, stuck);
  try {
    run_simgrid(b.build());
    FAIL() << "a cycle went through";
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(
        e.what(),
        "the task graph cannot progress: 1 tasks are blocked\n  fixed task 2 waits for fixed task 2");
  }
}

// ---- Against a small solver of its own: progressive filling, then the next event, in plain steps.

struct Demand {
  double arrives = 0, bytes = 0, cap = 0;
  std::vector<std::pair<int, int>> links;
};

std::vector<double> max_min_rates(const std::vector<Demand>& demands, const std::vector<bool>& active,
                                  const std::vector<double>& capacity) {
  std::vector<double> rate(demands.size(), 0);
  std::vector<bool> fixed(demands.size());
  for (size_t f = 0; f < demands.size(); ++f) fixed[f] = !active[f];
  auto used = [&](int link, bool only_open) {  // rate given, or weight of those still open
    double sum = 0;
    for (size_t f = 0; f < demands.size(); ++f)
      for (auto [l, w] : demands[f].links)
        if (l == link && active[f] && fixed[f] != only_open) sum += only_open ? w : w * rate[f];
    return sum;
  };
  while (std::find(fixed.begin(), fixed.end(), false) != fixed.end()) {
    double level = std::numeric_limits<double>::infinity();
    std::vector<double> share(capacity.size(), level);
    for (size_t l = 0; l < capacity.size(); ++l) {
      const double weight = used(static_cast<int>(l), true);
      if (weight > 0) share[l] = (capacity[l] - used(static_cast<int>(l), false)) / weight;
      level = std::min(level, share[l]);
    }
    for (size_t f = 0; f < demands.size(); ++f)
      if (!fixed[f] && demands[f].cap > 0) level = std::min(level, demands[f].cap);
    std::vector<size_t> stop;  // at this level: capped, or on a link that is full
    for (size_t f = 0; f < demands.size(); ++f) {
      if (fixed[f]) continue;
      bool full = demands[f].cap > 0 && demands[f].cap <= level * (1 + 1e-12);
      for (auto [l, w] : demands[f].links) full = full || share[l] <= level * (1 + 1e-12);
      if (full) stop.push_back(f);
    }
    for (size_t f : stop) {
      fixed[f] = true;
      rate[f] = level;
    }
  }
  return rate;
}

std::vector<double> fluid_ends(const std::vector<Demand>& demands, const std::vector<double>& capacity) {
  const size_t n = demands.size();
  std::vector<double> left(n), ends(n, -1);
  for (size_t f = 0; f < n; ++f) left[f] = demands[f].bytes;
  double now = 0;
  for (size_t over = 0; over < n;) {
    std::vector<bool> active(n);
    for (size_t f = 0; f < n; ++f) active[f] = ends[f] < 0 && demands[f].arrives <= now;
    const auto rate = max_min_rates(demands, active, capacity);
    double next = std::numeric_limits<double>::infinity();
    for (size_t f = 0; f < n; ++f) {
      if (active[f]) next = std::min(next, now + left[f] / rate[f]);
      if (ends[f] < 0 && demands[f].arrives > now) next = std::min(next, demands[f].arrives);
    }
    for (size_t f = 0; f < n; ++f) {
      if (!active[f]) continue;
      left[f] -= rate[f] * (next - now);
      if (left[f] > 1e-12 * demands[f].bytes) continue;
      ends[f] = next;
      ++over;
    }
    now = next;
  }
  return ends;
}

TEST(Sharing, RandomFlowsMatchTheWaterFillingSolver) {
  std::mt19937_64 random(20240611);
  auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  auto real = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  for (int round = 0; round < 150; ++round) {
    GraphBuilder b;
    std::vector<double> capacity;
    for (int l = pick(1, 8); l > 0; --l) capacity.push_back(1e9 * pick(1, 4));
    for (double c : capacity) b.link(c);
    std::vector<Demand> demands;
    std::vector<int32_t> tasks;
    for (int f = pick(2, 14); f > 0; --f) {
      Demand d;
      d.arrives = pick(0, 2) * 0.1 + (pick(0, 1) == 1 ? real(0, 0.2) : 0);
      d.bytes = 1e8 * pick(1, 9) + pick(0, 1) * real(0, 1e6);
      if (pick(0, 2) == 0) d.cap = real(1e8, 2e9);
      for (int l = 0; l < static_cast<int>(capacity.size()); ++l)
        if (pick(0, 2) == 0) d.links.emplace_back(l, pick(1, 3));
      if (d.links.empty()) d.links.emplace_back(0, 1);
      std::vector<std::pair<int32_t, int32_t>> links(d.links.begin(), d.links.end());
      // Half of the arrival is a task before, half latency.
      tasks.push_back(b.flow(b.route(links), d.bytes, {b.fixed(d.arrives / 2)}, d.arrives / 2, d.cap));
      demands.push_back(d);
    }
    const Timeline t = run_simgrid(b.build());
    const auto ends = fluid_ends(demands, capacity);
    for (size_t f = 0; f < tasks.size(); ++f)
      expect_close(t.end[tasks[f]], ends[f],
                   "round " + std::to_string(round) + ", flow " + std::to_string(f));
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace rehearse::test
