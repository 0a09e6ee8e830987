// Requests of `rehearse batch`: a scenario and settings, one JSON object a line.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sim/io/scenario.hpp"

namespace rehearse {

// The object that a line holds, its keys not yet looked at. Throws InputErrors (E-BATCH-LINE).
nlohmann::ordered_json read_request(const std::string& line);

// What it asks for; as that of a scenario's path. Throws InputErrors (E-BATCH-LINE, E-KEY-*).
Job read_job(const nlohmann::ordered_json& request, const DataRoots& roots, ScenarioFiles& files);

}  // namespace rehearse
