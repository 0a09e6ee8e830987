// A pipeline schedule as data: per stage a list of compute actions. Communication is added later, by lowering.
#pragma once
#include <string>
#include <span>
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
  ChunkId chunk;     // global chunk, 0 .. stages x chunks - 1; lives on stage chunk mod stages
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
  bool takes_chunks;       // accepts v > 1; otherwise v must be 1 (E-SCHEDULE-CHUNKS)
  bool needs_chunks;       // v must be > 1
  bool needs_multiple;     // m must be a multiple of p (E-SCHEDULE-MICRO)
  bool operator==(const ScheduleKind&) const = default;
};
// The built-in schedules; to add one: one .cpp with its builder and one row in schedule/table.cpp.
std::span<const Named<ScheduleKind>> schedule_table();

// Builds by name; throws InputErrors with E-SCHEDULE-NAME, -CHUNKS, -MICRO where name or shape do not fit.
Schedule build_schedule(std::string_view name, const PipelineShape& shape);

// What keeps a schedule from being run: a missing or doubled action, one on the wrong stage, or no progress.
// Throws InputErrors (E-SCHEDULE-MISSING, -TWICE, -STAGE, -DEADLOCK); a deadlock names each stage's blocked action
// and what it waits for.
void validate(const Schedule& schedule);

// Peak number of live chunk activations on each stage: a chunk's F makes one, its B (or W) frees it.
std::vector<int> peak_live(const Schedule& schedule);

// Text form, one line an action "stage,KIND,chunk,micro" (CSV with that header); also "2F0" in messages: chunk 2... see text.cpp.
std::string to_csv(const Schedule& schedule);
// `file` is for error places only. Throws InputErrors (E-SCHEDULE-CSV) with line and column.
Schedule from_csv(std::string_view text, const std::string& file, const PipelineShape& shape);
std::string short_name(const Action& action, const PipelineShape& shape);

}  // namespace rehearse
