// rehearse-calibrate plan: what scenarios need measured, most of the step first.
#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <iterator>
#include <map>

#include "calibration/cli/commands.hpp"
#include "calibration/plan/needs.hpp"
#include "calibration/probes/probe.hpp"
#include "sim/base/file.hpp"
#include "sim/io/scenario.hpp"
#include "sim/step/step.hpp"

namespace rehearse::calibration {

namespace po = boost::program_options;

namespace {

struct Entry {
  Need need;
  double share = 0;  // of the scenarios' steps, mean over them
};

// A point takes warm-up and its timings, or a hundred calls where they are long.
double seconds_of(const Need& need) {
  const double call = need.calls > 0 ? need.seconds / need.calls : 0;
  return std::clamp(100 * call, 0.5, 5.0);
}

std::vector<Entry> entries_of(const std::vector<std::string>& scenarios, const std::vector<std::string>& sets,
                              const DataRoots& roots) {
  std::vector<Entry> entries;
  std::map<std::string, size_t> places;
  for (const auto& path : scenarios) {
    const Plan plan = resolve(read_job(resolve_scenario(path, roots), sets, roots));
    const auto needs = needs_of(plan.scenario, lowered(plan));
    double total = 0;
    for (const auto& need : needs) total += need.seconds;
    for (const auto& need : needs) {
      const auto [at, is_new] = places.emplace(point_of(need.work), entries.size());
      if (is_new) entries.push_back({need, 0});
      if (total > 0) entries[at->second].share += need.seconds / total / double(scenarios.size());
    }
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.share > b.share; });
  return entries;
}

std::string table_of(const std::vector<Entry>& entries) {
  std::string out;
  auto to = std::back_inserter(out);
  double minutes = 0, share = 0;
  fmt::format_to(to, "{:>7} {:>7} {:>9} {:>12}  {}\n", "share", "sum", "calls", "a call", "point");
  for (const auto& entry : entries) {
    share += entry.share;
    minutes += seconds_of(entry.need) / 60;
    fmt::format_to(to, "{:>5.2f} % {:>5.1f} % {:>9.4g} {:>9.1f} us  {}\n", 100 * entry.share, 100 * share,
                   entry.need.calls, 1e6 * entry.need.seconds / entry.need.calls, point_of(entry.need.work));
  }
  fmt::format_to(to, "{} points, about {:.0f} minute{} to measure\n", entries.size(), std::max(minutes, 1.0),
                 minutes < 1.5 ? "" : "s");
  return out;
}

std::string points_of(const std::vector<Entry>& entries) {
  std::string out;
  for (const auto& entry : entries)
    out += to_json_line(Point{entry.need.work, entry.share, seconds_of(entry.need)}) + "\n";
  return out;
}

}  // namespace

int command_plan(const Invocation& invocation, std::ostream& out) {
  std::vector<std::string> scenarios, sets;
  std::string points;
  po::options_description options;
  options.add_options()  //
      ("for", po::value(&scenarios)->multitoken()->value_name("SCENARIO..."),
       "whose steps are to be measured")("set", po::value(&sets)->value_name("KEY.PATH=VALUE"),
                                         "vary the scenarios (repeatable)")(
          "output,o", po::value(&points)->value_name("FILE|-"),
          "write the points as JSON lines, for run --points; - replaces the table");
  const CommandHelp help{"plan", "[SCENARIO...]",
                         "Lists what the steps of scenarios consist of, most of their time first.", 0, 1000};
  const auto more = parse_words(invocation.words, help, options, out);
  if (!more) return kDone;
  scenarios.insert(scenarios.end(), more->begin(), more->end());
  if (scenarios.empty())
    throw InputErrors(InputError{{}, "", "E-CLI", "a scenario is missing", "plan --for SCENARIO"});
  claim_outputs({{"-o", points}});
  const auto entries = entries_of(scenarios, sets, invocation.roots);
  if (!points.empty()) write_output(points, points_of(entries), out);
  if (points != "-") out << table_of(entries);
  return kDone;
}

}  // namespace rehearse::calibration
