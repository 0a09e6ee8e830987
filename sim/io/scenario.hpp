// Scenario files: what is to be rehearsed.
#pragma once
#include <string>
#include <vector>

#include "sim/io/paths.hpp"
#include "sim/io/scenario_files.hpp"
#include "sim/spec/job.hpp"

namespace rehearse {

// Reads a scenario with the model, topology and profile that it names and applies the settings
// (KEY.PATH=VALUE) to it. "-" reads standard input. Throws InputErrors: all that is wrong with single fields.
// resolve() (step/plan.hpp) holds them against each other.
Job read_job(const std::string& path, const std::vector<std::string>& sets, const DataRoots& roots);
// The same for one of many scenarios that share files; `files` keeps what they hold.
Job read_job(const std::string& path, const std::vector<std::string>& sets, const DataRoots& roots,
             ScenarioFiles& files);

// The same with the text that it was read from.
struct ReadScenario {
  Scenario scenario;
  DocNode root;                    // settings applied; the keys of the model and the topology in their place
  std::vector<std::string> files;  // that it names, itself first, in order
};
ReadScenario read_scenario(const std::string& path, const std::vector<std::string>& sets,
                           const DataRoots& roots, ScenarioFiles& files);
// The files alone, whatever else is wrong; those that are not there are left out.
std::vector<std::string> files_of_scenario(const std::string& path, const std::vector<std::string>& sets,
                                           const DataRoots& roots, ScenarioFiles& files);

}  // namespace rehearse
