// rehearse merge: one store of several, as the parts of a sharded sweep.
#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "sim/base/file.hpp"
#include "sim/base/text.hpp"
#include "sim/cli/commands.hpp"
#include "sim/study/store.hpp"

namespace rehearse {

namespace {

bool same(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i] && !(std::isnan(a[i]) && std::isnan(b[i]))) return false;
  return true;
}

bool same(const Outcome& a, const Outcome& b) {
  return a.verdict == b.verdict && a.code == b.code && a.message == b.message && same(a.figures, b.figures) &&
         same(a.stage_peak_bytes, b.stage_peak_bytes);
}

struct Merged {
  std::map<std::string, StoredPoint> points;  // by digest
  std::map<std::string, std::string> from;    // file of each
  std::vector<StoredStudy> studies;
  size_t twice = 0;
};

void add(Merged& merged, StoredPoint point, const std::string& file) {
  const auto at = merged.points.find(point.digest);
  const auto failed = [](const StoredPoint& p) { return p.outcome.verdict == Verdict::failed; };
  if (at == merged.points.end() || failed(at->second)) {
    if (at != merged.points.end()) ++merged.twice;
    merged.from[point.digest] = file;
    merged.points[point.digest] = std::move(point);
    return;
  }
  ++merged.twice;
  if (failed(point) || same(point.outcome, at->second.outcome)) return;
  std::string settings;
  for (const auto& setting : point.point.settings) settings += " " + setting;
  throw InputErrors(InputError{
      {file, 0, 0, ""},
      "",
      "E-STORE-CONFLICT",
      "the point" + printable(settings) + " has another result in " + quote(merged.from[point.digest]),
      "one of the two was made on another machine or with other tools: sweep again"});
}

}  // namespace

int command_merge(const Invocation& invocation, std::ostream& out) {
  namespace po = boost::program_options;
  std::string output, json;
  po::options_description options("merge");
  options.add_options()("output,o", po::value(&output)->value_name("FILE"), "the store to make")(
      "json", po::value(&json)->value_name("FILE|-"), "write JSON; - replaces the line");
  const CommandHelp help{"merge", "STORE...", "Makes one store of several.", 1, 4096};
  const auto inputs = parse_words(invocation.words, help, options, out);
  if (!inputs) return kDone;
  if (output.empty())
    throw InputErrors(
        InputError{{}, "", "E-CLI", "-o is missing", "as in rehearse merge A.sqlite B.sqlite -o ALL.sqlite"});
  claim_outputs({{"-o", output}, {"--json", json}});
  Merged merged;
  for (const auto& input : *inputs) {
    const Store store(input, Store::Mode::read);
    for (auto& study : store.studies())
      if (std::find(merged.studies.begin(), merged.studies.end(), study) == merged.studies.end())
        merged.studies.push_back(std::move(study));
    for (auto& point : store.points()) add(merged, std::move(point), input);
  }
  std::vector<StoredPoint> points;
  for (auto& [digest, point] : merged.points) points.push_back(std::move(point));
  create_store(output, merged.studies, points);
  const nlohmann::ordered_json summary{
      {"stores", inputs->size()}, {"points", points.size()}, {"twice", merged.twice}};
  if (!json.empty()) write_output(json, summary.dump(2) + "\n", out);
  if (json != "-")
    out << fmt::format("{}: {} points of {} stores, {} of them twice\n", output, points.size(),
                       inputs->size(), merged.twice);
  return kDone;
}

}  // namespace rehearse
