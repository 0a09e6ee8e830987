// Replays a task graph. Pure function; the SimGrid one may run once or many times in a process.
#pragma once
#include <functional>
#include <span>
#include <stdexcept>
#include <vector>

#include "sim/base/names.hpp"
#include "sim/graph/task_graph.hpp"

namespace rehearse {

using Engine = Timeline (*)(const TaskGraph&);

// simgrid: flows share links max-min fairly. ideal: every flow has its links to itself.
// Both throw std::runtime_error naming the blocked tasks when the graph cannot progress.
std::span<const Named<Engine>> engine_table();

Timeline run_simgrid(const TaskGraph& graph);
Timeline run_ideal(const TaskGraph& graph);

// A child was killed, or ended without a result.
struct ProcessDied : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// run_simgrid lets SimGrid run in a forked child, as a process can run it once. Pages that both then write
// to are copied, which takes longer than many a run. So all that makes and reads the graph may stand in one
// child instead, `make`, and use run_simgrid_here, once. What it returns comes back. A child that
// dies is started once more; throws ProcessDied if that one dies too, std::runtime_error with the text of
// what was thrown there.
std::vector<double> numbers_from_child(const std::function<std::vector<double>()>& make);
Timeline run_simgrid_here(const TaskGraph& graph);

}  // namespace rehearse
