#include "sim/graph/csr.hpp"
#include "sim/graph/lower.hpp"
#include "sim/schedule/dependencies.hpp"

namespace rehearse {

using Edge = std::pair<size_t, size_t>;

ScheduleCosts schedule_costs(const PipelineShape& shape, const StageCosts& costs) {
  const double v = 1 / chunk_share(shape);
  ScheduleCosts result;
  const bool split = costs.weight > 0;  // else an input gradient is the whole backward
  result.chunks.assign(size_t(chunk_count(shape)),
                       {costs.forward / v, costs.backward / v, split ? costs.weight / v : 0});
  result.transfer = costs.transfer;
  return result;
}

static double duration_of(ActionKind kind, const Schedule& schedule, const StageCosts& costs) {
  return schedule_costs(schedule.shape, costs).of(kind, 0);
}

static Program program_of(ActionKind kind, double duration) {
  Program program;
  program.name = std::string(1, kind_letter(kind));
  Op op;
  op.name = program.name;
  op.duration = duration;
  program.ops = {op};
  program.duration = program.slowed_duration = duration;
  program.part_s[int(Part::compute)] = duration;
  program.kernels = 1;
  return program;
}

static TaskGraph stages_without_tasks(const Schedule& schedule, const StageCosts& costs) {
  TaskGraph graph;
  const int p = schedule.shape.stages;
  for (auto kind :
       {ActionKind::forward, ActionKind::backward, ActionKind::input_gradient, ActionKind::weight_gradient})
    graph.programs.push_back(program_of(kind, duration_of(kind, schedule, costs)));
  for (int s = 0; s < p; ++s) {
    UnitInfo unit;
    unit.pp = s;
    unit.ranks = {RankId(s)};
    graph.units.push_back(unit);
    graph.unit_sets.push_back({s});
  }
  for (int s = 0; s < p;
       ++s) {  // sender and receiver of a transfer: set p + s to the next stage, 2p + s back
    graph.unit_sets.push_back({s, (s + 1) % p});
  }
  for (int s = 0; s < p; ++s) graph.unit_sets.push_back({s, (s + p - 1) % p});
  graph.ranks = graph.simulated_ranks = p;
  return graph;
}

// The output of `sender` on its way to the next stage, or its gradient to the one before.
static Task transfer_of(const Action& sender, const PipelineShape& shape, double duration) {
  const bool forward = sender.kind == ActionKind::forward;
  const int s = stage_of(sender.chunk, shape).value, p = shape.stages;
  const int to = stage_of(ChunkId(sender.chunk.value + (forward ? 1 : -1)), shape).value;
  const bool up = to == (s + 1) % p && (forward || to != (s + p - 1) % p);
  Task task;
  task.stream = Stream::pp_send;
  task.units = up ? p + s : 2 * p + s;
  task.duration = duration;
  task.action = sender.kind;
  task.chunk = sender.chunk;
  task.micro = sender.micro;
  return task;
}

static Task run_of(const Action& action, int stage, const TaskGraph& graph) {
  Task task;
  task.kind = TaskKind::run;
  task.program = int32_t(action.kind);
  task.units = stage;
  task.duration = graph.programs[size_t(task.program)].duration;
  task.action = action.kind;
  task.chunk = action.chunk;
  task.micro = action.micro;
  task.pipeline = true;
  return task;
}

TaskGraph lower_costs(const Schedule& schedule, const StageCosts& costs) {
  TaskGraph graph = stages_without_tasks(schedule, costs);
  const ActionIndex index(schedule);
  std::vector<Edge> edges;
  std::vector<size_t> first;  // task of the first action of a stage
  for (size_t s = 0; s < schedule.stages.size(); ++s) {
    first.push_back(graph.tasks.size());
    for (const Action& action : schedule.stages[s]) {
      if (graph.tasks.size() > first[s]) edges.emplace_back(graph.tasks.size() - 1, graph.tasks.size());
      graph.tasks.push_back(run_of(action, int(s), graph));
    }
  }
  for (size_t s = 0; s < schedule.stages.size(); ++s)
    for (size_t i = 0; i < schedule.stages[s].size(); ++i) {
      const auto need = need_of(schedule.stages[s][i], schedule.shape, index);
      if (!need) continue;
      const ActionPosition at = index.find(*need);
      const size_t from = first[size_t(at.stage)] + size_t(at.index), to = first[s] + i;
      const bool crosses = size_t(at.stage) != s && costs.transfer > 0;
      if (crosses) {
        edges.emplace_back(from, graph.tasks.size());
        edges.emplace_back(graph.tasks.size(), to);
        graph.tasks.push_back(transfer_of(*need, schedule.shape, costs.transfer));
      } else {
        edges.emplace_back(from, to);
      }
    }
  graph.edges = csr_of(edges, graph.tasks.size());
  return graph;
}

}  // namespace rehearse
