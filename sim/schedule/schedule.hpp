// A pipeline schedule as data: per stage a list of compute actions. Communication is added later, by
// lowering.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/index.hpp"
#include "sim/base/names.hpp"

namespace rehearse {

enum class ActionKind : uint8_t {
  forward,          // F
  backward,         // B: input and weight gradient together
  input_gradient,   // I
  weight_gradient,  // W
};

struct Action {
  ActionKind kind;
  ChunkId chunk;  // global chunk, 0 .. stages x chunks - 1; lives on stage chunk mod stages
  MicroBatch micro;
  bool operator==(const Action&) const = default;
};

struct PipelineShape {
  int stages = 1;         // p
  int micro_batches = 1;  // m
  int chunks = 1;         // v, chunks a stage
};

struct Schedule {
  std::string name;
  PipelineShape shape;
  std::vector<std::vector<Action>> stages;  // stages[s]: in order of execution
};

using ScheduleBuilder = Schedule (*)(const PipelineShape&);
struct ScheduleKind {
  ScheduleBuilder build;
  bool takes_chunks;    // accepts v > 1; otherwise v must be 1 (E-SCHEDULE-CHUNKS)
  bool needs_chunks;    // v must be > 1
  bool needs_multiple;  // m must be a multiple of p (E-SCHEDULE-MICRO)
  bool operator==(const ScheduleKind&) const = default;
};
// The built-in schedules; to add one: one .cpp with its builder and one row in schedule/table.cpp.
std::span<const Named<ScheduleKind>> schedule_table();

// Builds by name; throws InputErrors with E-SCHEDULE-SHAPE, -NAME, -CHUNKS, -MICRO where name or shape do not
// fit.
Schedule build_schedule(std::string_view name, const PipelineShape& shape);

// What a scenario's `schedule:` asks for: a built-in name, or the path of a .csv, which is read and
// validated. Throws as build_schedule and from_csv do, and E-SCHEDULE-FILE where the file cannot be read.
Schedule load_schedule(const std::string& name_or_csv, const PipelineShape& shape);

// What keeps a schedule from being run: a missing or doubled action, one on the wrong stage, or no progress.
// Throws InputErrors (E-SCHEDULE-SHAPE, -RANGE, -STAGE, -TWICE, -MISSING, -DEADLOCK); a deadlock names the
// cycle, then each stage's blocked action and what it waits for. Only the first 20 of a kind of trouble are
// listed.
void validate(const Schedule& schedule);

// Peak number of live chunk activations on each stage: a chunk's F makes one, its B (or W) frees it.
std::vector<int> peak_live(const Schedule& schedule);

// The long text form, one line an action: "stage,kind,chunk,micro", kinds F B I W, under that header.
std::string to_csv(const Schedule& schedule);

// Reads the long form, or PyTorch's compact one (torch.distributed.pipelining): a row a stage, cells like
// "3F0" = forward of chunk 3, micro-batch 0; empty cells are idle time and mean nothing here. The result is
// validated. `file` is for error places only. Throws InputErrors: E-SCHEDULE-CSV for the form,
// E-SCHEDULE-COMM for communication actions (lowering adds those itself), and what validate() throws, all
// with line and column.
Schedule from_csv(std::string_view text, const std::string& file, const PipelineShape& shape);

// PyTorch's cell for an action: "2F0" = forward of chunk 2, micro-batch 0.
std::string short_name(const Action& action);

constexpr char kind_letter(ActionKind kind) { return "FBIW"[static_cast<int>(kind)]; }
constexpr StageId stage_of(ChunkId chunk, const PipelineShape& shape) {
  return StageId(chunk.value % shape.stages);
}

}  // namespace rehearse
