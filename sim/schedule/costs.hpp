// What actions cost, for schedules that search, and how long a schedule takes at given costs.
#pragma once
#include <vector>

namespace rehearse {

struct Schedule;
struct PipelineShape;
enum class ActionKind : unsigned char;

struct ChunkCosts {
  double forward = 1, input = 1, weight = 1;  // s, one micro-batch; a whole backward is input + weight
};

struct ScheduleCosts {
  std::vector<ChunkCosts> chunks;  // by global chunk; empty = all alike, as ChunkCosts says
  double transfer = 0;             // s, from one stage to another; occupies neither
  // Part of a chunk's activation that is held from I to W: 34 + 5 a s / h of F and 32 of W make 32/74 for the
  // models of Qi et al. 2023 (a s / h = 8); nearly all of it where attention is fused.
  double weight_hold = 32.0 / 74;

  ChunkCosts of(int chunk) const { return chunks.empty() ? ChunkCosts{} : chunks[size_t(chunk)]; }
  double of(ActionKind kind, int chunk) const;
};

struct BuildOptions {
  ScheduleCosts costs;
  // For `auto`: chunk activations that a stage may hold, those that wait for W alone counted at weight_hold;
  // 0 = p x v, as 1F1B.
  double max_live = 0;
  bool global_sync = false;  // searches make the makespan short, else the span (ActionTimes)
};

// When each action ends where all start as early as they can in the order of the schedule.
struct ActionTimes {
  std::vector<std::vector<double>> end;  // [stage][action], s from the start of the step
  double span = 0;      // longest time from a stage's first action to its last: what a step adds where
                        // steps follow each other without a common barrier (Qi et al. 2023)
  double makespan = 0;  // from the first action of all to the last
};
// The schedule must have passed validate().
ActionTimes time_actions(const Schedule& schedule, const ScheduleCosts& costs);

// No order of the shape's actions has a shorter span where no stage holds more than max_live chunk
// activations (0 = no cap): the largest of a stage's work; the way of one micro-batch from its first forward
// on the stage to its last backward there; and, as an activation is held from its forward to its weight
// gradient, sum of the shortest holds of the stage / max_live.
double lower_bound(const PipelineShape& shape, const ScheduleCosts& costs, double max_live);

}  // namespace rehearse
