// Checks that builders and readers of schedules share.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/schedule/dependencies.hpp"

namespace rehearse {

// Throws E-SCHEDULE-SHAPE where a count is below 1 or the actions would not fit in memory.
void check_shape(const PipelineShape& shape, const std::string& file);

// Why the built-in schedule cannot run a shape; empty where it can.
std::vector<InputError> misfits(std::string_view name, const ScheduleKind& kind, const PipelineShape& shape);

// "8", "2.5".
std::string number_text(double number);

// validate() with the place of an action in its text; of the text as a whole where the position is not valid.
using PlaceOf = std::function<Place(ActionPosition)>;
void validate_at(const Schedule& schedule, const PlaceOf& place_of);

// `errors`, or the first of them and a last one that counts the rest.
std::vector<InputError> shorten(std::vector<InputError> errors);

}  // namespace rehearse
