// rehearse schedules: several pipeline schedules on one scenario, side by side.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include "sim/base/file.hpp"
#include "sim/base/text.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/one_schedule.hpp"
#include "sim/schedule/svg.hpp"

namespace rehearse {

namespace {

using Json = nlohmann::ordered_json;

struct SchedulesOptions {
  CommonOptions common;
  CompareOptions compare;
  std::string names = "all", memory, svg;
  bool grid = false;
  int width = 120;
};

bool read_options(const Invocation& invocation, SchedulesOptions& options, std::ostream& out) {
  namespace po = boost::program_options;
  po::options_description extra("schedules");
  extra.add_options()  //
      ("schedules", po::value(&options.names)->value_name("all|A,B"), "which; default: all")(
          "memory", po::value(&options.memory)->value_name("BYTES|equal"),
          "compare at equal memory: each with the size of micro-batch that is fastest within it; equal = the "
          "device's")("grid", po::bool_switch(&options.grid), "draw them, two side by side")(
          "width", po::value(&options.width)->value_name("COLUMNS"),
          "of both drawings together; default: 120")("svg", po::value(&options.svg)->value_name("FILE|-"),
                                                     "draw them as SVG; - replaces the table");
  add_engine_options(extra, options.compare.engine);
  const CommandHelp help{"schedules", "SCENARIO",
                         "Compares pipeline schedules: step, bubble, memory and traffic of each."};
  if (!parse_words(invocation, help, extra, options.common, out)) return false;
  claim_outputs({{"--svg", options.svg}, {"--json", options.common.json}});
  if (options.width < 80 || options.width > 10000) refuse("--width takes 80 to 10000 columns", "");
  return true;
}

bool is_file(std::string_view name) { return name.ends_with(".csv"); }

std::vector<std::string> names_of(const std::string& list) {
  std::vector<std::string> names;
  if (list == "all") {
    for (const auto& row : schedule_table()) names.emplace_back(row.name);
    return names;
  }
  for (const std::string_view name : split(list, ',')) {
    if (!is_file(name)) schedule_kind(name);
    if (std::find(names.begin(), names.end(), name) != names.end())
      refuse(quote(name) + " is named twice", "");
    names.emplace_back(name);
  }
  return names;
}

double memory_of(const std::string& text, const Scenario& scenario) {
  if (text == "equal") return scenario.profile->memory_bytes.value;
  const auto parsed = parse_quantity(text, Dimension::bytes);
  if (!parsed.value) refuse("--memory: " + parsed.problem, parsed.hint);
  if (*parsed.value <= 0)
    refuse("--memory must be more than nothing, not " + quote(text), "as in --memory 60GiB");
  return *parsed.value;
}

// A file by its last part.
std::string shown(const std::string& schedule) {
  return is_file(schedule) ? schedule.substr(schedule.rfind('/') + 1) : schedule;
}

double pp_bytes(const Report& report) {
  double bytes = 0;
  for (const auto& row : report.ledger)
    if (row.axis == Axis::pp && row.collective == CollectiveOp::send_recv)
      bytes += row.bytes_sent_per_rank * row.ranks / report.ranks;
  return bytes;
}
double sent_bytes(const Report& report) {
  double bytes = 0;
  for (const auto& row : report.ledger) bytes += row.bytes_sent_per_rank * row.ranks / report.ranks;
  return bytes;
}

Json entry_of(const Compared& compared) {
  if (!compared.refused.empty())
    return {{"schedule", compared.schedule}, {"refused", compared.refused}, {"why", compared.why}};
  const Report& r = compared.step.report;
  Json stages = Json::array();
  for (const auto& stage : r.memory.stages) stages.push_back(stage.peak.total());
  Json entry{{"schedule", compared.schedule},
             {"step_time_s", r.step_time_s},
             {"bubble_fraction", r.bubble_fraction},
             {"peak_bytes", r.memory.peak_bytes},
             {"fits", r.memory.fits},
             {"chunks", compared.plan.scenario.layout.chunks},
             {"micro", compared.plan.scenario.batch.micro},
             {"micro_batches", compared.plan.scenario.micro_batches()},
             {"pipeline",
              {{"makespan_s", r.pipeline.makespan_s},
               {"bubble_fraction", r.pipeline.bubble_fraction},
               {"idle_over_ideal", r.pipeline.idle_over_ideal},
               {"peak_live", r.pipeline.peak_live}}},
             {"stage_peak_bytes", stages},
             {"pp_bytes_sent_per_rank", pp_bytes(r)},
             {"bytes_sent_per_rank", sent_bytes(r)},
             {"exposed_pp_s", r.account[size_t(Part::exposed_pp)]}};
  if (compared.split) entry["backward_split"] = "derived from the shapes of the GEMMs";
  if (!compared.plan.schedule.note.empty()) entry["note"] = compared.plan.schedule.note;
  return entry;
}

std::string to_table(const std::vector<Compared>& all, const Scenario& s, const SchedulesOptions& options) {
  std::string text = fmt::format(
      "{}: {} stage{}, {}\n\n{:<18} {:>2} {:>5} {:>9} {:>8} {:>8} {:>10} {:>22} {:>10}\n", s.name,
      s.layout.pp, s.layout.pp == 1 ? "" : "s",
      options.compare.memory ? fmt::format("at {:.4g} GiB a rank", *options.compare.memory / kGibi)
                             : fmt::format("{} micro-batches", s.micro_batches()),
      "schedule", "v", "micro", "step s", "bubble %", "peak GiB", "peak live", "GiB by stage, min-max",
      "PP GB sent");
  const Compared* fastest = nullptr;
  for (const auto& c : all) {
    if (!c.refused.empty()) {
      text += fmt::format("{:<18} refused: {} [{}]\n", shown(c.schedule), c.why, c.refused);
      continue;
    }
    const Report& r = c.step.report;
    double least = r.memory.peak_bytes;
    for (const auto& stage : r.memory.stages) least = std::min(least, stage.peak.total());
    const auto& live = r.pipeline.peak_live;
    text += fmt::format("{:<18} {:>2} {:>5} {:>9.4g} {:>8.2f} {:>8.2f} {:>10} {:>22} {:>10.4g}{}\n",
                        shown(c.schedule), c.plan.scenario.layout.chunks, c.plan.scenario.batch.micro,
                        r.step_time_s, 100 * r.bubble_fraction, r.memory.peak_bytes / kGibi,
                        *std::max_element(live.begin(), live.end()),
                        fmt::format("{:.2f}-{:.2f}", least / kGibi, r.memory.peak_bytes / kGibi),
                        pp_bytes(r) / 1e9, r.memory.fits ? "" : "  does not fit");
    if (r.memory.fits && (!fastest || r.step_time_s < fastest->step.report.step_time_s)) fastest = &c;
  }
  text += fastest ? fmt::format("\nfastest that fits {:.4g} GiB: {}\n", s.profile->memory_bytes.value / kGibi,
                                fastest->schedule)
                  : "\nnone fits\n";
  if (std::any_of(all.begin(), all.end(), [](const Compared& c) { return c.split && c.refused.empty(); }))
    text += "where the backward is split, its parts are derived from the shapes of the GEMMs\n";
  for (const auto& c : all)
    if (!c.plan.schedule.note.empty()) text += fmt::format("{}: {}\n", c.schedule, c.plan.schedule.note);
  return text;
}

std::vector<std::vector<ActionSpan>> spans_of(const Compared& c) {
  return action_spans(c.step.graph, c.step.timeline, c.plan.schedule);
}

// Lines of two texts beside each other.
std::string beside(const std::string& left, const std::string& right, size_t width) {
  const auto a = split(left, '\n'), b = split(right, '\n');
  std::string text;
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    std::string line = i < a.size() ? std::string(a[i]) : "";
    if (i < b.size() && !b[i].empty()) {
      line.resize(std::max(line.size(), width), ' ');
      line += "  " + std::string(b[i]);
    }
    text += line + "\n";
  }
  return text;
}

std::string grids(const std::vector<Compared>& all, int width) {
  std::vector<std::string> drawn;
  for (const auto& c : all)
    if (c.refused.empty())
      drawn.push_back(c.schedule + "\n" + draw_grid(c.plan.schedule, spans_of(c), {.width = width / 2 - 2}));
  std::string text;
  for (size_t i = 0; i < drawn.size(); i += 2)
    text += "\n" + beside(drawn[i], i + 1 < drawn.size() ? drawn[i + 1] : "", size_t(width / 2 - 1));
  return text;
}

std::string svg_of(const std::vector<Compared>& all) {
  std::vector<SvgPanel> panels;
  for (const auto& c : all)
    if (c.refused.empty()) {
      const Report& r = c.step.report;
      panels.push_back({fmt::format("{}: step {:.4g} s, bubble {:.2f} %, {:.2f} GiB", c.schedule,
                                    r.step_time_s, 100 * r.bubble_fraction, r.memory.peak_bytes / kGibi),
                        c.plan.schedule, spans_of(c)});
    }
  return draw_svg(panels);
}

}  // namespace

