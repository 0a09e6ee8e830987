#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/account/names.hpp"
#include "sim/account/walk.hpp"
#include "sim/graph/alone.hpp"

namespace rehearse {

static std::string kind_of(const TaskGraph& graph, const Task& task) {
  if (task.kind == TaskKind::run) {
    const int stage = task.units < 0 ? -1 : graph.units[graph.unit_sets[task.units].front()].pp;
    return fmt::format("{}, stage {}",
                       task.pipeline ? action_name(task.action) : graph.programs[task.program].name, stage);
  }
  if (task.traffic < 0) return "delay";
  const Traffic& t = graph.traffic[task.traffic];
  return fmt::format("{} {}, {}", axis_name(t.axis), collective_name(t.op), t.what);
}

std::vector<CriticalStep> critical_path(const TaskGraph& graph, const Timeline& timeline) {
  std::map<std::string, CriticalStep> by_kind;
  const auto book = [&](const std::string& what, double seconds, double alone) {
    auto& step = by_kind[what];
    step.what = what;
    step.seconds += seconds;
    if (seconds - alone > 1e-9 * timeline.step) step.slowed_s += seconds - alone;
    ++step.count;
  };
  double until = timeline.step;
  for (int32_t t = last_task(timeline); t >= 0; t = last_predecessor(graph, timeline, t)) {
    const double waited = until - timeline.end[t];
    const bool rounding = waited <= 1e-9 * timeline.step;
    if (!rounding) book("waiting", waited, waited);
    book(kind_of(graph, graph.tasks[t]), (rounding ? until : timeline.end[t]) - timeline.start[t],
         seconds_alone(graph, graph.tasks[t]));
    until = timeline.start[t];
  }
  if (until > 0) book("waiting", until, until);
  std::vector<CriticalStep> path;
  path.reserve(by_kind.size());
  for (auto& [what, step] : by_kind) path.push_back(std::move(step));
  std::stable_sort(path.begin(), path.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  return path;
}

}  // namespace rehearse
