// rehearse sensitivity: the step against single quantities.
#include "sim/study/sensitivity.hpp"

#include <algorithm>
#include <boost/program_options/options_description.hpp>
#include <boost/program_options/value_semantic.hpp>

#include "sim/base/text.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/simulate.hpp"
#include "sim/cli/variant.hpp"

namespace rehearse {

namespace {

std::vector<double> read_factors(const std::string& text) {
  std::vector<double> factors{1};
  for (const auto part : split(text, ',')) {
    const auto number = parse_number(part);
    if (!number.value || *number.value < 1.0 / 64 || *number.value > 64)
      throw InputErrors(InputError{{},
                                   "--factors",
                                   "E-CLI",
                                   "--factors: " + quote(part) + " is no number from 1/64 to 64",
                                   "as in --factors 0.5,2"});
    factors.push_back(*number.value);
  }
  std::sort(factors.begin(), factors.end());
  factors.erase(std::unique(factors.begin(), factors.end()), factors.end());
  return factors;
}

}  // namespace

int command_sensitivity(const Invocation& invocation, std::ostream& out) {
  namespace po = boost::program_options;
  CommonOptions common;
  std::string engine = "simgrid", factors = "0.5,0.75,1.5,2", against;
  po::options_description extra;
  extra.add_options()("engine", po::value(&engine)->value_name("NAME"), "simgrid (the default) or ideal")(
      "factors", po::value(&factors)->value_name("LIST"),
      "on each quantity, beside 1 (default 0.5,0.75,1.5,2)")(
      "against", po::value(&against)->value_name("SETTINGS"),
      "break-even points with the scenario varied by 'KEY=VALUE; KEY=VALUE'");
  const CommandHelp help{
      "sensitivity", "SCENARIO",
      "Scales rates, latencies, launch costs and sizes one by one, and shows what the step does."};
  if (!parse_words(invocation, help, extra, common, out)) return kDone;
  const auto list = read_factors(factors);
  const Engine replay = engine_by_name(engine);
  const Plan plan = load(common, invocation.roots);
  std::optional<Plan> other;
  if (!against.empty()) {
    CommonOptions varied = common;
    const auto variant = read_variant("--against", against);
    varied.sets.insert(varied.sets.end(), variant.sets.begin(), variant.sets.end());
    other = load(varied, invocation.roots);
  }
  const auto curves = sensitivity(plan.scenario, list, replay, other ? &other->scenario : nullptr);
  std::string table = to_sensitivity_table(curves, table_style());
  if (other) {
    const bool any =
        std::any_of(curves.begin(), curves.end(), [](const Curve& c) { return !c.break_even.empty(); });
    table += any ? "\nbreak-even: the factor at which " + against + " changes places with the scenario\n"
                 : "\nbreak-even: none; " + against + " stays on its side of the scenario\n";
  }
  emit(common, plan.scenario.name + ": " + table, to_sensitivity_json(plan.scenario.name, curves), out);
  return kDone;
}

}  // namespace rehearse
