// rehearse run: simulates one step and reports it.
#include <fmt/format.h>

#include <boost/program_options/value_semantic.hpp>
#include <charconv>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "sim/base/file.hpp"
#include "sim/base/text.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/simulate.hpp"
#include "sim/view/text.hpp"
#include "sim/view/trace.hpp"

namespace rehearse {

namespace {

struct RunOptions {
  EngineOptions engine;
  std::string trace, trace_ranks, trace_detail = "chunk";
  std::string stop_after, dump, links;
  std::vector<std::string> expect;
};

[[noreturn]] void refuse_option(const std::string& option, const std::string& message,
                                const std::string& hint) {
  throw InputErrors(InputError{{}, option, "E-CLI", message, hint});
}

template <size_t N>
void require_one_of(const std::string& option, const std::string& value, const std::string_view (&names)[N]) {
  for (auto name : names)
    if (name == value) return;
  refuse_option(option, option + " does not know " + quote(value), suggest(value, names));
}

// A bound on a figure of the JSON: "step_time_s<=18.5".
struct Expectation {
  std::string text, key, op;
  double bound = 0;
};

Expectation parse_expectation(const std::string& text) {
  const size_t at = text.find_first_of("<>=");
  const std::string hint =
      "write KEY<=NUMBER, KEY>=NUMBER, KEY<NUMBER, KEY>NUMBER or KEY==NUMBER, as in step_time_s<=20";
  if (at == std::string::npos || at == 0)
    refuse_option("--expect", "--expect " + quote(text) + " is no comparison", hint);
  size_t end = at + 1;
  while (end < text.size() && text[end] == '=') ++end;
  Expectation e{text, text.substr(0, at), text.substr(at, end - at), 0};
  const char* first = text.data() + end;
  const auto [last, error] = std::from_chars(first, text.data() + text.size(), e.bound);
  const bool known = e.op == "<=" || e.op == ">=" || e.op == "<" || e.op == ">" || e.op == "==";
  if (!known || error != std::errc() || last != text.data() + text.size() || !std::isfinite(e.bound))
    refuse_option("--expect", "--expect " + quote(text) + " is no comparison", hint);
  return e;
}

bool holds(const Expectation& e, double value) {
  if (e.op == "<=") return value <= e.bound;
  if (e.op == ">=") return value >= e.bound;
  if (e.op == "<") return value < e.bound;
  if (e.op == ">") return value > e.bound;
  return value == e.bound;
}

// The number at a dotted path of the report's JSON.
double figure(const nlohmann::json& report, const Expectation& e) {
  const nlohmann::json* at = &report;
  for (size_t begin = 0; begin <= e.key.size();) {
    const size_t dot = std::min(e.key.find('.', begin), e.key.size());
    const std::string key = e.key.substr(begin, dot - begin);
    size_t item = 0;
    const auto [stop, bad] = std::from_chars(key.data(), key.data() + key.size(), item);
    const bool index =
        at->is_array() && bad == std::errc() && stop == key.data() + key.size() && item < at->size();
    const bool there = index || (at->is_object() && at->contains(key));
    if (!there && !at->is_object())
      refuse_option(
          "--expect", "the report has no figure " + quote(e.key),
          at->is_array()
              ? "a list of " + std::to_string(at->size()) + ": name one by its number, from 0"
              : quote(e.key.substr(0, begin > 0 ? begin - 1 : 0)) + " is a figure and has no parts");
    if (!there) {
      std::vector<std::string> keys;
      if (at->is_object())
        for (const auto& [name, value] : at->items()) keys.push_back(name);
      const std::vector<std::string_view> views(keys.begin(), keys.end());
      refuse_option("--expect", "the report has no figure " + quote(e.key), suggest(key, views));
    }
    at = index ? &(*at)[item] : &(*at)[key];
    begin = dot + 1;
  }
  if (at->is_boolean()) return at->get<bool>() ? 1 : 0;
  if (!at->is_number())
    refuse_option("--expect", quote(e.key) + " is not a number of the report",
                  "name one figure, as in memory.peak_bytes");
  return at->get<double>();
}

bool check_expectations(const std::vector<Expectation>& expectations, const std::string& json) {
  bool all = true;
  const auto report = nlohmann::json::parse(json);
  for (const auto& e : expectations) {
    const double value = figure(report, e);
    if (holds(e, value)) continue;
    std::cerr << fmt::format("expectation missed: {} (is {:.9g})\n", e.text, value);
    all = false;
  }
  return all;
}

std::vector<RankId> parse_ranks(const std::string& text) {
  std::vector<RankId> ranks;
  const std::string hint = "write ranks and ranges, as in 0,8,16-23";
  for (size_t begin = 0; begin < text.size();) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    int first = 0, last = 0;
    const char* end = text.data() + comma;
    auto [next, error] = std::from_chars(text.data() + begin, end, first);
    last = first;
    if (error == std::errc() && next != end && *next == '-') {
      const auto second = std::from_chars(next + 1, end, last);
      next = second.ptr, error = second.ec;
    }
    if (error != std::errc() || next != end || first < 0 || last < first || last - first > 1'000'000)
      refuse_option("--trace-ranks", "--trace-ranks " + quote(text) + " is no list of ranks", hint);
    for (int rank = first; rank <= last; ++rank) ranks.emplace_back(rank);
    begin = comma + 1;
  }
  return ranks;
}

void write_trace(const RunOptions& options, const Scenario& scenario, const Step& step, bool quiet) {
  const ParallelLayout layout(scenario.layout);
  const TraceOptions trace{options.trace_detail == "kernel" ? TraceDetail::kernel : TraceDetail::chunk,
                           parse_ranks(options.trace_ranks)};
  const bool folder = options.trace.ends_with('/');
  const auto write = folder ? write_trace_dir : write_trace_file;
  const TraceSize size =
      write(options.trace, scenario, layout, step.graph, step.timeline, step.report.memory, trace);
  print_warnings(trace_warnings(size, trace), quiet);
  if (!quiet)
    std::cerr << fmt::format("trace: {}, {} events, {:.1f} MB of JSON\n", options.trace, size.events,
                             double(size.bytes) / 1e6);
}

// --stop-after: the text form of one step on the way, in place of the report.
int dump_form(const RunOptions& options, const Plan& plan, std::ostream& out) {
  std::string text;
  if (options.stop_after == "layout") {
    const ParallelLayout layout(plan.scenario.layout);
    const Fabric fabric(plan.scenario.cluster);
    text = "rank,gpu,node,tp,cp,pp,dp\n";
    for (int r = 0; r < layout.ranks(); ++r) {
      const auto c = layout.coordinates(RankId(r));
      const GpuId gpu = layout.gpu(RankId(r));
      text +=
          fmt::format("{},{},{},{},{},{},{}\n", r, gpu.value, fabric.node_of(gpu), c.tp, c.cp, c.pp, c.dp);
    }
  } else if (options.stop_after == "schedule") {
    text = to_csv(plan.schedule);
  } else {
    const TaskGraph graph = lowered(plan, {.fold = fold_by_name(options.engine.fold)});
    text = options.stop_after == "graph" ? dump(graph)
                                         : dump(graph, engine_by_name(options.engine.engine)(graph));
  }
  write_output(options.dump.empty() ? "-" : options.dump, text, out);
  return kDone;
}

void check_options(const RunOptions& options, const CommonOptions& common) {
  claim_outputs({{"--trace", options.trace},
                 {"--json", common.json},
                 {"--dump", options.dump},
                 {"--links", options.links}});
  if (!options.stop_after.empty() &&
      (!options.trace.empty() || !options.expect.empty() || !common.json.empty() || !options.links.empty()))
    refuse_option(
        "--stop-after",
        "--stop-after ends before there is a report: --trace, --expect, --links and --json have nothing "
        "to say",
        "leave out --stop-after");
  static constexpr std::string_view forms[] = {"layout", "schedule", "graph", "timeline"};
  static constexpr std::string_view details[] = {"chunk", "kernel"};
  if (!options.stop_after.empty())
    require_one_of("--stop-after", options.stop_after, forms);
  else if (!options.dump.empty())
    refuse_option("--dump", "--dump needs --stop-after", "as in --stop-after graph --dump graph.txt");
  require_one_of("--trace-detail", options.trace_detail, details);
  if (options.trace.empty() && (!options.trace_ranks.empty() || options.trace_detail != "chunk"))
    refuse_option("--trace", "--trace-ranks and --trace-detail need --trace", "as in --trace step.json.gz");
  engine_by_name(options.engine.engine);
  fold_by_name(options.engine.fold);
}

}  // namespace

