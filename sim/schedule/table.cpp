#include <algorithm>
#include <cstdio>
#include <optional>

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/text.hpp"
#include "sim/schedule/builders.hpp"
#include "sim/schedule/shape.hpp"

namespace rehearse {

// Some 16 bytes an action: 128 stages of 8,192 micro-batches, split backward.
static constexpr size_t kMostScheduleBytes = size_t{256} << 20;

static constexpr Named<ScheduleKind> kSchedules[] = {
    {"gpipe", "all forwards, then all backwards; holds every micro-batch", {build_gpipe}},
    {"1f1b", "one forward, one backward; stage s holds p - s micro-batches", {build_one_f_one_b}},
    {"interleaved",
     "1F1B over several chunks a stage; a v-th of the bubble",
     {build_interleaved, 2, kAnyChunks, Placement::looped, MicroRule::multiple}},
    {"interleaved-short",
     "interleaved with the warm-up of 1F1B: fewer live chunks, more bubble",
     {build_interleaved_short, 2, kAnyChunks, Placement::looped, MicroRule::multiple}},
    {"looped-bfs",
     "breadth first: all micro-batches through one chunk, then through the next",
     {build_looped_bfs, 1, kAnyChunks}},
    {"zb-h1",
     "split backward, memory of 1F1B, a third of its bubble",
     {.build = build_zb_h1, .splits = true}},
    {"zb-h2",
     "split backward, memory of 2 p - 1 micro-batches, almost no bubble",
     {.build = build_zb_h2, .splits = true, .searches = true}},
    {"zb-1p",
     "split backward, searched at the costs, memory of p micro-batches",
     {.build = build_zb_1p, .splits = true, .searches = true}},
    {"zb-2p",
     "split backward, searched at the costs, memory of 2 p micro-batches",
     {.build = build_zb_2p, .splits = true, .searches = true}},
    {"zb-v",
     "split backward on a V of 2 chunks a stage, memory of 1F1B, almost no bubble",
     {.build = build_zb_v,
      .min_chunks = 2,
      .max_chunks = 2,
      .placement = Placement::vee,
      .splits = true,
      .searches = true}},
    {"zb-v-half",
     "the same with half of that memory",
     {.build = build_zb_v_half,
      .min_chunks = 2,
      .max_chunks = 2,
      .placement = Placement::vee,
      .splits = true}},
    {"zb-v-min",
     "the same with a third of that memory",
     {.build = build_zb_v_min,
      .min_chunks = 2,
      .max_chunks = 2,
      .placement = Placement::vee,
      .splits = true}},
    {"dualpipe",
     "micro-batches from both ends; each stage holds two stages' parameters",
     {build_dualpipe, 2, 2, Placement::bidirectional, MicroRule::two_ways, true, true}},
    {"dualpipe-v",
     "the order of dualpipe on a V of 2 chunks a stage",
     {build_dualpipe_v, 2, 2, Placement::vee, MicroRule::two_waves, false, true}},
    {"auto",
     "the best order found at the costs, within the memory of 1F1B or --memory",
     {.build = build_auto, .max_chunks = kAnyChunks, .splits = true, .searches = true}},
};

std::span<const Named<ScheduleKind>> schedule_table() { return kSchedules; }

void check_shape(const PipelineShape& shape, const std::string& file) {
  constexpr int64_t most = int64_t(1) << 23;  // actions; a step of as many takes about 5 GB
  const bool positive = shape.stages >= 1 && shape.micro_batches >= 1 && shape.chunks >= 1;
  const bool small = positive && int64_t(shape.stages) * shape.chunks <= most / shape.micro_batches / 2;
  if (small && (shape.placement == Placement::looped || shape.chunks == 2)) return;
  const std::string text = std::to_string(shape.stages) + " stages, " + std::to_string(shape.micro_batches) +
                           " micro-batches, " + std::to_string(shape.chunks) + " chunks a stage";
  const Place place{file, 0, 0, ""};
  if (!positive)
    throw InputErrors(
        {place, "schedule", "E-SCHEDULE-SHAPE", "a pipeline cannot have " + text, "each must be at least 1"});
  if (small)
    throw InputErrors({place, "schedule", "E-SCHEDULE-SHAPE",
                       "chunks that do not lie in a loop are 2 a stage, not " + std::to_string(shape.chunks),
                       "try --set layout.chunks=2"});
  throw InputErrors({place, "schedule", "E-SCHEDULE-SHAPE",
                     "a schedule for " + text + " has too many actions", "at most " + std::to_string(most)});
}

static InputError unfit(const char* code, std::string_view name, std::string message, std::string hint) {
  return {
      {}, "schedule", code, "schedule '" + std::string(name) + "' " + std::move(message), std::move(hint)};
}

const Named<ScheduleKind>* find_schedule(std::string_view name) { return find_named(kSchedules, name); }

const ScheduleKind& schedule_kind(std::string_view name) {
  if (const auto* row = find_named(kSchedules, name)) return row->value;
  const auto names = names_in(kSchedules);
  throw InputErrors({{},
                     "schedule",
                     "E-SCHEDULE-NAME",
                     "no schedule is called " + quote(name),
                     suggest(name, names) + ", or the path of a .csv"});
}

static std::optional<InputError> chunks_misfit(std::string_view name, const ScheduleKind& kind,
                                               const PipelineShape& shape) {
  const int chunks = shape.chunks;
  const std::string v = std::to_string(chunks);
  if (chunks > kind.max_chunks && kind.max_chunks == 1)
    return unfit("E-SCHEDULE-CHUNKS", name, "runs one chunk a stage, not " + v,
                 "try --set layout.chunks=1, or --set schedule=" +
                     std::string(shape.micro_batches % shape.stages == 0 ? "interleaved" : "looped-bfs"));
  if (chunks >= kind.min_chunks && chunks <= kind.max_chunks) return std::nullopt;
  if (kind.max_chunks == kind.min_chunks)
    return unfit("E-SCHEDULE-CHUNKS", name,
                 "runs " + std::to_string(kind.min_chunks) + " chunks a stage, not " + v,
                 "try --set layout.chunks=" + std::to_string(kind.min_chunks));
  return unfit("E-SCHEDULE-CHUNKS", name, "needs at least 2 chunks a stage",
               "try --set layout.chunks=2, or --set schedule=1f1b");
}

static std::optional<InputError> micro_misfit(std::string_view name, MicroRule rule,
                                              const PipelineShape& shape) {
  const std::string m = std::to_string(shape.micro_batches), p = std::to_string(shape.stages);
  const std::string hint = "micro-batches = batch.global / (batch.micro x layout.dp)";
  if (rule == MicroRule::multiple && shape.micro_batches % shape.stages != 0)
    return unfit("E-SCHEDULE-MICRO", name,
                 "needs micro-batches in multiples of the stages, and " + m + " is no multiple of " + p,
                 hint);
  const bool waves = rule == MicroRule::two_waves || rule == MicroRule::two_ways;
  if (waves && shape.micro_batches < 2 * shape.stages)
    return unfit("E-SCHEDULE-MICRO", name,
                 "needs at least two micro-batches a stage, and " + m + " are fewer than 2 x " + p, hint);
  if (rule == MicroRule::two_ways && shape.micro_batches % 2 != 0)
    return unfit("E-SCHEDULE-MICRO", name, "sends half of the micro-batches each way, and " + m + " is odd",
                 hint);
  return std::nullopt;
}

// A search looks at each cell some hundred times, and at more stages for longer: seconds at these bounds.
static std::optional<InputError> search_misfit(std::string_view name, const PipelineShape& shape) {
  constexpr int64_t most = int64_t(1) << 19, most_by_stages = int64_t(1) << 26;
  const int64_t cells = int64_t(shape.stages) * shape.micro_batches * shape.chunks;
  if (cells <= most && cells * shape.stages <= most_by_stages) return std::nullopt;
  return unfit("E-SCHEDULE-SHAPE", name,
               "is searched for, and " + std::to_string(shape.stages) + " stages x " +
                   std::to_string(shape.micro_batches) + " micro-batches x " + std::to_string(shape.chunks) +
                   " chunks are too many: at most " +
                   std::to_string(std::min(most, most_by_stages / shape.stages)),
               shape.chunks == 1 ? "zb-h1 is built without a search" : "zb-v-half is built without a search");
}

std::vector<InputError> misfits(std::string_view name, const ScheduleKind& kind, const PipelineShape& shape) {
  std::vector<InputError> errors;
  if (auto error = chunks_misfit(name, kind, shape)) errors.push_back(std::move(*error));
  if (auto error = micro_misfit(name, kind.micro, shape)) errors.push_back(std::move(*error));
  if (auto error = kind.searches ? search_misfit(name, shape) : std::nullopt)
    errors.push_back(std::move(*error));
  if (kind.even_stages && shape.stages % 2 != 0)
    errors.push_back(unfit("E-SCHEDULE-STAGES", name,
                           "pairs the stages, and " + std::to_string(shape.stages) + " is odd",
                           "only an even layout.pp can be paired"));
  return errors;
}

std::string number_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", number);
  return text;
}

