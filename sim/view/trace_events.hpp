// The events of one rank in order of time, made one by one from the task graph and its timeline.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "sim/view/trace.hpp"

namespace rehearse {

struct TraceInput {
  const Scenario& scenario;
  const ParallelLayout& layout;
  const TaskGraph& graph;
  const Timeline& timeline;
  const MemoryReport& memory;
};

// The form of a file: whose events, how fine.
struct TraceForm {
  bool per_rank = false;  // HTA's form
  TraceDetail detail = TraceDetail::chunk;

  int steps_per_us() const { return per_rank ? 1 : 8; }
  // Nearest point of the time grid, counted from the start of the step.
  int64_t point(double seconds) const;
};

// In the order in which events of equal time are written.
enum class TracePhase : uint8_t { slice, arrow_start, arrow_end, counter };

struct TraceEvent {
  int64_t ts = 0, dur = 0;  // grid steps
  TracePhase phase = TracePhase::slice;
  uint8_t lane = 0;      // thread id
  int32_t position = 0;  // of the rank's unit among the task's participants
  int32_t task = -1;     // -1 for a counter
  int32_t op = -1;  // index into the program's ops, -1 for the task as a whole; counters: index of the sample
};

// Total order of what one file holds, `rank` and `other` being whose events they are.
bool trace_before(const TraceEvent& a, int32_t rank, const TraceEvent& b, int32_t other);

// Ranks of a unit that differ in what they move: place in the unit (Task::slice) -> how many of it are alike.
// Empty where all ranks of the unit are.
using UnitSlices = std::map<int, int>;
std::vector<UnitSlices> slices_of_units(const TaskGraph& graph);

// The unit that a rank belongs to or is represented by. Throws InputErrors, E-TRACE-RANKS.
int32_t unit_of_rank(const TaskGraph& graph, const ParallelLayout& layout, RankId rank);

// The rank at the other end of a transfer: same replica, same place in its unit.
RankId peer_of(const TaskGraph& graph, const ParallelLayout& layout, const Task& task, int position,
               RankId rank);

// A task that moves data from one stage to another.
inline bool is_transfer(const Task& task) {
  return task.stream == Stream::pp_send && task.kind != TaskKind::run;
}

struct Participation {
  int32_t task;
  int32_t position;  // in the task's unit set
};

// Shared by all ranks of a trace.
struct TraceIndex {
  TraceIndex(const TraceInput& input, const TraceForm& form, std::span<const RankId> ranks);

  std::vector<int32_t> unit;  // per rank of `ranks`
  std::vector<int> slice;     // per rank of `ranks`: the Task::slice it stands for, or -1
  std::vector<int> alike;     // per rank of `ranks`: ranks of its class
  std::vector<std::vector<Participation>> tasks_of_unit;  // in order of start; only units of `ranks`
  std::vector<uint16_t> lanes_of_unit;                    // bit i: thread i has slices
  std::vector<std::vector<int32_t>> op_order;  // per program, its ops in order of start; empty for chunks
  std::vector<bool> shown;                     // per rank of the job

  // Whether a task is written as its kernels, with itself around them.
  bool expands(const Task& task) const {
    return task.program >= 0 && !op_order.empty() && !op_order[task.program].empty();
  }
};

// From progress within a program (s, 0 .. its duration) to time, through the stretches in which it ran
// slowed.
class ProgramClock {
 public:
  ProgramClock(const Timeline& timeline, int32_t task, const Program& program);
  double at(double progress) const;

 private:
  struct Mark {
    double progress, time;
  };
  std::vector<Mark> marks_;
  double duration_;
};

class RankEvents {
 public:
  // `i`: which of the index's ranks.
  RankEvents(const TraceInput& input, const TraceForm& form, const TraceIndex& index, RankId rank, size_t i);

  // False when there are no more.
  bool next(TraceEvent& event);

  int64_t left_out() const { return left_out_; }
  int64_t arrows_left_out() const { return arrows_left_out_; }

 private:
  struct Expansion {  // of a running program: which op comes next
    int32_t task;
    ProgramClock clock;
    size_t next = 0;
    int64_t from, to;
    std::vector<int64_t> lane_end;
  };

  void admit(const Participation& p);
  void admit_arrow(const Participation& p, int64_t from, int64_t to, uint8_t lane);
  void push(const TraceEvent& event);
  void push_next_op(int32_t task);
  void push_sample(size_t first);

  TraceInput in_;
  TraceForm form_;
  const TraceIndex& index_;
  RankId rank_;
  int slice_;
  const std::vector<Participation>& tasks_;
  const StageMemory* memory_ = nullptr;
  size_t cursor_ = 0;
  std::vector<TraceEvent> heap_;
  std::vector<Expansion> running_;
  int64_t left_out_ = 0, arrows_left_out_ = 0;
};

}  // namespace rehearse
