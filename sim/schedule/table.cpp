#include <algorithm>
#include <fstream>
#include <sstream>

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/schedule/builders.hpp"
#include "sim/schedule/shape.hpp"

namespace rehearse {

static constexpr Named<ScheduleKind> kSchedules[] = {
    {"gpipe",
     "all forwards, then all backwards; holds every micro-batch",
     {build_gpipe, false, false, false}},
    {"1f1b",
     "one forward, one backward; stage s holds p - s micro-batches",
     {build_one_f_one_b, false, false, false}},
    {"interleaved",
     "1F1B over several chunks a stage; a v-th of the bubble",
     {build_interleaved, true, true, true}},
};

std::span<const Named<ScheduleKind>> schedule_table() { return kSchedules; }

void check_shape(const PipelineShape& shape, const std::string& file) {
  constexpr int64_t most = int64_t(1) << 28;  // actions; beyond it memory ends before the answer does
  const bool positive = shape.stages >= 1 && shape.micro_batches >= 1 && shape.chunks >= 1;
  if (positive && int64_t(shape.stages) * shape.chunks <= most / shape.micro_batches / 2) return;
  const std::string text = std::to_string(shape.stages) + " stages, " + std::to_string(shape.micro_batches) +
                           " micro-batches, " + std::to_string(shape.chunks) + " chunks a stage";
  const Place place{file, 0, 0, ""};
  if (!positive)
    throw InputErrors(
        {place, "schedule", "E-SCHEDULE-SHAPE", "a pipeline cannot have " + text, "each must be at least 1"});
  throw InputErrors({place, "schedule", "E-SCHEDULE-SHAPE",
                     "a schedule for " + text + " has too many actions", "at most " + std::to_string(most)});
}

static InputError unfit(const char* code, std::string_view name, std::string message, std::string hint) {
  return {
      {}, "schedule", code, "schedule '" + std::string(name) + "' " + std::move(message), std::move(hint)};
}

Schedule build_schedule(std::string_view name, const PipelineShape& shape) {
  check_shape(shape, "");
  const auto* row = find_named(kSchedules, name);
  if (row == nullptr) {
    const auto names = names_in(kSchedules);
    throw InputErrors({{},
                       "schedule",
                       "E-SCHEDULE-NAME",
                       "no schedule is called " + quote(name),
                       suggest(name, names) + ", or the path of a .csv"});
  }
  const ScheduleKind& kind = row->value;
  const std::string v = std::to_string(shape.chunks), m = std::to_string(shape.micro_batches);
  std::vector<InputError> errors;
  if (shape.chunks > 1 && !kind.takes_chunks)
    errors.push_back(unfit("E-SCHEDULE-CHUNKS", name, "runs one chunk a stage, not " + v,
                           "set layout.chunks to 1, or schedule to interleaved"));
  if (shape.chunks == 1 && kind.needs_chunks)
    errors.push_back(unfit("E-SCHEDULE-CHUNKS", name, "needs at least 2 chunks a stage",
                           "set layout.chunks to 2 or more, or schedule to 1f1b"));
  if (shape.micro_batches % shape.stages != 0 && kind.needs_multiple)
    errors.push_back(unfit("E-SCHEDULE-MICRO", name,
                           "needs micro-batches in multiples of the stages, and " + m +
                               " is no multiple of " + std::to_string(shape.stages),
                           "micro-batches = batch.global / (batch.micro x layout.dp)"));
  if (!errors.empty()) throw InputErrors(std::move(errors));
  return kind.build(shape);
}

Schedule load_schedule(const std::string& name_or_csv, const PipelineShape& shape) {
  if (!name_or_csv.ends_with(".csv")) return build_schedule(name_or_csv, shape);
  std::ifstream in(name_or_csv, std::ios::binary);
  std::ostringstream text;
  if (in) text << in.rdbuf();
  if (!in || text.str().empty())
    throw InputErrors({{name_or_csv, 0, 0, ""},
                       "schedule",
                       "E-SCHEDULE-FILE",
                       in.is_open() ? "the schedule is empty" : "the schedule cannot be read",
                       ""});
  return from_csv(text.str(), name_or_csv, shape);
}

}  // namespace rehearse