Schedule build_schedule(std::string_view name, const PipelineShape& shape, const BuildOptions& options) {
  const ScheduleKind& kind = schedule_kind(name);
  PipelineShape placed = shape;
  placed.placement = kind.placement;
  check_shape({shape.stages, shape.micro_batches, shape.chunks}, "");
  if (auto errors = misfits(name, kind, placed); !errors.empty()) throw InputErrors(std::move(errors));
  return kind.build(placed, options);
}

Schedule load_schedule(const std::string& name_or_csv, const PipelineShape& shape,
                       const BuildOptions& options) {
  if (!name_or_csv.ends_with(".csv")) return build_schedule(name_or_csv, shape, options);
  const auto refuse = [&](const std::string& message) {
    throw InputErrors({{name_or_csv, 0, 0, ""}, "schedule", "E-SCHEDULE-FILE", message, ""});
  };
  std::string text;
  try {
    text = read_file(name_or_csv, {}, kMostScheduleBytes);
  } catch (const InputErrors& found) {
    if (found.errors[0].code != "E-FILE-READ") throw;
    refuse("the schedule cannot be read: " + found.errors[0].message);
  }
  if (text.empty()) refuse("the schedule is empty");
  return from_csv(text, name_or_csv, shape);
}

}  // namespace rehearse
