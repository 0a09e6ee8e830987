#include "sim/account/report.hpp"

#include <set>
#include <utility>

#include "sim/account/closed_forms.hpp"
#include "sim/account/walk.hpp"
#include "sim/plan/memory.hpp"
#include "sim/plan/model_math.hpp"

namespace rehearse {

static void fill_rates(Report& report, const Scenario& scenario) {
  const double step = report.step_time_s;
  if (!(step > 0)) return;
  const double gpus = report.ranks;
  report.tokens_per_s = double(scenario.batch.global) * scenario.batch.sequence / step;
  report.tokens_per_s_per_gpu = report.tokens_per_s / gpus;
  const double model = model_flops(scenario).value, recomputed = recompute_flops(scenario).value;
  report.model_tflops_per_gpu = model / step / gpus / 1e12;
  report.bubble_fraction = report.account[size_t(Part::bubble)] / step;
  const Constant* peak = scenario.profile->peak(scenario.precision.compute);
  if (!peak || !(peak->value > 0)) return;
  report.mfu = model / (step * gpus * peak->value);
  report.hfu = (model + recomputed) / (step * gpus * peak->value);
}

// Kernels and collectives whose time was read outside the calibrated range, as a warning; by name, each once.
static void warn_of_extrapolation(Report& report, const TaskGraph& graph) {
  std::set<std::string> names;
  for (const auto& program : graph.programs)
    for (const auto& op : program.ops)
      if (op.outside) names.insert(op.name);
  if (names.empty()) return;
  std::string text = "times read outside the calibrated range:";
  for (const auto& name : names) text += (text.back() == ':' ? " " : ", ") + name;
  report.warnings.push_back({"W-PROFILE-RANGE", text});
}

static void warn_of_idle_switches(Report& report, const Scenario& scenario, const TaskGraph& graph) {
  if (scenario.cluster.sharp && !graph.switches_reduce)
    report.warnings.push_back(
        {"W-NO-EFFECT",
         "cluster.sharp has no effect: no collective of this layout is fastest where switches reduce"});
}

Report make_report(const Scenario& scenario, const Schedule& schedule, const TaskGraph& graph,
                   const Timeline& timeline) {
  return make_report(scenario, schedule, graph, timeline, memory_report(scenario, graph, timeline));
}

Report make_report(const Scenario& scenario, const Schedule& schedule, const TaskGraph& graph,
                   const Timeline& timeline, MemoryReport memory) {
  Report report;
  report.name = scenario.name;
  report.step_time_s = timeline.step;
  report.ranks = graph.ranks;
  report.simulated_ranks = graph.simulated_ranks;

  AccountSum account_sum;
  LedgerSum ledger_sum(graph);
  walk_units(graph, timeline, [&](int32_t u, const UnitBook& book) {
    account_sum.add(graph.units[u], book);
    ledger_sum.add(graph.units[u], book);
  });
  report.account = account_sum.mean(timeline.step);
  report.rests_on.add(account_sum.rests_on, account_sum.ranks > 0 ? 1 / account_sum.ranks : 0);
  report.ledger = ledger_sum.rows();
  fill_closed_forms(scenario, report.ledger);

  report.pipeline = pipeline_figures(graph, timeline, schedule);
  report.memory = std::move(memory);
  report.critical = critical_path(graph, timeline);
  fill_rates(report, scenario);

  report.engine = timeline.engine;
  report.tasks = int64_t(graph.tasks.size());
  report.events = timeline.events;
  report.flows = timeline.flows;
  report.link_flows = timeline.link_flows;
  report.shared_flows = timeline.shared_flows;
  report.fold_note = graph.fold_note;
  if (timeline.shared_flows > 0 && graph.simulated_ranks < graph.ranks)
    report.fold_note +=
        "; flows share links: in a sensitive layout, whose step a change of 1e-11 in a rate moves, the "
        "unfolded "
        "step may differ by as much";
  report.warnings = scenario.warnings;
  warn_of_extrapolation(report, graph);
  warn_of_idle_switches(report, scenario, graph);
  return report;
}

double bytes_per_parameter(const Scenario& scenario) {
  Scenario whole = scenario;
  for (Axis axis : {Axis::tp, Axis::cp, Axis::pp, Axis::ep, Axis::dp}) whole = without_axis(whole, axis);
  return model_state_bytes(whole) / total_parameters(whole.model, padded_vocab(whole.model, 1));
}

}  // namespace rehearse
