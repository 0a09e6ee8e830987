// What holds for every task graph, on random ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/graph/csr.hpp"
#include "tests/support/engine_graph.hpp"

namespace rehearse::test {
namespace {

struct Options {
  int tasks = 120;
  bool shared_links = false;  // flows pick any links; else each flow has links of its own
  bool slow = true;
};

// Tasks of all kinds over four units; edges only forward, durations often equal so that ties are common.
class RandomGraph {
 public:
  RandomGraph(uint64_t seed, const Options& options) : random_(seed), options_(options) {
    for (int u = 0; u < 4; ++u) units_.push_back(b.units({b.unit()}));
    for (int l = 0; l < 6; ++l) b.link(1e9 * pick(1, 3));
    for (double slowed : {1.0, 1.5, 2.0}) programs_.push_back(b.program(1, slowed));
    for (int t = 0; t < options.tasks; ++t) add(t);
    b.build();
  }
  GraphBuilder b;

 private:
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  double duration() { return pick(0, 3) * 0.5 + (pick(0, 2) == 0 ? pick(0, 1000) * 1e-3 : 0); }

  void add(int t) {
    const int kind = pick(0, 3);
    int32_t id = 0;
    if (kind == 0) {
      id = b.fixed(duration());
    } else if (kind == 1) {
      id = b.run(programs_[pick(0, 2)], units_[pick(0, 3)], duration());
    } else {
      id = b.flow(route(), 1e8 * pick(0, 9), {}, duration() * 0.1, pick(0, 3) == 0 ? 4e8 : 0);
    }
    Task& task = b.graph.tasks[id];
    if (kind != 1) task.units = units_[pick(0, 3)];
    task.slows = options_.slow && kind != 1 && pick(0, 2) == 0;
    for (int e = pick(0, 3); e > 0 && t > 0; --e) b.edge(pick(std::max(0, t - 20), t - 1), id);
  }

  int32_t route() {
    std::vector<std::pair<int32_t, int32_t>> links;
    if (!options_.shared_links) {
      links = {{b.link(1e9), 1}, {b.link(5e8 * pick(1, 3)), pick(1, 2)}};
    } else {
      for (int l = 0; l < 6; ++l)
        if (pick(0, 2) == 0) links.emplace_back(l, pick(1, 2));
    }
    return b.route(links);
  }

  std::mt19937_64 random_;
  Options options_;
  std::vector<int32_t> units_, programs_;
};

bool same_bytes(const Timeline& a, const Timeline& b) {
  auto same_stretch = [](const SlowStretch& x, const SlowStretch& y) {
    return x.task == y.task && x.from == y.from && x.to == y.to;
  };
  return a.start == b.start && a.end == b.end && a.step == b.step && a.events == b.events &&
         a.flows == b.flows && a.link_flows == b.link_flows && a.slowed.size() == b.slowed.size() &&
         std::equal(a.slowed.begin(), a.slowed.end(), b.slowed.begin(), same_stretch);
}

TEST(EngineProperty, WithoutSharingSimgridIsIdealToTheLastBit) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const RandomGraph g(seed, {});
    const Timeline ideal = run_ideal(g.b.graph), simgrid = run_simgrid(g.b.graph);
    ASSERT_EQ(ideal.start, simgrid.start) << "seed " << seed;
    ASSERT_EQ(ideal.end, simgrid.end) << "seed " << seed;
    ASSERT_EQ(ideal.slowed.size(), simgrid.slowed.size()) << "seed " << seed;
    EXPECT_EQ(ideal.step, *std::max_element(ideal.end.begin(), ideal.end.end()));
  }
}

TEST(EngineProperty, SameGraphSameBytes) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const RandomGraph g(seed, {.tasks = 200, .shared_links = true});
    const Timeline first = run_simgrid(g.b.graph);
    run_simgrid(RandomGraph(seed + 1000, {.tasks = 50, .shared_links = true}).b.graph);
    EXPECT_TRUE(same_bytes(first, run_simgrid(g.b.graph))) << "seed " << seed;
    EXPECT_TRUE(same_bytes(run_ideal(g.b.graph), run_ideal(g.b.graph))) << "seed " << seed;
  }
}

TEST(EngineProperty, EveryTaskStartsAsItsLastPredecessorEndsAndSharingNeverHurries) {
  int slower_for_sharing = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const RandomGraph g(seed, {.tasks = 150, .shared_links = true, .slow = false});
    const TaskGraph& graph = g.b.graph;
    const Timeline shared = run_simgrid(graph), ideal = run_ideal(graph);
    std::vector<double> ready(graph.tasks.size(), 0);
    for (size_t t = 0; t < graph.tasks.size(); ++t)
      for (auto [it, last] = adjacent_vertices(t, edges_of(graph)); it != last; ++it)
        ready[*it] = std::max(ready[*it], shared.end[t]);
    EXPECT_EQ(ready, shared.start) << "seed " << seed;
    for (size_t t = 0; t < graph.tasks.size(); ++t) {
      const double alone = ideal.end[t] - ideal.start[t], took = shared.end[t] - shared.start[t];
      EXPECT_GE(took, alone - 1e-9) << "seed " << seed << ", task " << t;
      if (graph.tasks[t].kind != TaskKind::flow) {
        EXPECT_NEAR(took, alone, 1e-12);
      }
      slower_for_sharing += took > alone + 1e-6 ? 1 : 0;
    }
  }
  EXPECT_GT(slower_for_sharing, 500);  // the graphs do share
}

TEST(EngineProperty, SlowStretchesLieWithinTheirRunAndAccountForItsLength) {
  int stretches = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const RandomGraph g(seed, {.tasks = 150, .shared_links = seed % 4 == 0});
    const Timeline t = run_simgrid(g.b.graph);
    std::vector<double> slowed(t.start.size(), 0);
    for (size_t s = 0; s < t.slowed.size(); ++s) {
      const SlowStretch& stretch = t.slowed[s];
      slowed[stretch.task] += stretch.to - stretch.from;
      EXPECT_LT(stretch.from, stretch.to);
      EXPECT_GE(stretch.from, t.start[stretch.task]);
      EXPECT_LE(stretch.to, t.end[stretch.task]);
      if (s > 0 && t.slowed[s - 1].task == stretch.task) {
        EXPECT_LT(t.slowed[s - 1].to, stretch.from);
      }
      ++stretches;
    }
    for (size_t i = 0; i < t.start.size(); ++i) {
      const Task& task = g.b.graph.tasks[i];
      if (task.kind != TaskKind::run) continue;
      const Program& program = g.b.graph.programs[task.program];
      const double work =
          t.end[i] - t.start[i] - slowed[i] * (1 - program.duration / program.slowed_duration);
      EXPECT_NEAR(work, task.duration, 1e-9) << "seed " << seed << ", task " << i;
    }
  }
  EXPECT_GT(stretches, 300);
}

}  // namespace
}  // namespace rehearse::test
