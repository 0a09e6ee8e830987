// rehearse-calibrate fit: a profile out of samples.
#include "calibration/fit/fit.hpp"

#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "calibration/cli/commands.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/text.hpp"

namespace rehearse::calibration {
namespace {

namespace po = boost::program_options;
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr size_t kOutliersShown = 10;

struct FitWords {
  std::string output, constants, name, json, svg;
  std::vector<std::string> borrowed;
  double thin = 0, expected = 0;
};

void check(FitWords& words) {
  if (words.output.empty()) refuse("-o is missing", "-o profile.yaml; its tables go into a folder beside it");
  if (!words.output.ends_with(".yaml")) words.output += ".yaml";
  if (words.name.empty()) words.name = fs::path(words.output).stem().string();
  if (words.name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") !=
      std::string::npos)
    refuse("a profile's name is letters, digits, '-', '_' and '.', not " + quote(words.name));
  if (words.name == "." || words.name == "..") refuse("a profile's name is that of a folder beside it");
  if (!(words.thin >= 0 && words.thin <= 0.5)) refuse("--thin is a fraction up to 0.5");
  if (!(words.expected >= 0)) refuse("--expect-median is a fraction, not negative");
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  if (!folder.empty()) fs::create_directories(folder, error);
  if (error)
    throw InputErrors(
        {{folder.string(), 0, 0, ""}, "", "E-FILE-WRITE", "cannot make the folder: " + error.message(), ""});
}

void write_profile(const FitWords& words, const Fit& fit, std::ostream& out) {
  const fs::path parent = fs::path(words.output).parent_path(), folder = parent / words.name;
  for (const auto& [file, text] : fit.tables) claim_outputs({{"-o", (folder / file).string()}});
  make_folder(folder);
  for (const auto& [file, text] : fit.tables) write_output((folder / file).string(), text, out);
  write_output(words.output, fit.yaml, out);
  if (words.svg.empty()) return;
  make_folder(words.svg);
  for (const auto& table : fit.fits)
    if (table.held_out.n > 0)
      write_output((fs::path(words.svg) / fs::path(table.file).replace_extension(".svg")).string(),
                   svg_of(table), out);
}

std::string text_of(const Fit& fit, const std::string& path) {
  std::string text;
  auto to = std::back_inserter(text);
  fmt::format_to(to, "{}: {} samples, {} tables\n", path, fit.samples, fit.fits.size());
  for (const auto& [why, count] : fit.left_out)
    fmt::format_to(to, "  left out: {} samples, {}\n", count, why);
  for (const auto& [what, count] : fit.without_table)
    fmt::format_to(to, "  in no table: {} samples, {}\n", count, what);
  fmt::format_to(to, "\n{:<30} {:<44} {:>7} {:>8} {:>8} {:>8} {:>8}\n", "table", "file", "rows", "kept out",
                 "median", "p90", "p99");
  for (const auto& t : fit.fits)
    fmt::format_to(to, "{:<30} {:<44} {:>7} {:>8} {:>7.2f}% {:>7.2f}% {:>7.2f}%\n", t.label, t.file, t.rows,
                   t.held_out.n, 100 * t.held_out.median, 100 * t.held_out.p90, 100 * t.held_out.p99);
  fmt::format_to(to, "\nconstants of the samples: {}\n", fit.from_samples.size());
  for (const auto& c : fit.from_samples)
    fmt::format_to(to, "  {:<36} {:<16} {}{}\n", c.path, c.value, c.basis == Basis::guess ? "guess: " : "",
                   c.source);
  for (const auto& what : fit.overruled) fmt::format_to(to, "  stated otherwise: {}\n", what);
  if (!fit.guessed.empty()) fmt::format_to(to, "guessed: {} constants\n", fit.guessed.size());
  for (const auto& c : fit.guessed) fmt::format_to(to, "  {:<36} {:<16} {}\n", c.path, c.value, c.source);
  if (!fit.outliers.empty())
    fmt::format_to(to, "\n{} rows that their neighbours contradict\n", fit.outliers.size());
  for (size_t i = 0; i < std::min(fit.outliers.size(), kOutliersShown); ++i) {
    const auto& p = fit.outliers[i].point;
    fmt::format_to(to, "  {:.4g} us, neighbours say {:.4g}: {} ({})\n", p.measured * 1e6, p.fitted * 1e6,
                   point_of(p.work), fit.outliers[i].table);
  }
  return text;
}

Json accuracy_json(const Accuracy& a) {
  return {{"n", a.n}, {"median", a.median}, {"p90", a.p90}, {"p99", a.p99}};
}

Json constants_json(const std::vector<NamedConstant>& constants) {
  Json list = Json::array();
  for (const auto& c : constants)
    list.push_back({{"path", c.path}, {"value", c.value}, {"source", c.source}});
  return list;
}

std::string json_of(const Fit& fit, const std::string& path) {
  Json json{{"schema", 1}, {"profile", path}, {"samples", fit.samples}};
  Json left = Json::array(), tables = Json::array(), outliers = Json::array();
  for (const auto& [why, count] : fit.left_out) left.push_back({{"reason", why}, {"samples", count}});
  for (const auto& t : fit.fits)
    tables.push_back({{"table", t.label},
                      {"file", t.file},
                      {"rows", t.rows},
                      {"thinned", t.thinned},
                      {"held_out", accuracy_json(t.held_out)}});
  for (const auto& o : fit.outliers)
    outliers.push_back({{"table", o.table},
                        {"point", point_of(o.point.work)},
                        {"measured_s", o.point.measured},
                        {"fitted_s", o.point.fitted}});
  json["left_out"] = left;
  Json dropped = Json::array();
  for (const auto& [what, count] : fit.without_table) dropped.push_back({{"what", what}, {"samples", count}});
  json["in_no_table"] = dropped;
  json["tables"] = tables;
  json["from_samples"] = constants_json(fit.from_samples);
  json["guessed"] = constants_json(fit.guessed);
  json["overruled"] = fit.overruled;
  json["outliers"] = outliers;
  return json.dump(1) + "\n";
}

po::options_description options_of(FitWords& w) {
  po::options_description all;
  all.add_options()  //
      ("output,o", po::value(&w.output)->value_name("FILE[.yaml]"),
       "the profile; its tables go into NAME/ beside it")                                        //
      ("name", po::value(&w.name)->value_name("NAME"), "of the profile; else that of the file")  //
      ("constants", po::value(&w.constants)->value_name("FILE"),
       "constants that stand whatever samples say")  //
      ("borrowed", po::value(&w.borrowed)->value_name("SAMPLES"),
       "samples of another device, marked as guesses (repeatable)")  //
      ("thin", po::value(&w.thin)->value_name("FRACTION"),
       "leave out rows that the others predict within it: 0.01")  //
      ("expect-median", po::value(&w.expected)->value_name("FRACTION"),
       "exit 1 where a table's median error is larger")                                                //
      ("svg", po::value(&w.svg)->value_name("DIR"), "draw measured against fitted, one file a table")  //
      ("json", po::value(&w.json)->value_name("FILE|-"), "write JSON; - replaces the table");
  return all;
}

}  // namespace

int command_fit(const Invocation& invocation, std::ostream& out) {
  FitWords words;
  const auto files =
      parse_words(invocation.words,
                  {"fit", "SAMPLES...",
                   "Fits a profile to samples and says how well it does on what was kept out.", 1, 4096},
                  options_of(words), out);
  if (!files) return kDone;
  check(words);
  claim_outputs({{"-o", words.output}, {"--json", words.json}});
  std::vector<FitInput> inputs;
  for (const auto& file : *files) inputs.push_back({read_samples(file), false});
  for (const auto& file : words.borrowed) inputs.push_back({read_samples(file), true});
  FitOptions options{words.name, words.constants.empty() ? "" : read_file(words.constants), words.constants,
                     words.thin};
  const Fit fit = fit_profile(inputs, options);
  for (const auto& [what, count] : fit.without_table)
    std::cerr << fmt::format("warning: {} samples of {} make no table: import them with --network\n", count,
                             what);
  write_profile(words, fit, out);
  if (!words.json.empty()) write_output(words.json, json_of(fit, words.output), out);
  if (words.json != "-") out << text_of(fit, words.output);
  for (const auto& table : fit.fits)
    if (words.expected > 0 && table.held_out.n > 0 && table.held_out.median > words.expected)
      return kVerdictFails;
  return kDone;
}

}  // namespace rehearse::calibration
