// A program of another project that rehearses a step: install_example SCENARIO [KEY=VALUE...]
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "sim/io/scenario.hpp"
#include "sim/step/step.hpp"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: install_example SCENARIO [KEY=VALUE...]\n");
    return 2;
  }
  try {
    const rehearse::DataRoots roots{{REHEARSE_DATA}};
    const std::vector<std::string> sets(argv + 2, argv + argc);
    const auto job = rehearse::read_job(rehearse::resolve_scenario(argv[1], roots), sets, roots);
    const auto step = rehearse::simulate(rehearse::resolve(job));
    std::printf("step_time_s %.17g\n", step.report.step_time_s);
    return step.report.memory.fits ? 0 : 1;
  } catch (const std::exception& found) {
    std::fputs(found.what(), stderr);
    return 2;
  }
}
