#include <algorithm>
#include <tuple>
#include <utility>

#include "sim/account/report.hpp"
#include "sim/schedule/dependencies.hpp"

namespace rehearse {

// One run task on one unit.
struct Run {
  int32_t unit;
  double start, end;
  int32_t task;
};

static std::vector<Run> pipeline_runs(const TaskGraph& graph, const Timeline& timeline) {
  std::vector<Run> runs;
  for (size_t t = 0; t < graph.tasks.size(); ++t)
    if (const Task& task = graph.tasks[t]; task.pipeline)
      for (int32_t unit : graph.unit_sets[size_t(task.units)])
        runs.push_back({unit, timeline.start[t], timeline.end[t], int32_t(t)});
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) {
    return std::tie(a.unit, a.start, a.end, a.task) < std::tie(b.unit, b.start, b.end, b.task);
  });
  return runs;
}

// Peaks per stage in the order in which `runs` ran; a chunk's activation lives from the first task of its F
// to the last of its B, or of its W where the backward is split.
static std::vector<int> peak_live_of(const TaskGraph& graph, const std::vector<Run>& runs,
                                     const PipelineShape& shape) {
  auto slot = [&](const Run& r) {
    const Task& task = graph.tasks[size_t(r.task)];
    const auto local = size_t(local_chunk(task.chunk, shape));
    return (size_t(r.unit) * size_t(shape.chunks) + local) * size_t(shape.micro_batches) +
           size_t(task.micro.value);
  };
  auto frees = [&](const Run& r) {
    const ActionKind kind = graph.tasks[size_t(r.task)].action;
    return kind == ActionKind::backward || kind == ActionKind::weight_gradient;
  };
  const size_t slots = graph.units.size() * size_t(shape.chunks) * size_t(shape.micro_batches);
  std::vector<int32_t> freed_by(slots, -1);
  for (const Run& r : runs)
    if (frees(r)) freed_by[slot(r)] = r.task;

  std::vector<int> live(graph.units.size(), 0), peaks(size_t(shape.stages), 0);
  std::vector<bool> born(slots, false);
  for (const Run& r : runs) {
    const auto unit = size_t(r.unit);
    if (graph.tasks[size_t(r.task)].action == ActionKind::forward && !born[slot(r)]) {
      born[slot(r)] = true;
      int& peak = peaks[size_t(graph.units[unit].pp)];
      peak = std::max(peak, ++live[unit]);
    }
    if (freed_by[slot(r)] == r.task) --live[unit];
  }
  return peaks;
}

// Seconds x ranks in which the units worked on actions: their runs, and the tensor-parallel collectives on
// the wire that stand between the runs of one action (inside a node these are part of the run). What runs
// side by side counts once.
static double busy_rank_seconds(const TaskGraph& graph, const Timeline& timeline) {
  std::vector<std::vector<std::pair<double, double>>> spans(graph.units.size());
  for (size_t t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    if (!task.pipeline && !(task.stream == Stream::tp && task.chunk.valid())) continue;
    for (int32_t unit : graph.unit_sets[size_t(task.units)])
      spans[size_t(unit)].emplace_back(timeline.start[t], timeline.end[t]);
  }
  double total = 0;
  for (size_t u = 0; u < spans.size(); ++u) {
    std::sort(spans[u].begin(), spans[u].end());
    double busy = 0, until = 0;
    for (auto [start, end] : spans[u]) {
      busy += std::max(0.0, end - std::max(start, until));
      until = std::max(until, end);
    }
    total += busy * graph.units[u].stands_for * graph.units[u].ranks_each;
  }
  return total;
}

PipelineFigures pipeline_figures(const TaskGraph& graph, const Timeline& timeline, const Schedule& schedule) {
  PipelineFigures figures;
  figures.note = schedule.note;
  const std::vector<Run> runs = pipeline_runs(graph, timeline);
  figures.peak_live = peak_live_of(graph, runs, schedule.shape);
  if (runs.empty()) return figures;

  std::vector<double> first(graph.units.size(), -1), last(graph.units.size(), 0);
  double ranks = 0;
  for (const Run& r : runs) {
    const auto unit = size_t(r.unit);
    if (first[unit] < 0) first[unit] = r.start;
    last[unit] = std::max(last[unit], r.end);
  }
  for (const UnitInfo& unit : graph.units) ranks += double(unit.stands_for) * unit.ranks_each;
  for (size_t u = 0; u < first.size(); ++u)
    if (first[u] >= 0) figures.makespan_s = std::max(figures.makespan_s, last[u] - first[u]);
  figures.ideal_s = busy_rank_seconds(graph, timeline) / ranks;
  const double idle = figures.makespan_s - figures.ideal_s;
  if (figures.makespan_s > 0) figures.bubble_fraction = idle / figures.makespan_s;
  if (figures.ideal_s > 0) figures.idle_over_ideal = idle / figures.ideal_s;
  return figures;
}

std::vector<std::vector<ActionSpan>> action_spans(const TaskGraph& graph, const Timeline& timeline,
                                                  const Schedule& schedule) {
  std::vector<int32_t> first_unit(schedule.stages.size(), -1);
  for (size_t u = graph.units.size(); u-- > 0;) first_unit[size_t(graph.units[u].pp)] = int32_t(u);

  std::vector<std::vector<ActionSpan>> spans;
  for (const auto& order : schedule.stages) spans.emplace_back(order.size());
  std::vector<std::vector<bool>> seen;
  for (const auto& order : schedule.stages) seen.emplace_back(order.size(), false);
  const ActionIndex index(schedule);
  for (const Run& r : pipeline_runs(graph, timeline)) {
    const Task& task = graph.tasks[size_t(r.task)];
    const ActionPosition at = index.find({task.action, task.chunk, task.micro});
    if (first_unit[size_t(at.stage)] != r.unit) continue;
    ActionSpan& span = spans[size_t(at.stage)][size_t(at.index)];
    auto was_seen = seen[size_t(at.stage)][size_t(at.index)];
    span = was_seen ? ActionSpan{span.start, std::max(span.end, r.end)} : ActionSpan{r.start, r.end};
    was_seen = true;
  }
  return spans;
}

}  // namespace rehearse
