// Tasks per second of both engines. items_per_second is the figure.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/engine/engine.hpp"
#include "tests/support/engine_graph.hpp"

namespace rehearse::test {
namespace {

constexpr double kBoundary = 2048.0 * 12288 * 2;  // bytes of one micro-batch's activations

struct Shape {
  int pipelines = 1;
  int micro = 96;
  int nics = 1;       // of a stage; a transfer crosses all of them, on both ends
  bool meet = false;  // transfers of a stage share its NICs; else each has links of its own
  int copies_per_nic = 1;
  // All-reduces over the NICs of all copies of a stage, one after the other, beside the last backward.
  int buckets = 0;
};

// Copies of a 1F1B step of 8 stages: a run per forward and backward, a flow per stage transfer.
class StepGraph {
 public:
  explicit StepGraph(const Shape& shape) : s_(shape) {
    forward_ = b.program(0.07, 0.07);
    backward_ = b.program(0.21, 0.21);
    for (int p = 0; p < s_.pipelines; ++p) {
      if (p % s_.copies_per_nic == 0) add_nics();
      add_pipeline();
    }
    for (int s = 0; s < kStages && s_.buckets > 0; ++s) add_buckets(s);
    b.build();
  }
  GraphBuilder b;

 private:
  static constexpr int kStages = 8;
  using Links = std::vector<std::pair<int32_t, int32_t>>;

  void new_links(Links& into) {
    for (int n = 0; n < s_.nics; ++n) into.emplace_back(b.link(25e9), 1);
  }

  void add_nics() {
    Links up[kStages], down[kStages];
    for (int s = 0; s < kStages; ++s) {
      new_links(up[s]);
      new_links(down[s]);
      for (const Links& side : {up[s], down[s]}) ring_[s].insert(ring_[s].end(), side.begin(), side.end());
    }
    for (int s = 0; s < kStages; ++s)
      for (int forward : {0, 1}) {
        const int to = s + (forward == 1 ? 1 : -1);
        route_[s][forward] = -1;
        if (to < 0 || to >= kStages) continue;
        Links links;
        if (s_.meet) {
          links = up[s];
          links.insert(links.end(), down[to].begin(), down[to].end());
        } else {
          new_links(links);
          new_links(links);
        }
        route_[s][forward] = b.route(links);
      }
  }

  std::vector<int32_t> order(int s, std::vector<int32_t> (&task)[2]) {
    const int32_t unit = b.units({b.unit()});
    const int warm = std::min(s_.micro, kStages - s - 1);
    std::vector<int32_t> row;
    auto act = [&](bool forward, int m) {
      row.push_back(b.run(forward ? forward_ : backward_, unit, forward ? 0.07 : 0.21));
      if (row.size() > 1) b.edge(row[row.size() - 2], row.back());
      task[forward ? 1 : 0][m] = row.back();
    };
    for (int i = 0; i < warm; ++i) act(true, i);
    for (int i = 0; i < s_.micro - warm; ++i) {
      act(true, warm + i);
      act(false, i);
    }
    for (int i = s_.micro - warm; i < s_.micro; ++i) act(false, i);
    return row;
  }

  void add_pipeline() {
    std::vector<int32_t> task[kStages][2];
    for (int s = 0; s < kStages; ++s) {
      for (auto& direction : task[s]) direction.resize(s_.micro);
      const auto row = order(s, task[s]);
      before_last_[s].push_back(row[row.size() - 2]);
    }
    for (int s = 0; s < kStages; ++s)
      for (int forward : {0, 1})
        for (int m = 0; m < s_.micro && route_[s][forward] >= 0; ++m)
          b.edge(b.flow(route_[s][forward], kBoundary, {task[s][forward][m]}, 5e-6),
                 task[s + 2 * forward - 1][forward][m]);
  }

  void add_buckets(int s) {
    const int32_t route = b.route(ring_[s]);
    int32_t last = b.flow(route, 150e6, {}, 1e-4);
    for (int32_t run : before_last_[s]) b.edge(run, last);
    for (int i = 1; i < s_.buckets; ++i) last = b.flow(route, 150e6, {last}, 1e-4);
  }

  Shape s_;
  int32_t forward_ = -1, backward_ = -1;
  int32_t route_[kStages][2] = {};
  Links ring_[kStages];
  std::vector<int32_t> before_last_[kStages];
};

double cpu_seconds() {  // of this process and of its children: the sharing runs in one
  double sum = 0;
  for (int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage u{};
    getrusage(who, &u);
    sum += static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
  }
  return sum;
}

void run(benchmark::State& state, Engine engine, const Shape& shape) {
  const StepGraph step(shape);
  const auto tasks = static_cast<int64_t>(step.b.graph.tasks.size());
  const double before = cpu_seconds();
  Timeline timeline;
  while (state.KeepRunning()) timeline = engine(step.b.graph);
  const double cpu = (cpu_seconds() - before) / static_cast<double>(state.iterations());
  state.SetItemsProcessed(state.iterations() * tasks);
  state.counters["cpu_ms"] = 1e3 * cpu;
  state.counters["tasks"] = static_cast<double>(tasks);
  state.counters["tasks_per_cpu_s"] = static_cast<double>(tasks) / cpu;
  state.counters["link_flows"] = static_cast<double>(timeline.link_flows);
}

constexpr int kTasks = 2880;  // of a pipeline of 96 micro-batches

Shape of_tasks(const benchmark::State& state, int copies_per_nic) {
  const int copies = std::max(1, static_cast<int>(state.range(0)) / kTasks / copies_per_nic) * copies_per_nic;
  return {.pipelines = copies, .meet = copies_per_nic > 1, .copies_per_nic = copies_per_nic};
}

void Ideal(benchmark::State& state) { run(state, run_ideal, of_tasks(state, 1)); }
void SimgridLone(benchmark::State& state) { run(state, run_simgrid, of_tasks(state, 1)); }
void SimgridSharing(benchmark::State& state) { run(state, run_simgrid, of_tasks(state, 2)); }

// The 1024-GPU step of 175B (TP 8, PP 8, DP 16), a TP group as one task: what bench_bare_loop does, and with
// gradients.
constexpr Shape kStep1024{.pipelines = 16, .nics = 8, .meet = true};
void Step1024Transfers(benchmark::State& state) { run(state, run_simgrid, kStep1024); }
void Step1024Gradients(benchmark::State& state) {
  Shape shape = kStep1024;
  shape.buckets = 68;
  run(state, run_simgrid, shape);
}

void sizes(benchmark::internal::Benchmark* b) {
  b->Arg(1000)->Arg(100000)->Arg(1000000)->Unit(benchmark::kMillisecond)->UseRealTime();
}
BENCHMARK(Ideal)->Apply(sizes);
BENCHMARK(SimgridLone)->Apply(sizes);
BENCHMARK(SimgridSharing)->Apply(sizes);
BENCHMARK(Step1024Transfers)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(Step1024Gradients)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace rehearse::test
