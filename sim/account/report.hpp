// The account of a step, from the timeline alone: every figure is summed from tasks that ran.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/account/links.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/schedule/grid.hpp"

namespace rehearse {

struct PipelineFigures {
  double makespan_s = 0;       // first F to last B (or W)
  double ideal_s = 0;          // mean over ranks of busy F + B + W
  double bubble_fraction = 0;  // (makespan - ideal) / makespan
  double idle_over_ideal = 0;  // (makespan - ideal) / ideal
  std::vector<int> peak_live;  // per stage, live chunk activations
  std::string note;            // the schedule's, on how its order came to be
};
// The time that a step adds: timeline.step, or where steps overlap the longest of a unit's. What the report
// makes of a timeline takes timeline.step to be this.
double step_time(const TaskGraph& graph, const Timeline& timeline);

PipelineFigures pipeline_figures(const TaskGraph& graph, const Timeline& timeline, const Schedule& schedule);

// When the actions of the schedule ran on its first replica: [s][i] for schedule.stages[s][i].
std::vector<std::vector<ActionSpan>> action_spans(const TaskGraph& graph, const Timeline& timeline,
                                                  const Schedule& schedule);

// Seconds by part, mean over all ranks; sums to the step.
using Account = std::array<double, kParts>;
Account account(const TaskGraph& graph, const Timeline& timeline);

struct MemoryParts {  // bytes of one rank
  double weights = 0, gradients = 0, optimizer = 0, activations = 0, logits = 0, buffers = 0, framework = 0;
  double total() const {
    return weights + gradients + optimizer + activations + logits + buffers + framework;
  }
};
struct MemorySample {
  double time_s;
  MemoryParts parts;
};
struct StageMemory {
  StageId stage;
  double peak_time_s = 0;
  MemoryParts peak;
  std::vector<MemorySample> over_time;  // a sample at each change
};
struct MemoryReport {
  bool fits = false;
  double capacity_bytes = 0, peak_bytes = 0;
  std::vector<StageMemory> stages;
};
MemoryReport memory_report(const Scenario& scenario, const TaskGraph& graph, const Timeline& timeline);
// The same peaks from the order of the actions alone, without times: a stage runs one after the other, and an
// action's bytes are added as it starts and freed as it ends. peak_time_s is NaN, over_time empty.
MemoryReport planned_memory(const Scenario& scenario, const Schedule& schedule);

// How calls run: by which algorithm and protocol, and what their time rests on.
struct CallsAlike {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  Basis basis = Basis::guess;
  bool outside = false;       // far from what was measured
  double calls_per_step = 0;  // as LedgerRow's
};
struct LedgerRow {
  Axis axis;
  std::string what;
  CollectiveOp collective;
  int group_size = 1;
  int ranks = 0;              // that take part at all
  double calls_per_step = 0;  // mean over them, like the rest; a transfer counts once, at its sender
  double bytes_per_call = 0;  // mean over the calls
  double bytes_sent_per_rank = 0;
  double closed_form_bytes_per_rank = 0;
  double exposed_s = 0;  // of the account's exposed_<axis>; 0 for scalars, whose time is the optimizer's
  double busy_s = 0;     // that the calls ran, hidden or not
  double memory_factor = 1;
  std::vector<CallsAlike> runs_as;  // most calls first
};
// One row an axis, purpose, operation and group size, in order of the axes; sizes of calls are averaged.
std::vector<LedgerRow> ledger(const Scenario& scenario, const TaskGraph& graph, const Timeline& timeline);

struct CriticalStep {  // the path that sets the step, summed by kind; sums to the step
  std::string what;    // "forward, stage 3", "pp send_recv, stage boundary", "waiting"
  double seconds = 0;
  double slowed_s = 0;  // of these, beyond what the tasks take alone: beside collectives, on shared links
  int count = 0;
};
// Back from the task that ends last, along the dependency that ended last (lowest id where several do).
// Longest first.
std::vector<CriticalStep> critical_path(const TaskGraph& graph, const Timeline& timeline);

struct Report {
  std::string name;
  double step_time_s = 0, tokens_per_s = 0, tokens_per_s_per_gpu = 0;
  double model_tflops_per_gpu = 0;  // model FLOPs, no recompute
  double mfu = 0, hfu = 0;          // (model | model + recompute FLOPs) / (step x ranks x dense peak)
  double bubble_fraction = 0;
  Account account{};
  BasisSeconds rests_on;  // of the account, mean over ranks; the bubble, which waits for all of it, apart
  PipelineFigures pipeline;
  MemoryReport memory;
  std::vector<LedgerRow> ledger;
  std::vector<CriticalStep> critical;
  // Left empty by make_report(): filled where links are asked for.
  std::vector<LinkClassLoad> link_classes;
  std::vector<LinkLoad> most_loaded;
  // engine
  std::string engine;
  int ranks = 0, simulated_ranks = 0;
  int64_t tasks = 0, events = 0, flows = 0, link_flows = 0;
  int64_t shared_flows = 0;  // that met others on a link
  double wall_s = 0;         // of the whole process; the caller's to fill in
  std::string fold_note;
  std::vector<Warning> warnings;
};
Report make_report(const Scenario& scenario, const Schedule& schedule, const TaskGraph& graph,
                   const Timeline& timeline);
// The same with memory that is known already (planned_memory).
Report make_report(const Scenario& scenario, const Schedule& schedule, const TaskGraph& graph,
                   const Timeline& timeline, MemoryReport memory);

// Bytes of model state a parameter when nothing is sharded.
double bytes_per_parameter(const Scenario& scenario);

}  // namespace rehearse
