// Work as JSON, as samples hold it.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "calibration/work/work.hpp"

namespace rehearse::calibration {

nlohmann::ordered_json to_json(const Work& work);
// Throws JsonProblem (calibration/samples/json.hpp).
Work work_from(const nlohmann::json& object);

}  // namespace rehearse::calibration
