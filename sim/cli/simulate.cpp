#include "sim/cli/simulate.hpp"

#include <unistd.h>

#include <boost/program_options/value_semantic.hpp>
#include <cstdlib>

#include "sim/base/text.hpp"
#include "sim/graph/schedules.hpp"
#include "sim/spec/check.hpp"

namespace rehearse {

void add_engine_options(boost::program_options::options_description& options, EngineOptions& values) {
  namespace po = boost::program_options;
  options.add_options()("engine", po::value(&values.engine)->value_name("NAME"),
                        "simgrid (flows share links, the default) or ideal (no contention)")(
      "fold", po::value(&values.fold)->value_name("auto|off"),
      "simulate alike ranks once (auto) or every rank (off)");
}

Engine engine_by_name(const std::string& name) { return engine_row(name).value; }

Named<Engine> engine_row(const std::string& name) {
  std::vector<std::string_view> names;
  for (const auto& row : engine_table()) {
    if (row.name == name) return row;
    names.push_back(row.name);
  }
  throw InputErrors(
      InputError{{}, "--engine", "E-CLI", "unknown engine " + quote(name), suggest(name, names)});
}

bool fold_by_name(const std::string& name) {
  if (name == "auto") return true;
  if (name == "off") return false;
  static constexpr std::string_view names[] = {"auto", "off"};
  throw InputErrors(InputError{
      {}, "--fold", "E-CLI", "--fold takes auto or off, not " + quote(name), suggest(name, names)});
}

Rehearsed simulate(const Scenario& scenario, const Schedule& schedule, const EngineOptions& options) {
  const Engine engine = engine_by_name(options.engine);
  Rehearsed done;
  done.graph = lower(scenario, schedule, {.fold = fold_by_name(options.fold)});
  done.timeline = engine(done.graph);
  done.timeline.step = step_time(done.graph, done.timeline);
  done.report = make_report(scenario, schedule, done.graph, done.timeline);
  done.links = link_loads(scenario, done.graph, done.timeline);
  done.report.link_classes = link_classes(done.links, done.timeline.step);
  done.report.most_loaded = most_loaded(done.links, 3);
  return done;
}

Rehearsed simulate(const LoadedScenario& loaded, const EngineOptions& options) {
  try {
    return simulate(loaded.scenario, loaded.schedule, options);
  } catch (const InputErrors& found) {
    auto errors = found.errors;
    for (auto& error : errors)
      if (error.place.file.empty() && loaded.places.given(error.key_path))
        error.place = loaded.places.find(error.key_path);
    throw InputErrors(std::move(errors));
  }
}

double step_time_of(Scenario scenario, const EngineOptions& options) {
  scenario.layout.placement = Placement::looped;
  place_chunks(scenario, {.chunks = true});
  check(scenario);
  const auto schedule = make_schedule(scenario);
  const TaskGraph graph = lower(scenario, schedule, {.fold = fold_by_name(options.fold)});
  return step_time(graph, engine_by_name(options.engine)(graph));
}

TableStyle table_style() {
  const bool tty = isatty(STDOUT_FILENO) == 1;
  return {.unicode = tty, .colour = tty && !std::getenv("NO_COLOR")};
}

}  // namespace rehearse
