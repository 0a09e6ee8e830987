// The account of a step, from the timeline alone: every figure is summed from tasks that ran.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "sim/graph/task_graph.hpp"
#include "sim/schedule/grid.hpp"

namespace rehearse {

struct PipelineFigures {
  double makespan_s = 0;         // first F to last B (or W)
  double ideal_s = 0;            // mean over ranks of busy F + B + W
  double bubble_fraction = 0;    // (makespan - ideal) / makespan
  double idle_over_ideal = 0;    // (makespan - ideal) / ideal
  std::vector<int> peak_live;    // per stage, live chunk activations
};
PipelineFigures pipeline_figures(const TaskGraph& graph, const Timeline& timeline, const Schedule& schedule);

// When the actions of the schedule ran on its first replica: [s][i] for schedule.stages[s][i].
std::vector<std::vector<ActionSpan>> action_spans(const TaskGraph& graph, const Timeline& timeline,
                                                  const Schedule& schedule);

// Seconds by part, mean over all ranks; sums to the step.
using Account = std::array<double, kParts>;
Account account(const TaskGraph& graph, const Timeline& timeline);

struct MemoryParts {  // bytes of one rank
  double weights = 0, gradients = 0, optimizer = 0, activations = 0, logits = 0, buffers = 0, framework = 0;
  double total() const { return weights + gradients + optimizer + activations + logits + buffers + framework; }
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

struct LedgerRow {
  Axis axis;
  std::string what;
  CollectiveOp collective;
  int group_size = 1;
  int ranks = 0;                   // that take part at all
  double calls_per_step = 0;       // mean over them, like the rest
  double bytes_per_call = 0;
  double bytes_sent_per_rank = 0;
  double closed_form_bytes_per_rank = 0;
  double exposed_s = 0;
  double memory_factor = 1;
};
std::vector<LedgerRow> ledger(const Scenario& scenario, const TaskGraph& graph, const Timeline& timeline);

struct Saying {
  std::string saying;
  std::string verdict;  // "true", "false", "depends"
  double value = 0;
  std::string unit;
};
std::vector<Saying> sayings(const Scenario& scenario, const std::vector<LedgerRow>& rows, const MemoryReport& memory);

struct CriticalStep {      // the path that sets the step, summed by part and name
  std::string what;
  double seconds = 0;
  int count = 0;
};
std::vector<CriticalStep> critical_path(const TaskGraph& graph, const Timeline& timeline);

struct Report {
  std::string name;
  double step_time_s = 0, tokens_per_s = 0, tokens_per_s_per_gpu = 0;
  double model_tflops_per_gpu = 0, mfu = 0, hfu = 0, bubble_fraction = 0;
  Account account{};
  PipelineFigures pipeline;
  MemoryReport memory;
  std::vector<LedgerRow> ledger;
  std::vector<CriticalStep> critical;
  // engine
  std::string engine;
  int ranks = 0, simulated_ranks = 0;
  int64_t tasks = 0, events = 0, flows = 0, link_flows = 0;
  double wall_s = 0;
  std::string fold_note;
  std::vector<Warning> warnings;
};
Report make_report(const Scenario& scenario, const Schedule& schedule, const TaskGraph& graph, const Timeline& timeline);

std::string to_json(const Report& report, const Scenario& scenario);   // the contract's object, pretty-printed
std::string to_table(const Report& report, const Scenario& scenario);  // for the terminal

}  // namespace rehearse
