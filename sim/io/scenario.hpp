// Scenario files: what is to be rehearsed.
#pragma once
#include <string>
#include <vector>

#include "sim/io/paths.hpp"
#include "sim/io/scenario_files.hpp"
#include "sim/schedule/schedule.hpp"
#include "sim/spec/check.hpp"

namespace rehearse {

struct LoadedScenario {
  Scenario scenario;
  Schedule schedule;  // what scenario.schedule asks for, in the scenario's shape; validated
  Places places;      // for errors that later checks find
};

// Reads a scenario with the model, topology and profile that it names, applies the settings (KEY.PATH=VALUE)
// to it, and cross-checks it (spec/check.hpp, schedule.hpp). "-" reads standard input. Throws InputErrors,
// all that was found at once.
LoadedScenario load_scenario(const std::string& path, const std::vector<std::string>& sets,
                             const DataRoots& roots);
// The same for one of many scenarios that share files; `files` keeps what they hold.
LoadedScenario load_scenario(const std::string& path, const std::vector<std::string>& sets,
                             const DataRoots& roots, ScenarioFiles& files);

// The same for schedules to be compared: the scenario's own is neither built nor held against its chunks.
LoadedScenario load_without_schedule(const std::string& path, const std::vector<std::string>& sets,
                                     const DataRoots& roots);

// The first half of it: what was asked for, not yet cross-checked, and without its schedule.
struct ReadScenario {
  Scenario scenario;
  DocNode root;                    // settings applied; the keys of the model and the topology in their place
  std::vector<std::string> files;  // that it names, itself first, in order
};
// Throws what reading alone finds.
ReadScenario read_scenario(const std::string& path, const std::vector<std::string>& sets,
                           const DataRoots& roots, ScenarioFiles& files);
// The files alone, whatever else is wrong; those that are not there are left out.
std::vector<std::string> files_of_scenario(const std::string& path, const std::vector<std::string>& sets,
                                           const DataRoots& roots, ScenarioFiles& files);

}  // namespace rehearse
