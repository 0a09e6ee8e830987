#include "sim/cli/options.hpp"

#include <boost/program_options.hpp>
#include <iostream>

#include "sim/base/file.hpp"

namespace rehearse {

bool parse_words(const Invocation& invocation, const CommandHelp& help,
                 const boost::program_options::options_description& extra, CommonOptions& options,
                 std::ostream& out) {
  namespace po = boost::program_options;
  po::options_description visible;
  visible.add_options()  //
      ("set", po::value(&options.sets)->value_name("KEY.PATH=VALUE"),
       "vary the scenario (repeatable; null removes the key)")                                      //
      ("json", po::value(&options.json)->value_name("FILE|-"), "write JSON; - replaces the table")  //
      ("quiet", po::bool_switch(&options.quiet), "no notes or warnings on stderr");
  visible.add(extra);
  auto inputs = rehearse::parse_words(invocation.words, help, visible, out);
  if (!inputs) return false;
  options.input = inputs->front();
  options.inputs = std::move(*inputs);
  claim_outputs({{"--json", options.json}});
  return true;
}

Plan load(const CommonOptions& options, const DataRoots& roots) {
  Plan plan = resolve(read_job(resolve_scenario(options.input, roots), options.sets, roots));
  print_warnings(plan.scenario.warnings, options.quiet);
  return plan;
}

void print_warnings(const std::vector<Warning>& warnings, bool quiet) {
  if (quiet) return;
  for (const auto& warning : warnings)
    std::cerr << "warning: " << warning.message << " [" << warning.code << "]\n";
}

void emit(const CommonOptions& options, const std::string& table, const std::string& json,
          std::ostream& out) {
  if (!options.json.empty()) write_output(options.json, json, out);
  if (options.json != "-") out << table;
}

}  // namespace rehearse
