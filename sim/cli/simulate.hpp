// The whole way of one scenario: lowering, replay, report. What several commands share.
#pragma once
#include <boost/program_options/options_description.hpp>
#include <chrono>

#include "sim/engine/engine.hpp"
#include "sim/graph/lower.hpp"
#include "sim/io/scenario.hpp"
#include "sim/report/report.hpp"

namespace rehearse {

struct EngineOptions {
  std::string engine = "simgrid";
  std::string fold = "auto";
};
void add_engine_options(boost::program_options::options_description& options, EngineOptions& values);

// By name; throws InputErrors (E-CLI) with the valid names.
Engine engine_by_name(const std::string& name);
Named<Engine> engine_row(const std::string& name);
bool fold_by_name(const std::string& name);

struct Rehearsed {
  TaskGraph graph;
  Timeline timeline;
  Report report;
  std::vector<LinkLoad> links;
};
Rehearsed simulate(const Scenario& scenario, const Schedule& schedule, const EngineOptions& options);
// The same; what it throws about a key has the key's place.
Rehearsed simulate(const LoadedScenario& loaded, const EngineOptions& options);

// The same scenario with another schedule or layout; builds the schedule anew.
double step_time_of(Scenario scenario, const EngineOptions& options);

// How stdout can be drawn on.
TableStyle table_style();

}  // namespace rehearse
