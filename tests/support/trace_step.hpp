// Small training steps built by hand for the trace's tests: 1F1B over a few stages, kernels with in-node
// collectives, transfers between stages, a gradient collective that slows the last backward, an optimizer.
#pragma once
#include <string>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/graph/csr.hpp"
#include "sim/view/trace.hpp"

namespace rehearse::test {

struct StepShape {
  int pp = 2, tp = 2, dp = 2, micro = 3;
  bool folded = true;        // one unit a stage stands for all replicas
  bool sliced = false;       // each rank of a unit reduces its gradients on its own
  double kernel = 1.37e-5;   // s, of the first kernel; the rest differ from it
  double transfer = 3.3e-5;  // s
  double slow_by = 0.25;     // of compute beside the gradient collective
};

struct Step {
  Scenario scenario;
  TaskGraph graph;
  Timeline timeline;
  MemoryReport memory;
  ParallelLayout layout() const { return ParallelLayout(scenario.layout); }
};

class StepBuilder {
 public:
  explicit StepBuilder(const StepShape& shape) : shape_(shape) {}

  Step build() {
    step_.scenario.name = "small \"step\"";
    step_.scenario.layout.tp = shape_.tp;
    step_.scenario.layout.pp = shape_.pp;
    step_.scenario.layout.dp = shape_.dp;
    step_.scenario.cluster.gpus_per_node = 8;
    add_programs();
    add_traffic();
    const ParallelLayout layout = step_.layout();
    const int replicas = shape_.folded ? 1 : shape_.dp;
    for (int d = 0; d < replicas; ++d) add_units(layout, d);
    for (int d = 0; d < replicas; ++d) add_replica(d);
    add_end(replicas);
    step_.graph.ranks = layout.ranks();
    step_.graph.simulated_ranks = replicas * shape_.pp * (shape_.folded ? 1 : shape_.tp);
    step_.graph.edges = csr_of(edges_, step_.graph.tasks.size());
    step_.timeline = run_ideal(step_.graph);
    add_memory();
    return std::move(step_);
  }

 private:
  static constexpr int kForward = 0, kBackward = 1, kOptimizer = 2;

  void add_program(const std::string& name, int blocks, Part part, double scale) {
    Program program;
    program.name = name;
    double at = 0;
    const auto op = [&](const std::string& what, OpKind kind, Part booked, Stream stream, double seconds,
                        int layer) {
      Op o;
      o.name = what;
      o.kind = kind;
      o.part = booked;
      o.stream = stream;
      o.start = at;
      o.duration = seconds;
      o.traffic = kind == OpKind::collective ? 0 : -1;
      o.layer = layer;
      program.ops.push_back(o);
      at += seconds;
    };
    for (int i = 0; i < blocks; ++i) {
      op("qkv gemm", OpKind::gemm, part, Stream::compute, shape_.kernel * scale, i);
      op("launch", OpKind::gap, Part::overhead, Stream::compute, 1e-6 / 3, i);
      op("softmax", OpKind::memory, part, Stream::compute, shape_.kernel * scale / 7, i);
      op("ncclDevKernel_AllReduce_Sum_bf16_RING_LL128", OpKind::collective, Part::exposed_tp, Stream::tp,
         shape_.kernel * scale / 3, i);
    }
    program.duration = at;
    program.slowed_duration = at * (1 + shape_.slow_by);
    program.part_s[static_cast<int>(part)] = at;
    step_.graph.programs.push_back(program);
  }

  void add_programs() {
    add_program("F", 2, Part::compute, 1);
    add_program("B", 2, Part::compute, 2.1);
    add_program("optimizer", 1, Part::optimizer, 0.7);
  }

  void add_traffic() {
    const auto traffic = [&](Axis axis, const char* what, CollectiveOp op, int size, double bytes,
                             DType type) {
      Traffic t;
      t.axis = axis;
      t.what = what;
      t.op = op;
      t.group_size = size;
      t.bytes_per_call = bytes;
      t.dtype = type;
      step_.graph.traffic.push_back(t);
    };
    traffic(Axis::tp, "block forward", CollectiveOp::all_reduce, shape_.tp, 1 << 24, DType::bf16);
    traffic(Axis::pp, "stage boundary", CollectiveOp::send_recv, 2, 1 << 23, DType::bf16);
    traffic(Axis::dp, "gradients", CollectiveOp::reduce_scatter, shape_.dp, 1e8, DType::fp32);
  }

  void add_units(const ParallelLayout& layout, int d) {
    for (int s = 0; s < shape_.pp; ++s) {
      UnitInfo unit;
      unit.dp = d;
      unit.pp = s;
      unit.stands_for = shape_.folded ? shape_.dp : 1;
      unit.ranks_each = shape_.tp;
      for (int t = 0; t < shape_.tp; ++t) unit.ranks.push_back(layout.rank({t, 0, s, d}));
      step_.graph.units.push_back(unit);
      last_[static_cast<int>(Stream::compute)].push_back(-1);
      last_[static_cast<int>(Stream::pp_send)].push_back(-1);
      last_[static_cast<int>(Stream::pp_recv)].push_back(-1);
    }
  }

