// Replays a task graph. Pure function; the SimGrid one may run once or many times in a process.
#pragma once
#include <span>

#include "sim/base/names.hpp"
#include "sim/graph/task_graph.hpp"

namespace rehearse {

using Engine = Timeline (*)(const TaskGraph&);

// simgrid: flows share links max-min fairly. ideal: every flow has its links to itself.
// Both throw std::runtime_error naming the blocked tasks when the graph cannot progress.
std::span<const Named<Engine>> engine_table();

Timeline run_simgrid(const TaskGraph& graph);
Timeline run_ideal(const TaskGraph& graph);

}  // namespace rehearse
