// rehearse-calibrate compare: how two profiles or two files of samples differ.
#include "calibration/fit/compare.hpp"

#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <iterator>
#include <nlohmann/json.hpp>

#include "calibration/cli/commands.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/io/profile.hpp"

namespace rehearse::calibration {
namespace {

namespace po = boost::program_options;
using Json = nlohmann::ordered_json;

// A file of samples by its ending; else a profile, by name or path.
TimedPoints read(const std::string& word, const DataRoots& roots) {
  if (word.ends_with(".jsonl")) return points_of(read_samples(word));
  DocNode node;
  node.kind = NodeKind::scalar;
  node.text = word;
  Problems problems;
  const auto path = resolve(node, "profile", FileKind::profile, ".", roots, problems);
  problems.raise();
  return points_of(*load_profile(*path));
}

std::string text_of(const Comparison& c, const std::string& a, const std::string& b) {
  std::string text;
  auto to = std::back_inserter(text);
  size_t both = 0;
  for (const auto& g : c.groups) both += static_cast<size_t>(g.both);
  fmt::format_to(to, "{} shapes in both; {} only in {}, {} only in {}\n", both, c.only_first, a,
                 c.only_second, b);
  if (c.groups.empty()) return text;
  fmt::format_to(to, "\nsecond / first {:<22} {:>7} {:>7} {:>7} {:>7}\n", "", "shapes", "p10", "median",
                 "p90");
  for (const auto& g : c.groups)
    fmt::format_to(to, "{:<37} {:>7} {:>7.3f} {:>7.3f} {:>7.3f}\n", g.name, g.both, g.p10, g.median, g.p90);
  fmt::format_to(to, "\nlargest differences\n");
  for (const auto& r : c.largest)
    fmt::format_to(to, "{:>8.3f}  {:>12.4g} us {:>12.4g} us  {}\n", r.second / r.first, r.first * 1e6,
                   r.second * 1e6, r.point);
  return text;
}

std::string json_of(const Comparison& c) {
  Json groups = Json::array(), largest = Json::array();
  for (const auto& g : c.groups)
    groups.push_back(
        {{"name", g.name}, {"shapes", g.both}, {"p10", g.p10}, {"median", g.median}, {"p90", g.p90}});
  for (const auto& r : c.largest)
    largest.push_back(
        {{"point", r.point}, {"first_s", r.first}, {"second_s", r.second}, {"ratio", r.second / r.first}});
  return Json{{"schema", 1},
              {"groups", groups},
              {"largest", largest},
              {"only_first", c.only_first},
              {"only_second", c.only_second}}
             .dump(1) +
         "\n";
}

}  // namespace

int command_compare(const Invocation& invocation, std::ostream& out) {
  std::string json;
  po::options_description options;
  options.add_options()("json", po::value(&json)->value_name("FILE|-"), "write JSON; - replaces the table");
  const auto files = parse_words(
      invocation.words,
      {"compare", "A B",
       "Compares two profiles, or two files of samples (.jsonl), where they hold the same shapes.", 2, 2},
      options, out);
  if (!files) return kDone;
  claim_outputs({{"--json", json}});
  const Comparison result = compare(read((*files)[0], invocation.roots), read((*files)[1], invocation.roots));
  if (!json.empty()) write_output(json, json_of(result), out);
  if (json != "-") out << text_of(result, (*files)[0], (*files)[1]);
  return kDone;
}

}  // namespace rehearse::calibration
