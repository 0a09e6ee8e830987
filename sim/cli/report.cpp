// rehearse report: results as one page, and their figures for papers.
#include <fmt/format.h>

#include <boost/program_options/value_semantic.hpp>
#include <filesystem>
#include <iostream>

#include "sim/base/text.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/simulate.hpp"
#include "sim/io/file.hpp"
#include "sim/report/page.hpp"

namespace rehearse {

namespace {

struct ReportOptions {
  std::vector<std::string> inputs, sets;
  std::string output;
  bool quiet = false;
  EngineOptions engine;
};

[[noreturn]] void refuse(const std::string& code, const std::string& message, const std::string& hint) {
  throw InputErrors(InputError{{}, "", code, message, hint});
}

bool read_options(const Invocation& invocation, ReportOptions& options, std::ostream& out) {
  namespace po = boost::program_options;
  po::options_description visible;
  visible.add_options()("output,o", po::value(&options.output)->value_name("FILE|-"),
                        "the page, as in -o step.html")(
      "set", po::value(&options.sets)->value_name("KEY.PATH=VALUE"),
      "vary every scenario (repeatable; null removes the key)")("quiet", po::bool_switch(&options.quiet),
                                                                "no notes or warnings on stderr");
  add_engine_options(visible, options.engine);
  const CommandHelp help{"report", "RESULT...",
                         "Shows results as one page that needs no network: scenarios, which are simulated, "
                         "and what run, sensitivity and score wrote with --json. Several are compared.",
                         1, 64};
  const auto inputs = parse_words(invocation.words, help, visible, out);
  if (!inputs) return false;
  options.inputs = *inputs;
  if (options.output.empty()) refuse("E-CLI", "no page is asked for", "name one with -o, as in -o step.html");
  check_outputs(options.inputs, {{"-o", options.output}});
  engine_by_name(options.engine.engine), fold_by_name(options.engine.fold);
  if (page_template().empty())
    refuse("E-REPORT-BUILD", "this build has no page: node, npm or their packages were missing",
           "install nodejs and npm (tools/setup does), then configure and build again");
  return true;
}

std::string simulated_run(const std::string& input, const ReportOptions& options, const DataRoots& roots) {
  const std::string path = resolve_scenario(input, roots);
  const LoadedScenario loaded = load_scenario(path, options.sets, roots);
  print_warnings(loaded.scenario.warnings, options.quiet);
  const Rehearsed done = simulate(loaded.scenario, loaded.schedule, options.engine);
  return page_run(input, path == "-" ? "" : read_file(path), options.sets, loaded.scenario, done.report,
                  page_timeline(done.graph, done.timeline, loaded.schedule),
                  page_links(loaded.scenario, done.graph));
}

// Whether a file holds a JSON object; what is no file may be the name of a scenario.
bool holds_json(const std::string& input, std::string& text) {
  if (!std::filesystem::is_regular_file(input)) return false;
  text = read_file(input);
  const size_t at = text.find_first_not_of(" \t\r\n");
  return at != std::string::npos && text[at] == '{' && !input.ends_with(".yaml");
}

void add_result(Page& page, const std::string& input, const ReportOptions& options, const DataRoots& roots) {
  std::string text;
  if (!holds_json(input, text)) {
    page.runs.push_back(simulated_run(input, options, roots));
    return;
  }
  PagePart part = page_part(input, text);
  auto& list = part.kind == PagePart::Kind::run           ? page.runs
               : part.kind == PagePart::Kind::sensitivity ? page.sensitivities
                                                          : page.scores;
  list.push_back(std::move(part.json));
}

}  // namespace

int command_report(const Invocation& invocation, std::ostream& out) {
  ReportOptions options;
  if (!read_options(invocation, options, out)) return kDone;
  Page page{.version = REHEARSE_VERSION};
  for (const auto& input : options.inputs) add_result(page, input, options, invocation.roots);
  const std::string text = fill_page(page_template(), page_payload(page));
  write_output(options.output, text, out);
  if (!options.quiet && options.output != "-")
    std::cerr << fmt::format("page: {}, {:.2f} MB\n", options.output, double(text.size()) / 1e6);
  return kDone;
}

}  // namespace rehearse
