#include "calibration/cli/run_options.hpp"

#include <boost/program_options.hpp>
#include <set>

#include "calibration/cli/devices.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/names.hpp"
#include "sim/base/text.hpp"

namespace rehearse::calibration {
namespace {

namespace po = boost::program_options;

// "90s", "2min", "1.5 h"
double parse_duration(const std::string& text) {
  const size_t unit_at = text.find_first_not_of("0123456789.eE+-");
  const char* hint = "a number and s, min or h: 90s, 10min, 1.5h";
  if (unit_at == std::string::npos || unit_at == 0)
    refuse("--budget " + quote(text) + " is no duration", hint);
  size_t unit_from = unit_at;
  while (unit_from < text.size() && text[unit_from] == ' ') ++unit_from;
  const std::string unit = text.substr(unit_from);
  const double scale = unit == "s" ? 1 : unit == "min" ? 60 : unit == "h" ? 3600 : 0;
  const auto number = parse_number(text.substr(0, unit_at));
  if (scale == 0 || !number.value) refuse("--budget " + quote(text) + " is no duration", hint);
  if (*number.value <= 0) refuse("--budget must be more than nothing", hint);
  return *number.value * scale;
}

std::vector<const Probe*> parse_probes(const std::string& text) {
  std::vector<std::string_view> names;
  for (const Probe& probe : probe_table()) names.push_back(probe.name);
  std::vector<const Probe*> chosen;
  std::set<std::string> seen;
  for (const auto word : split(text, ',')) {
    const std::string name(word);
    const Probe* found = nullptr;
    for (const Probe& probe : probe_table())
      if (probe.name == name) found = &probe;
    if (!found) refuse("unknown probe " + quote(name), suggest(name, names));
    if (!seen.insert(name).second) refuse("the probe " + quote(name) + " is named twice");
    chosen.push_back(found);
  }
  return chosen;
}

void check(const RunOptions& options, const std::string& probes) {
  if (options.backend.empty()) refuse("--backend is missing", "--backend host or --backend cuda");
  check_backend(options.backend);
  if (options.output.empty() && !options.dry_run)
    refuse("-o is missing", "-o samples.jsonl; --dry-run needs none");
  if (options.output == "-") refuse("samples go to a file, so that they survive", "as in -o samples.jsonl");
  note_read(options.points);
  claim_kept("-o", options.output);
  claim_outputs({{"--json", options.json}});
  if (!options.points.empty() && !probes.empty())
    refuse("--points and --probes are both given", "a file of points says itself what to measure");
  if (options.points == "-" && options.ranks != 1)
    refuse("--points - needs --ranks 1", "several ranks cannot share standard input: try --ranks 1");
}

}  // namespace

std::optional<RunOptions> read_run_options(const Invocation& invocation, std::ostream& out) {
  RunOptions options;
  std::string budget = "10min", probes, ranks, seed;
  po::options_description known;
  known.add_options()  //
      ("backend", po::value(&options.backend)->value_name("host|cuda"), "what to measure")(
          "output,o", po::value(&options.output)->value_name("FILE"),
          "samples as JSON lines, appended; points that it has of this device are not measured again, but "
          "for rejected ones")(
          "budget", po::value(&budget)->value_name("TIME"),
          "how long it may take, the most valuable points first: 90s, 10min (default), 2h")(
          "probes", po::value(&probes)->value_name("A,B"),
          "these alone (rehearse-calibrate probes lists them)")(
          "points", po::value(&options.points)->value_name("FILE"), "the points of plan, and no others")(
          "ranks", po::value(&ranks)->value_name("N"),
          "start N ranks with mpirun (default: 2 on a host of two cores, else 1)")(
          "dry-run", po::bool_switch(&options.dry_run), "list the points and the time, and measure nothing")(
          "warm-l2", po::bool_switch(&options.warm_l2), "leave operands in the cache between calls")(
          "no-retry", po::bool_switch(&options.no_retry),
          "leave out points that were rejected before; else they are tried again, after the others")(
          "seed", po::value(&seed)->value_name("N"), "other random contents (default 0)")(
          "json", po::value(&options.json)->value_name("FILE|-"), "write a summary; - replaces the table")(
          "quiet", po::bool_switch(&options.quiet), "no progress and notes on stderr");
  if (!parse_words(invocation.words, {"run", "", "Measures this machine's kernels and collectives.", 0, 0},
                   known, out))
    return std::nullopt;
  options.budget_s = parse_duration(budget);
  if (!ranks.empty()) {
    const auto number = parse_int(ranks);
    if (!number.value || *number.value < 1 || *number.value > 4096)
      refuse("--ranks " + quote(ranks) + " is no number from 1 to 4096");
    options.ranks = int(*number.value);
  }
  if (!seed.empty()) {
    const auto number = parse_int(seed);
    if (!number.value || *number.value < 0) refuse("--seed " + quote(seed) + " is no whole number from 0 up");
    options.seed = uint64_t(*number.value);
  }
  check(options, probes);
  for (const Probe& probe : probe_table())
    if (probes.empty()) options.probes.push_back(&probe);
  if (!probes.empty()) options.probes = parse_probes(probes);
  return options;
}

}  // namespace rehearse::calibration