int command_run(const Invocation& invocation, std::ostream& out) {
  const auto began = std::chrono::steady_clock::now();
  namespace po = boost::program_options;
  CommonOptions common;
  RunOptions options;
  po::options_description extra;
  add_engine_options(extra, options.engine);
  extra.add_options()(
      "trace", po::value(&options.trace)->value_name("FILE|DIR/"),
      "write the timeline as a Chrome trace: FILE.json[.gz] for viewers, DIR/ one file a rank for HTA")(
      "trace-ranks", po::value(&options.trace_ranks)->value_name("LIST"),
      "ranks in the trace, as in 0,8,16-23")(
      "trace-detail", po::value(&options.trace_detail)->value_name("chunk|kernel"),
      "slices a chunk or a kernel long")("stop-after", po::value(&options.stop_after)->value_name("FORM"),
                                         "end with layout, schedule, graph or timeline")(
      "dump", po::value(&options.dump)->value_name("FILE|-"),
      "where --stop-after writes its text; stdout by default")(
      "links", po::value(&options.links)->value_name("FILE.csv|-"),
      "write what each link carried, and for whom, as CSV")(
      "expect", po::value(&options.expect)->value_name("KEY<=VALUE"),
      "exit 1 where a figure of the JSON misses (repeatable)");
  const CommandHelp help{"run", "SCENARIO",
                         "Simulates one training step and reports where its time and bytes go."};
  if (!parse_words(invocation, help, extra, common, out)) return kDone;
  check_options(options, common);
  std::vector<Expectation> expectations;
  for (const auto& text : options.expect) expectations.push_back(parse_expectation(text));
  const Plan plan = load(common, invocation.roots);
  if (!options.stop_after.empty()) return dump_form(options, plan, out);
  Step step = simulate(plan, step_options(options.engine));
  if (!options.trace.empty()) write_trace(options, plan.scenario, step, common.quiet);
  if (!options.links.empty()) write_output(options.links, to_csv(step.links, step.report.step_time_s), out);
  step.report.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  const std::string json = to_json(step.report, plan.scenario);
  const bool expected = check_expectations(expectations, json);
  emit(common, to_table(step.report, plan.scenario, table_style()), json, out);
  return step.report.memory.fits && expected ? kDone : kVerdictFails;
}

}  // namespace rehearse
