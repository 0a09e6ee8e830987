// rehearse ledger: the account book of a scenario, and the sayings settled by it.
#include <algorithm>

#include "sim/cli/commands.hpp"
#include "sim/cli/simulate.hpp"
#include "sim/spec/names.hpp"

namespace rehearse {

namespace {

// Runs that a variant of the scenario can be put to; a variant that the checks refuse has no figure.
std::optional<double> try_variant(Scenario scenario, const StepOptions& options) {
  try {
    return simulate(resolve(std::move(scenario)), options).report.step_time_s;
  } catch (const InputErrors&) {
    return std::nullopt;
  }
}

Scenario with_schedule(Scenario s, const char* name) {
  s.layout.chunks = 1;
  s.layout.stage_layers.clear();
  s.schedule = name;
  return s;
}

// TP of the given width, its ranks taken from dp.
Scenario with_tp(Scenario s, int tp) {
  const int ranks = s.layout.tp * s.layout.dp;
  s.layout.tp = tp;
  s.layout.dp = tp > 0 && ranks % tp == 0 ? ranks / tp : 0;
  return s;
}

std::string order_name(const std::array<Axis, 3>& order) {
  std::string name;
  for (const Axis axis : order) name += (name.empty() ? "" : "-") + std::string(name_of(kAxisNames, axis));
  return name;
}

OtherRuns other_runs(const Scenario& s, const StepOptions& options) {
  OtherRuns runs;
  if (s.layout.pp > 1) {
    runs.gpipe_step_s = try_variant(with_schedule(s, "gpipe"), options);
    runs.one_f_one_b_step_s = try_variant(with_schedule(s, "1f1b"), options);
  }
  const int node = s.cluster.gpus_per_domain();
  if (s.cluster.gpus() > node) {
    runs.node_tp_step_s = try_variant(with_tp(s, node), options);
    runs.wide_tp_step_s = try_variant(with_tp(s, 2 * node), options);
  }
  std::array<Axis, 3> order{Axis::tp, Axis::pp, Axis::dp};
  const int axes = (s.layout.tp > 1) + (s.layout.pp > 1) + (s.layout.dp > 1);
  if (axes < 2) return runs;
  do {
    Scenario variant = s;
    variant.layout.order = {Axis::cp, order[0], order[1], order[2], Axis::ep};
    if (const auto step = try_variant(variant, options))
      runs.step_s_by_order.emplace_back(order_name(order), *step);
  } while (std::next_permutation(order.begin(), order.end()));
  return runs;
}

}  // namespace

int command_ledger(const Invocation& invocation, std::ostream& out) {
  CommonOptions common;
  EngineOptions engine;
  boost::program_options::options_description extra;
  add_engine_options(extra, engine);
  const CommandHelp help{
      "ledger", "SCENARIO",
      "Prints what each axis cuts, sends and saves, simulated beside closed form, and settles the sayings."};
  if (!parse_words(invocation, help, extra, common, out)) return kDone;
  const Plan plan = load(common, invocation.roots);
  const StepOptions how = step_options(engine);
  const Step step = simulate(plan, how);
  const auto settled = sayings(plan.scenario, step.report, other_runs(plan.scenario, how));
  emit(common, to_ledger_table(step.report, plan.scenario, settled, table_style()),
       to_ledger_json(step.report, plan.scenario, settled), out);
  return kDone;
}

}  // namespace rehearse
