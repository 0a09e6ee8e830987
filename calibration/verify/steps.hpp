// A simulated step as lists of calls that ranks can run.
#pragma once
#include <string>
#include <vector>

#include "calibration/work/work.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/spec/scenario.hpp"

namespace rehearse::calibration {

// One call of one rank. Transfers appear on both ranks: as a send and as a receive.
struct RankCall {
  Work work;
  int task = -1;  // of the graph
  int op = -1;    // of the task's program; -1: the task is the call
  enum class Kind : uint8_t { kernel, collective, send, receive } kind = Kind::kernel;
  std::vector<int> members;  // of a collective, ascending
  int peer = -1;             // of a transfer
  std::vector<int> after;    // earlier calls of this list
};

// What `rank` runs, in one order that is the same for all ranks: by simulated start, successors after their
// predecessors. All of them thus meet each other's collectives in the same order, and none waits in a circle.
// `graph` must not be folded; start[i] is the simulated start of task i.
std::vector<RankCall> calls_of(const Scenario& scenario, const TaskGraph& graph,
                               const std::vector<double>& start, int rank);

}  // namespace rehearse::calibration
