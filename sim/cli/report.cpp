// rehearse report: results as one page, and their figures for papers.
#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options/value_semantic.hpp>
#include <filesystem>
#include <iostream>

#include "sim/base/file.hpp"
#include "sim/base/text.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/report_store.hpp"
#include "sim/cli/simulate.hpp"
#include "sim/schedule/svg.hpp"
#include "sim/view/figures.hpp"
#include "sim/view/page.hpp"

namespace rehearse {

namespace {

struct ReportOptions {
  std::vector<std::string> inputs, sets;
  std::string output, svg;  // page, folder of figures
  bool quiet = false;
  EngineOptions engine;
};

struct DrawnFigure {
  std::string file, svg;
};
// What is to be written.
struct Results {
  Page page;
  std::vector<FigureRun> runs;
  std::vector<DrawnFigure> figures;
};

[[noreturn]] void refuse_as(const std::string& code, const std::string& message, const std::string& hint) {
  throw InputErrors(InputError{{}, "", code, message, hint});
}

bool read_options(const Invocation& invocation, ReportOptions& options, std::ostream& out) {
  namespace po = boost::program_options;
  po::options_description visible;
  visible.add_options()("output,o", po::value(&options.output)->value_name("FILE|-"), "the page: step.html")(
      "svg", po::value(&options.svg)->value_name("DIR"), "each figure as an SVG in this folder")(
      "set", po::value(&options.sets)->value_name("KEY.PATH=VALUE"),
      "vary every scenario (repeatable; null removes the key)")("quiet", po::bool_switch(&options.quiet),
                                                                "no notes or warnings on stderr");
  add_engine_options(visible, options.engine);
  const CommandHelp help{
      "report", "RESULT...",
      "Shows results as one page that needs no network: scenarios, which are simulated, "
      "stores of sweeps, and what run, sensitivity and score wrote with --json. Several are compared.",
      1, 64};
  const auto inputs = parse_words(invocation.words, help, visible, out);
  if (!inputs) return false;
  options.inputs = *inputs;
  if (options.output.empty() && options.svg.empty())
    refuse_as("E-CLI", "neither a page nor figures are asked for", "try -o step.html, or --svg figures");
  claim_outputs({{"-o", options.output}});
  engine_by_name(options.engine.engine), fold_by_name(options.engine.fold);
  if (!options.output.empty() && page_template().empty())
    refuse_as("E-REPORT-BUILD", "this build has no page: node, npm or their packages were missing",
              "install nodejs and npm (tools/setup does), then configure and build again");
  return true;
}

// A name that is a file's anywhere, and not taken by another figure.
std::string file_name(const std::vector<DrawnFigure>& figures, const std::string& run,
                      const std::string& what) {
  std::string stem;
  for (char c : run) stem += std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' ? c : '-';
  for (int n = 1;; ++n) {
    std::string name = fmt::format("{}{}-{}.svg", stem, n > 1 ? fmt::format("-{}", n) : "", what);
    if (std::none_of(figures.begin(), figures.end(), [&](const DrawnFigure& d) { return d.file == name; }))
      return name;
  }
}

void add_figure(Results& results, const std::string& run, const std::string& what, std::string svg) {
  std::string name = file_name(results.figures, run, what);
  results.figures.push_back({std::move(name), std::move(svg)});
}

void add_simulated(Results& results, const std::string& input, const ReportOptions& options,
                   const DataRoots& roots) {
  const std::string path = resolve_scenario(input, roots);
  const Plan plan = resolve(read_job(path, options.sets, roots));
  print_warnings(plan.scenario.warnings, options.quiet);
  const Step step = simulate(plan, step_options(options.engine));
  const Report& report = step.report;
  results.page.runs.push_back(page_run(input, path == "-" ? "" : read_file(path), options.sets, plan.scenario,
                                       report, page_timeline(step.graph, step.timeline, plan.schedule)));
  results.runs.push_back(figure_run(report));
  if (options.svg.empty()) return;
  const SvgPanel panel{fmt::format("{}: step {:.4g} s", report.name, report.step_time_s), plan.schedule,
                       action_spans(step.graph, step.timeline, plan.schedule)};
  add_figure(results, report.name, "timeline", draw_svg({panel}));
  add_figure(results, report.name, "memory", memory_svg(report.memory, report.step_time_s));
}

// Whether a file holds a JSON object; what is no file may be the name of a scenario.
bool holds_json(const std::string& input, std::string& text) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(input, failed)) return false;
  text = read_file(input);
  const size_t at = text.find_first_not_of(" \t\r\n");
  return at != std::string::npos && text[at] == '{' && !input.ends_with(".yaml");
}

void add_result(Results& results, const std::string& input, const ReportOptions& options,
                const DataRoots& roots) {
  if (is_store(input)) {
    const PageSweep sweep = read_sweep(input);
    if (!options.svg.empty())
      add_figure(results, sweep.name, "front",
                 pareto_svg(fmt::format("{}: layouts that fit, and their front", sweep.name),
                            trade_offs(sweep), sweep.capacity_bytes));
    results.page.sweeps.push_back(page_sweep(sweep));
    return;
  }
  std::string text;
  if (!holds_json(input, text)) {
    add_simulated(results, input, options, roots);
    return;
  }
  PagePart part = page_part(input, text);
  if (part.kind == PagePart::Kind::run) results.runs.push_back(figure_run(text));
  auto& list = part.kind == PagePart::Kind::run           ? results.page.runs
               : part.kind == PagePart::Kind::sensitivity ? results.page.sensitivities
                                                          : results.page.scores;
  list.push_back(std::move(part.json));
}

void write_page(const Page& page, const ReportOptions& options, std::ostream& out) {
  const std::string text = fill_page(page_template(), page_payload(page));
  write_output(options.output, text, out);
  if (!options.quiet && options.output != "-")
    std::cerr << fmt::format("page: {}, {:.2f} MB\n", options.output, double(text.size()) / 1e6);
}

void write_figures(Results& results, const ReportOptions& options, std::ostream& out) {
  for (const auto& run : results.runs) add_figure(results, run.label, "memory-peak", memory_peak_svg(run));
  if (!results.runs.empty()) results.figures.push_back({"account.svg", account_svg(results.runs)});
  std::vector<std::pair<std::string, std::string>> outputs{{"-o", options.output}};
  for (const auto& figure : results.figures) outputs.emplace_back("--svg", options.svg + "/" + figure.file);
  claim_outputs(outputs);
  std::error_code failed;
  std::filesystem::create_directories(options.svg, failed);
  if (failed)
    refuse_as("E-FILE-WRITE", "cannot make the folder " + quote(options.svg) + ": " + failed.message(), "");
  for (const auto& figure : results.figures) write_output(options.svg + "/" + figure.file, figure.svg, out);
  if (!options.quiet) std::cerr << fmt::format("figures: {} in {}\n", results.figures.size(), options.svg);
}

}  // namespace

int command_report(const Invocation& invocation, std::ostream& out) {
  ReportOptions options;
  if (!read_options(invocation, options, out)) return kDone;
  Results results{.page = {.version = REHEARSE_VERSION}};
  for (const auto& input : options.inputs) add_result(results, input, options, invocation.roots);
  if (!options.svg.empty()) write_figures(results, options, out);
  if (!options.output.empty()) write_page(results.page, options, out);
  return kDone;
}

}  // namespace rehearse
