// rehearse-calibrate probes: the table of what is measured.
#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <nlohmann/json.hpp>
#include <ostream>

#include "calibration/cli/commands.hpp"
#include "calibration/probes/probe.hpp"

namespace rehearse::calibration {

int command_probes(const Invocation& invocation, std::ostream& out) {
  std::string json;
  boost::program_options::options_description options;
  options.add_options()("json", boost::program_options::value(&json)->value_name("FILE|-"),
                        "write JSON; - replaces the table");
  if (!parse_words(invocation.words, {"probes", "", "Lists what run measures.", 0, 0}, options, out))
    return kDone;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Probe& probe : probe_table()) rows.push_back({{"name", probe.name}, {"help", probe.help}});
  if (!json.empty()) write_output(json, rows.dump(2) + "\n", out);
  if (json == "-") return kDone;
  for (const Probe& probe : probe_table()) out << fmt::format("{:<14}{}\n", probe.name, probe.help);
  return kDone;
}

}  // namespace rehearse::calibration
