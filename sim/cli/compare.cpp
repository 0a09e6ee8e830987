// rehearse compare: several runs side by side.
#include <algorithm>
#include <boost/program_options/options_description.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <list>

#include "sim/cli/commands.hpp"
#include "sim/cli/simulate.hpp"
#include "sim/cli/variant.hpp"
#include "sim/view/comparison.hpp"

namespace rehearse {

namespace {

struct Run {
  std::string label;
  Plan plan;
  Step step;
};

Run simulated(const CommonOptions& common, const std::string& input, const Variant& variant,
              const EngineOptions& engine, const DataRoots& roots) {
  CommonOptions one = common;
  one.input = input;
  one.sets.insert(one.sets.end(), variant.sets.begin(), variant.sets.end());
  Run run;
  run.plan = load(one, roots);
  run.label = run.plan.scenario.name + (variant.text.empty() ? "" : " with " + variant.text);
  run.step = simulate(run.plan, step_options(engine));
  return run;
}

}  // namespace

int command_compare(const Invocation& invocation, std::ostream& out) {
  namespace po = boost::program_options;
  CommonOptions common;
  EngineOptions engine;
  std::vector<std::string> with;
  po::options_description extra;
  add_engine_options(extra, engine);
  extra.add_options()("with", po::value(&with)->value_name("SETTINGS"),
                      "the first scenario once more, with 'KEY=VALUE; KEY=VALUE' (repeatable)");
  const CommandHelp help{"compare", "SCENARIO...",
                         "Simulates scenarios and shows their accounts, memory and traffic side by side.", 1,
                         26};
  if (!parse_words(invocation, help, extra, common, out)) return kDone;
  std::list<Run> runs;
  for (const auto& input : common.inputs)
    runs.push_back(simulated(common, input, {}, engine, invocation.roots));
  for (const auto& text : with)
    runs.push_back(
        simulated(common, common.inputs.front(), read_variant("--with", text), engine, invocation.roots));
  if (runs.size() < 2)
    throw InputErrors(
        InputError{{},
                   "",
                   "E-CLI",
                   "there is nothing to compare with",
                   "name another scenario, or a change of this one as in --with layout.zero=1"});
  std::vector<ComparedRun> compared;
  for (const auto& run : runs) compared.push_back({run.label, &run.step.report, &run.plan.scenario});
  emit(common, to_comparison_table(compared, table_style()), to_comparison_json(compared), out);
  const bool fit =
      std::all_of(runs.begin(), runs.end(), [](const Run& run) { return run.step.report.memory.fits; });
  return fit ? kDone : kVerdictFails;
}

}  // namespace rehearse
