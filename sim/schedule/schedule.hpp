// A pipeline schedule as data: per stage a list of compute actions. Communication is added later, by
// lowering.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/index.hpp"
#include "sim/base/names.hpp"
#include "sim/plan/layout.hpp"
#include "sim/schedule/costs.hpp"

namespace rehearse {

enum class ActionKind : uint8_t {
  forward,          // F
  backward,         // B: input and weight gradient together
  input_gradient,   // I
  weight_gradient,  // W
};

struct Action {
  ActionKind kind;
  ChunkId chunk;  // global chunk, 0 .. stages x chunks - 1; lives where stage_of() says
  MicroBatch micro;
  auto operator<=>(const Action&) const = default;
};

struct PipelineShape {
  int stages = 1;         // p
  int micro_batches = 1;  // m
  int chunks = 1;         // v, chunks a stage
  // vee and bidirectional have 2 chunks a stage. Of two copies of the model (bidirectional) the first takes
  // micro-batches 0 to (m + 1) / 2 - 1, the second the others.
  Placement placement = Placement::looped;
  bool operator==(const PipelineShape&) const = default;
};

// A send of what a forward or backward made, or the receive of what one needs, on the communication stream of
// a stage. Those with one `before` are issued together.
struct TransferStep {
  bool send = true;
  Action action;   // kind forward or backward, of the stage's own chunk
  int before = 0;  // index of the stage's action before which it is issued; their number = after the last
  bool operator==(const TransferStep&) const = default;
};
using TransferSteps = std::vector<std::vector<TransferStep>>;  // [stage], in order of issue

struct Schedule {
  std::string name;
  PipelineShape shape;
  std::vector<std::vector<Action>> stages = {};  // stages[s]: in order of execution
  std::string note = {};         // what a search says of its result, or where this differs from the paper
  TransferSteps transfers = {};  // where they are given; else see transfers.hpp
};

using ScheduleBuilder = Schedule (*)(const PipelineShape&, const BuildOptions&);

// Which micro-batch counts a schedule can run (E-SCHEDULE-MICRO).
enum class MicroRule : uint8_t {
  any,
  multiple,   // of p
  two_waves,  // at least 2p
  two_ways,   // even, at least 2p
};

struct ScheduleKind {
  ScheduleBuilder build;
  int min_chunks = 1, max_chunks = 1;  // of v (E-SCHEDULE-CHUNKS)
  Placement placement = Placement::looped;
  MicroRule micro = MicroRule::any;
  bool even_stages = false;  // p must be even (E-SCHEDULE-STAGES)
  bool splits = false;       // runs I and W
  bool searches = false;     // its order depends on the costs of the actions
  bool operator==(const ScheduleKind&) const = default;
};
inline constexpr int kAnyChunks = 1 << 20;

// The built-in schedules; to add one: one .cpp with its builder and one row in schedule/table.cpp.
std::span<const Named<ScheduleKind>> schedule_table();

// The row of a name, nullptr where there is none.
const Named<ScheduleKind>* find_schedule(std::string_view name);
// The row of a name; throws InputErrors (E-SCHEDULE-NAME).
const ScheduleKind& schedule_kind(std::string_view name);

// Builds by name, with the placement of that schedule; throws InputErrors with E-SCHEDULE-SHAPE, -NAME,
// -CHUNKS, -MICRO, -STAGES where name or shape do not fit, and -CAP where no order keeps to options.max_live.
Schedule build_schedule(std::string_view name, const PipelineShape& shape, const BuildOptions& options = {});

// What a scenario's `schedule:` asks for: a built-in name, or the path of a .csv, which is read and
// validated. Throws as build_schedule and from_csv do, and E-SCHEDULE-FILE where the file cannot be read.
Schedule load_schedule(const std::string& name_or_csv, const PipelineShape& shape,
                       const BuildOptions& options = {});

// What keeps a schedule from being run: a missing or doubled action, one on the wrong stage, or no progress.
// Throws InputErrors (E-SCHEDULE-SHAPE, -RANGE, -STAGE, -TWICE, -MISSING, -DEADLOCK); a deadlock names the
// cycle, then each stage's blocked action and what it waits for. Only the first 20 of a kind of trouble are
// listed.
void validate(const Schedule& schedule);

// Peak number of live chunk activations on each stage: a chunk's F makes one, its B (or W) frees it.
std::vector<int> peak_live(const Schedule& schedule);

// Largest number of chunk activations on a stage, those that wait for W alone counted at weight_hold.
double peak_held(const Schedule& schedule, double weight_hold);

// The long text form, one line an action: "stage,kind,chunk,micro", kinds F B I W, under that header.
std::string to_csv(const Schedule& schedule);

// PyTorch's compact form (torch.distributed.pipelining): a row a stage, cells as short_name() writes them.
// The lowered form has the sends and receives of schedule.transfers too.
std::string to_compact_csv(const Schedule& schedule);
std::string to_lowered_csv(const Schedule& schedule);

// Reads any of these forms; empty cells are idle time and mean nothing here, and an overlapped pair is its
// actions one after the other. Sends and receives (SEND_F, RECV_F, SEND_B, RECV_B) are kept in
// Schedule::transfers and must be those that the actions need, each once, sends behind what they send and
// receives before what needs them. UNSHARD, RESHARD and REDUCE_GRAD must enclose the actions of their chunk,
// and move nothing, as weights are whole here. The result is validated. `file` is for error places only.
// Throws InputErrors: E-SCHEDULE-CSV for the form, E-SCHEDULE-COMM for communication that does not fit the
// actions, and what validate() throws, all with line and column.
Schedule from_csv(std::string_view text, const std::string& file, const PipelineShape& shape);

// PyTorch's cell for an action: "2F0" = forward of chunk 2, micro-batch 0.
std::string short_name(const Action& action);

constexpr char kind_letter(ActionKind kind) { return "FBIW"[static_cast<int>(kind)]; }
constexpr StageId stage_of(ChunkId chunk, const PipelineShape& shape) {
  return stage_of(chunk, shape.stages, shape.placement);
}
constexpr int chunk_count(const PipelineShape& shape) { return shape.stages * shape.chunks; }
// Which of its stage's chunks it is, 0 .. v - 1, in order of layers.
constexpr int local_chunk(ChunkId chunk, const PipelineShape& shape) { return chunk.value / shape.stages; }
// The chunk of a stage by its local number.
constexpr ChunkId chunk_on(int stage, int local, const PipelineShape& shape) {
  if (shape.placement == Placement::looped || local == 0) return ChunkId(local * shape.stages + stage);
  return ChunkId(2 * shape.stages - 1 - stage);
}
// The chunks that a micro-batch passes through follow each other; these are the ends of the row.
constexpr bool first_of_path(ChunkId chunk, const PipelineShape& shape) {
  return chunk.value == 0 || (shape.placement == Placement::bidirectional && chunk.value == shape.stages);
}
constexpr bool last_of_path(ChunkId chunk, const PipelineShape& shape) {
  return chunk.value == chunk_count(shape) - 1 ||
         (shape.placement == Placement::bidirectional && chunk.value == shape.stages - 1);
}
// Whether the micro-batch passes through the chunk.
constexpr bool passes(ChunkId chunk, MicroBatch micro, const PipelineShape& shape) {
  if (shape.placement != Placement::bidirectional) return true;
  return (chunk.value < shape.stages) == (micro.value < (shape.micro_batches + 1) / 2);
}
// Part of one micro-batch's work on a stage that a chunk does: 1/v, and all of it where each of two copies of
// the model has one chunk on the stage.
constexpr double chunk_share(const PipelineShape& shape) {
  return shape.placement == Placement::bidirectional ? 1 : 1.0 / shape.chunks;
}

}  // namespace rehearse