int command_schedules(const Invocation& invocation, std::ostream& out) {
  SchedulesOptions options;
  if (!read_options(invocation, options, out)) return kDone;
  auto names = names_of(options.names);
  engine_by_name(options.compare.engine.engine), fold_by_name(options.compare.engine.fold);
  // The scenario's own schedule is neither built nor held against its chunks.
  Job job = read_job(resolve_scenario(options.common.input, invocation.roots), options.common.sets,
                     invocation.roots);
  check(job.scenario, job.places);
  print_warnings(job.scenario.warnings, options.common.quiet);
  const std::string& own = job.scenario.schedule;
  for (const auto& name : names)
    if (is_file(name)) note_read(name);
  if (is_file(own)) note_read(own);
  if (options.names == "all" && is_file(own)) names.insert(names.begin(), own);
  if (!options.memory.empty()) options.compare.memory = memory_of(options.memory, job.scenario);
  const bool progress = !options.common.quiet && isatty(STDERR_FILENO) == 1;
  std::vector<Compared> all;
  for (const auto& name : names) {
    if (progress) std::cerr << "\r\x1b[K" << name;
    all.push_back(compare_one(job.scenario, name, options.compare));
  }
  if (progress) std::cerr << "\r\x1b[K";
  Json json{
      {"scenario", job.scenario.name}, {"stages", job.scenario.layout.pp}, {"schedules", Json::array()}};
  for (const auto& compared : all) json["schedules"].push_back(entry_of(compared));
  if (!options.svg.empty()) write_output(options.svg, svg_of(all), out);
  std::string table;
  if (options.svg != "-")
    table = to_table(all, job.scenario, options) + (options.grid ? grids(all, options.width) : "");
  emit(options.common, table, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n", out);
  const bool any_fits = std::any_of(all.begin(), all.end(), [](const Compared& c) {
    return c.refused.empty() && c.step.report.memory.fits;
  });
  return any_fits ? kDone : kVerdictFails;
}

}  // namespace rehearse
