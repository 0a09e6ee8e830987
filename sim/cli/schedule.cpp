// rehearse schedule: draws the pipeline of a scenario and prints its figures.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <boost/program_options.hpp>
#include <nlohmann/json.hpp>
#include <optional>

#include "sim/account/report.hpp"
#include "sim/base/file.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/costs.hpp"
#include "sim/cli/simulate.hpp"
#include "sim/schedule/grid.hpp"

namespace rehearse {

namespace {

struct ScheduleOptions {
  CommonOptions common;
  std::optional<StageCosts> costs;
  std::string engine = "simgrid", grid = "auto", csv, csv_form = "long";
  int width = 0;
};

enum class GridLook { automatic, ascii, unicode, colour };
constexpr Named<GridLook> kGrids[] = {
    {"auto", "unicode on a terminal, else ascii", GridLook::automatic},
    {"ascii", "letters and dashes", GridLook::ascii},
    {"unicode", "block elements", GridLook::unicode},
    {"colour", "unicode on ANSI colours", GridLook::colour},
};

using CsvWriter = std::string (*)(const Schedule&);
constexpr Named<CsvWriter> kCsvForms[] = {
    {"long", "a line an action: stage, kind, chunk, micro-batch", to_csv},
    {"compact", "PyTorch's: a row a stage, cells like 2F0", to_compact_csv},
    {"lowered", "PyTorch's with sends and receives", to_lowered_csv},
};

template <class T>
std::string choices(std::span<const Named<T>> table) {
  std::string text;
  for (const auto& row : table) text += (text.empty() ? "" : ", ") + std::string(row.name);
  return text;
}

bool read_options(const Invocation& invocation, ScheduleOptions& options, std::ostream& out) {
  namespace po = boost::program_options;
  const std::string engines = "how to replay: " + choices(engine_table());
  const std::string grids = "look of the drawing: " + choices(std::span<const Named<GridLook>>(kGrids));
  const std::string forms = "of --csv: " + choices(std::span<const Named<CsvWriter>>(kCsvForms));
  po::options_description extra("schedule");
  extra.add_options()  //
      ("costs",
       po::value<std::string>()
           ->notifier([&](const std::string& text) { options.costs = parse_costs(text); })
           ->value_name("F=1,B=2,W=0,c=0"),
       "given costs instead of the scenario's kernels: seconds per micro-batch and stage; c delays each "
       "transfer")                                                                                          //
      ("engine", po::value(&options.engine)->value_name("NAME"), engines.c_str())                           //
      ("csv", po::value(&options.csv)->value_name("FILE|-"), "write the schedule; - replaces the drawing")  //
      ("csv-form", po::value(&options.csv_form)->value_name("FORM"), forms.c_str())                         //
      ("grid", po::value(&options.grid)->value_name("LOOK"), grids.c_str())                                 //
      ("width", po::value(&options.width)->value_name("COLUMNS"),
       "of the drawing; default: the terminal's, or 120");
  const CommandHelp help{"schedule", "SCENARIO",
                         "Draws the pipeline of a step and prints its bubble and live activations."};
  if (!parse_words(invocation, help, extra, options.common, out)) return false;
  claim_outputs({{"--csv", options.csv}, {"--json", options.common.json}});
  if (find_named(kCsvForms, options.csv_form) == nullptr)
    refuse("no form of CSV is called " + quote(options.csv_form),
           suggest(options.csv_form, names_in(kCsvForms)));
  if (options.csv.empty() && options.csv_form != "long") refuse("--csv-form needs --csv", "");
  if (options.width < 0 || (options.width > 0 && options.width < 40) || options.width > 10000)
    refuse("--width takes 40 to 10000 columns", "");
  return true;
}

GridStyle style_for(const ScheduleOptions& options) {
  const auto* row = find_named(kGrids, options.grid);
  if (row == nullptr)
    refuse("no grid is called " + quote(options.grid), suggest(options.grid, names_in(kGrids)));
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  GridStyle style;
  winsize size{};
  if (options.width > 0)
    style.width = options.width;
  else if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    style.width = size.ws_col;
  style.colour = row->value == GridLook::colour;
  style.unicode =
      style.colour || row->value == GridLook::unicode || (row->value == GridLook::automatic && terminal);
  return style;
}

// No order of these actions that holds as much is shorter; at given costs alone, as kernels may run slowed.
std::optional<double> bound_of(const Schedule& schedule, const ScheduleOptions& options) {
  if (!options.costs) return std::nullopt;
  const ScheduleCosts costs = schedule_costs(schedule.shape, *options.costs);
  return lower_bound(schedule.shape, costs, peak_held(schedule, costs.weight_hold));
}

std::string to_json(const Schedule& schedule, const PipelineFigures& figures, std::optional<double> bound) {
  nlohmann::ordered_json json{{"schedule", schedule.name},
                              {"stages", schedule.shape.stages},
                              {"micro_batches", schedule.shape.micro_batches},
                              {"chunks", schedule.shape.chunks},
                              {"pipeline",
                               {{"makespan_s", figures.makespan_s},
                                {"bubble_fraction", figures.bubble_fraction},
                                {"idle_over_ideal", figures.idle_over_ideal},
                                {"peak_live", figures.peak_live}}}};
  if (bound) json["lower_bound_s"] = *bound;
  if (!schedule.note.empty()) json["note"] = schedule.note;
  return json.dump(2) + "\n";
}

std::string to_table(const Schedule& schedule, const PipelineFigures& figures, std::optional<double> bound) {
  const PipelineShape& shape = schedule.shape;
  std::string text =
      fmt::format("\n{}: {} stages, {} micro-batches, {} chunk{} a stage\n", schedule.name, shape.stages,
                  shape.micro_batches, shape.chunks, shape.chunks == 1 ? "" : "s");
  text += fmt::format("  makespan         {:.6g} s, first forward to last backward\n", figures.makespan_s);
  text += fmt::format("  busy             {:.6g} s, mean over the ranks\n", figures.ideal_s);
  text += fmt::format("  idle share       {:.2f} % of the makespan\n", 100 * figures.bubble_fraction);
  text += fmt::format("  idle over ideal  {:.2f} %\n", 100 * figures.idle_over_ideal);
  text +=
      fmt::format("  peak live        {} chunk activations, by stage\n", fmt::join(figures.peak_live, " "));
  if (bound)
    text +=
        fmt::format("  lower bound      {:.6g} s for any order that holds as much; this is {:.2f} % above\n",
                    *bound, 100 * (figures.makespan_s / *bound - 1));
  if (!schedule.note.empty()) text += fmt::format("  note             {}\n", schedule.note);
  return text;
}

// A schedule that searches does so at the costs given.
void search_at(const StageCosts& costs, Plan& plan) {
  const auto* row = find_schedule(plan.scenario.schedule);
  if (row == nullptr || !row->value.searches) return;
  const PipelineShape& shape = plan.schedule.shape;
  BuildOptions options{.costs = schedule_costs(shape, costs), .max_live = plan.scenario.max_live};
  plan.schedule = build_schedule(row->name, shape, options);
}

}  // namespace

int command_schedule(const Invocation& invocation, std::ostream& out) {
  ScheduleOptions options;
  if (!read_options(invocation, options, out)) return kDone;
  const GridStyle style = style_for(options);
  const Engine engine = engine_by_name(options.engine);
  Plan plan = load(options.common, invocation.roots);
  if (options.costs) search_at(*options.costs, plan);
  const auto bound = bound_of(plan.schedule, options);

  const TaskGraph graph = options.costs ? lower_costs(plan.schedule, *options.costs) : lowered(plan);
  const Timeline timeline = engine(graph);
  const PipelineFigures figures = pipeline_figures(graph, timeline, plan.schedule);
  if (!options.csv.empty())
    write_output(options.csv, find_named(kCsvForms, options.csv_form)->value(plan.schedule), out);
  const std::string table =
      options.csv == "-" ? ""
                         : draw_grid(plan.schedule, action_spans(graph, timeline, plan.schedule), style) +
                               to_table(plan.schedule, figures, bound);
  emit(options.common, table, to_json(plan.schedule, figures, bound), out);
  return kDone;
}

}  // namespace rehearse
