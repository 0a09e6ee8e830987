// Tasks per second of both engines. items_per_second is the figure.
#include <benchmark/benchmark.h>

#include <algorithm>

#include "sim/engine/engine.hpp"
#include "tests/support/engine_graph.hpp"

namespace rehearse::testing {
namespace {

// `pipelines` copies of a 1F1B step of 8 stages: a run per forward and backward, a flow per stage transfer,
// over the NICs of its two stages. With `meet`, forward and backward transfers of neighbours share a NIC, and
// copies come in pairs on the same NICs.
class StepGraph {
 public:
  StepGraph(int pipelines, int micro, bool meet) : micro_(micro) {
    forward_ = b.program(0.07, 0.07);
    backward_ = b.program(0.21, 0.21);
    for (int p = 0; p < pipelines; ++p) {
      if (!meet || p % 2 == 0) add_nics(meet);
      add_pipeline();
    }
    b.build();
  }
  GraphBuilder b;

 private:
  static constexpr int kStages = 8;

  void add_nics(bool meet) {
    for (auto& stage : route_)
      for (auto& r : stage) r = -1;
    int32_t up[kStages], down[kStages];
    for (int s = 0; s < kStages; ++s) {
      up[s] = b.link(25e9);
      down[s] = b.link(25e9);
    }
    for (int s = 0; s < kStages; ++s)
      for (int forward : {0, 1}) {
        const int to = s + (forward == 1 ? 1 : -1);
        if (to < 0 || to >= kStages) continue;
        route_[s][forward] =
            meet ? b.route({{up[s], 1}, {down[to], 1}}) : b.route({{b.link(25e9), 1}, {b.link(25e9), 1}});
      }
  }

  void add_pipeline() {
    std::vector<std::vector<int32_t>> task[2];
    for (auto& direction : task) direction.assign(kStages, std::vector<int32_t>(micro_));
    for (int s = 0; s < kStages; ++s) {
      const int32_t unit = b.units({b.unit()});
      const int warm = std::min(micro_, kStages - s - 1);
      int32_t last = -1;
      auto act = [&](bool forward, int m) {
        const int32_t id = b.run(forward ? forward_ : backward_, unit, forward ? 0.07 : 0.21);
        if (last >= 0) b.edge(last, id);
        task[forward][s][m] = last = id;
      };
      for (int i = 0; i < warm; ++i) act(true, i);
      for (int i = 0; i < micro_ - warm; ++i) {
        act(true, warm + i);
        act(false, i);
      }
      for (int i = micro_ - warm; i < micro_; ++i) act(false, i);
    }
    for (int s = 0; s < kStages; ++s)
      for (int forward : {0, 1})
        for (int m = 0; m < micro_ && route_[s][forward] >= 0; ++m)
          b.edge(b.flow(route_[s][forward], 50e6, {task[forward][s][m]}, 5e-6),
                 task[forward][s + 2 * forward - 1][m]);
  }

  int micro_;
  int32_t forward_ = -1, backward_ = -1;
  int32_t route_[kStages][2] = {};
};

constexpr int kMicro = 96;  // 2880 tasks a pipeline

void run(benchmark::State& state, Engine engine, bool meet) {
  const StepGraph step(std::max<int>(1, static_cast<int>(state.range(0)) / 2880), kMicro, meet);
  const auto tasks = static_cast<int64_t>(step.b.graph.tasks.size());
  for (auto _ : state) benchmark::DoNotOptimize(engine(step.b.graph).step);
  state.SetItemsProcessed(state.iterations() * tasks);
  state.counters["tasks"] = static_cast<double>(tasks);
}

void Ideal(benchmark::State& state) { run(state, run_ideal, false); }
void SimgridLone(benchmark::State& state) { run(state, run_simgrid, false); }
void SimgridSharing(benchmark::State& state) { run(state, run_simgrid, true); }

BENCHMARK(Ideal)->Arg(1000)->Arg(100000)->Arg(1000000)->Unit(benchmark::kMillisecond);
BENCHMARK(SimgridLone)->Arg(1000)->Arg(100000)->Arg(1000000)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(SimgridSharing)->Arg(1000)->Arg(100000)->Arg(1000000)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace rehearse::testing