  int32_t add_task(Task task, std::vector<int32_t> units, const std::vector<int32_t>& after) {
    step_.graph.unit_sets.push_back(std::move(units));
    task.units = static_cast<int32_t>(step_.graph.unit_sets.size()) - 1;
    const auto id = static_cast<int32_t>(step_.graph.tasks.size());
    step_.graph.tasks.push_back(task);
    for (int32_t before : after)
      if (before >= 0) edges_.emplace_back(before, id);
    return id;
  }

  int32_t& last(Stream stream, int unit) { return last_[static_cast<int>(stream)][unit]; }

  int32_t run(int unit, int program, ActionKind action, int micro, int32_t after) {
    Task task;
    task.kind = TaskKind::run;
    task.program = program;
    task.duration = step_.graph.programs[program].duration;
    task.action = action;
    task.pipeline = program != kOptimizer;
    if (task.pipeline) {
      task.micro = MicroBatch(micro);
      task.chunk = ChunkId(unit % shape_.pp);
    }
    int32_t& before = last(Stream::compute, unit);
    return before = add_task(task, {unit}, {before, after});
  }

  int32_t transfer(int from, int to, int micro, int32_t after) {
    Task task;
    task.stream = Stream::pp_send;
    task.traffic = 1;
    task.duration = shape_.transfer;
    task.micro = MicroBatch(micro);
    task.chunk = ChunkId(from % shape_.pp);
    int32_t &sends = last(Stream::pp_send, from), &receives = last(Stream::pp_recv, to);
    return sends = receives = add_task(task, {from, to}, {after, sends, receives});
  }

  // 1F1B by a dry run: each stage does its next action as soon as what it needs is there.
  void add_replica(int d) {
    const int p = shape_.pp, m = shape_.micro, first = d * p;
    std::vector<std::vector<int32_t>> forward(p, std::vector<int32_t>(m, -1)), backward = forward;
    std::vector<int> f(p), b(p);
    for (int done = 0; done < 2 * p * m;) {
      for (int s = 0; s < p; ++s) {
        const bool wants_forward = f[s] < m && f[s] - b[s] < p - s;
        if (wants_forward && (s == 0 || forward[s][f[s]] >= 0)) {
          const int32_t task = run(first + s, kForward, ActionKind::forward, f[s], forward[s][f[s]]);
          if (s + 1 < p) forward[s + 1][f[s]] = transfer(first + s, first + s + 1, f[s], task);
          ++f[s], ++done;
        } else if (!wants_forward && b[s] < m && (s == p - 1 || backward[s][b[s]] >= 0)) {
          const int32_t task = run(first + s, kBackward, ActionKind::backward, b[s], backward[s][b[s]]);
          if (s > 0) backward[s - 1][b[s]] = transfer(first + s, first + s - 1, b[s], task);
          ++b[s], ++done;
        }
      }
    }
  }

  // The gradients of a stage over all replicas, beginning beside the last backward, then the optimizer.
  void add_end(int replicas) {
    for (int s = 0; s < shape_.pp; ++s) {
      std::vector<int32_t> units, before_last;
      for (int d = 0; d < replicas; ++d) {
        units.push_back(d * shape_.pp + s);
        before_last.push_back(task_before(units.back()));
      }
      Task task;
      task.stream = Stream::dp;
      task.traffic = 2;
      task.duration = shape_.kernel * 4.3;
      task.slows = true;
      std::vector<int32_t> gradients;
      for (int t = 0; t < (shape_.sliced ? shape_.tp : 1); ++t) {
        if (shape_.sliced) task.slice = static_cast<int16_t>(t);
        gradients.push_back(add_task(task, units, before_last));
        task.slows = false;  // one collective at a time slows compute
      }
      for (int unit : units) run(unit, kOptimizer, ActionKind::forward, -1, gradients.back());
    }
  }

  int32_t task_before(int unit) const {
    int32_t found = -1;
    for (size_t t = 0; t < step_.graph.tasks.size(); ++t) {
      const Task& task = step_.graph.tasks[t];
      if (task.kind == TaskKind::run && step_.graph.unit_sets[task.units][0] == unit &&
          static_cast<int32_t>(t) != last_[static_cast<int>(Stream::compute)][unit])
        found = static_cast<int32_t>(t);
    }
    return found;
  }

  void add_memory() {
    for (int s = 0; s < shape_.pp; ++s) {
      StageMemory stage;
      stage.stage = StageId(s);
      MemoryParts parts;
      parts.weights = 5.25 * kGibi;
      parts.optimizer = 30e9;
      stage.over_time.push_back({0, parts});
      for (size_t t = 0; t < step_.graph.tasks.size(); ++t) {
        const Task& task = step_.graph.tasks[t];
        if (!task.pipeline || step_.graph.unit_sets[task.units][0] != s) continue;
        parts.activations += task.action == ActionKind::forward ? kGibi : -kGibi;
        stage.over_time.push_back({step_.timeline.end[t], parts});
      }
      step_.memory.stages.push_back(stage);
    }
  }

  StepShape shape_;
  Step step_;
  std::vector<int32_t> last_[9];
  std::vector<std::pair<size_t, size_t>> edges_;
};

inline Step make_step(const StepShape& shape = {}) { return StepBuilder(shape).build(); }

}  // namespace rehearse::test
