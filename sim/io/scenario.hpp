// Scenario files: what is to be rehearsed.
#pragma once
#include <string>
#include <vector>

#include "sim/io/paths.hpp"
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

}  // namespace rehearse
