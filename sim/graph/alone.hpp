// What tasks take when nothing else runs.
#pragma once
#include <algorithm>
#include <limits>

#include "sim/graph/task_graph.hpp"

namespace rehearse {

// B/s that a flow gets when no other is on its links: min(rate_cap, capacity / weight over its route);
// infinity where nothing limits it.
inline double rate_alone(const TaskGraph& graph, const Task& flow) {
  double rate = flow.rate_cap > 0 ? flow.rate_cap : std::numeric_limits<double>::infinity();
  if (flow.route < 0) return rate;
  for (auto [link, weight] : graph.routes[flow.route].links)
    rate = std::min(rate, graph.links[link].capacity / weight);
  return rate;
}

inline double seconds_alone(const TaskGraph& graph, const Task& task) {
  return task.duration + (task.kind == TaskKind::flow ? task.amount / rate_alone(graph, task) : 0);
}

}  // namespace rehearse
