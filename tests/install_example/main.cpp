// A program of another project that rehearses a step: install_example SCENARIO [KEY=VALUE...]
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/graph/lower.hpp"
#include "sim/io/scenario.hpp"
#include "sim/report/report.hpp"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: install_example SCENARIO [KEY=VALUE...]\n");
    return 2;
  }
  try {
    const rehearse::DataRoots roots{{REHEARSE_DATA}};
    const std::vector<std::string> sets(argv + 2, argv + argc);
    const auto loaded = rehearse::load_scenario(rehearse::resolve_scenario(argv[1], roots), sets, roots);
    const auto graph = rehearse::lower(loaded.scenario, loaded.schedule);
    auto timeline = rehearse::run_simgrid(graph);
    timeline.step = rehearse::step_time(graph, timeline);
    const auto report = rehearse::make_report(loaded.scenario, loaded.schedule, graph, timeline);
    std::printf("step_time_s %.17g\n", report.step_time_s);
    return report.memory.fits ? 0 : 1;
  } catch (const std::exception& found) {
    std::fputs(found.what(), stderr);
    return 2;
  }
}
