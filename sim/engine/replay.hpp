// The dependency loop that both engines share: predecessor counts, one heap of due dates, slowed compute. It
// knows nothing of links beyond "which flow holds which"; an engine that lets flows share takes the shared
// ones away.
#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "sim/graph/alone.hpp"

namespace rehearse {

inline double never() { return std::numeric_limits<double>::infinity(); }

// Time at which a task comes to an end or, for a flow that has not begun, its first byte leaves. Ties by task
// id.
struct DueDate {
  double at = 0;
  int32_t task = -1;
  bool operator>(const DueDate& o) const { return at != o.at ? at > o.at : task > o.task; }
};

class Replay {
 public:
  // With `hand_over`, a flow whose latency has passed waits in arrivals() for the date that set_due() gives
  // it; without, every flow has its links to itself. Throws std::runtime_error for a task that can never end
  // (a duration that is not a number, a link of no capacity) and
  // for a route that names a link twice.
  Replay(const TaskGraph& graph, bool hand_over);

  double next() const { return heap_.empty() ? never() : heap_.front().at; }
  void step();  // one due date: ends or advances one task
  // Flows whose first byte leaves now, and those that ended, in the order in which they did; the caller
  // clears both.
  std::vector<int32_t>& arrivals() { return arrivals_; }
  std::vector<int32_t>& departures() { return departures_; }
  double now() const { return now_; }

  void set_due(int32_t task, double at);  // a handed-over flow ends then; replaces an earlier date
  double due(int32_t task) const { return timeline_.end[task]; }
  void clear_due(int32_t task);  // ... or its end is not known any more

  // Throws std::runtime_error naming the blocked tasks if any is left.
  Timeline finish(std::string engine);

 private:
  struct SlowRun {  // a run that may be slowed, while it runs
    int32_t task = -1;
    int slowers = 0;   // slowing tasks beside it
    double ratio = 1;  // slowed / plain
    double left = 0;   // s at plain speed, as of `since`
    double since = 0;  // s; when the speed last changed
  };

  void start(int32_t task);
  void start_flow(int32_t task);
  void start_slowable(int32_t task);
  void end(int32_t task);
  void end_slowable(int32_t task);
  void shift_slowing(const std::vector<int32_t>& units, int by);
  void retime(SlowRun& run, int slowers);
  bool slowable(const Task& task) const;
  void push(int32_t task, double at);
  std::string blocked_text() const;

  const TaskGraph& graph_;
  const bool hand_over_;
  bool any_slows_ = false;
  double now_ = 0;
  size_t ended_ = 0;
  Timeline timeline_;  // end[task] holds the date it is due while it runs: others in the heap are stale
  std::vector<DueDate> heap_;
  std::vector<int32_t> state_;  // > 0: predecessors still to end; else one of the states in replay.cpp
  std::vector<int32_t> arrivals_, departures_;
  std::vector<int32_t> unit_slowers_;
  std::vector<SlowRun> slow_runs_;  // slots, reused
  std::vector<int32_t> free_slots_;
  std::vector<std::vector<int32_t>> unit_slots_;  // per unit, the slots of its runs
};

}  // namespace rehearse
