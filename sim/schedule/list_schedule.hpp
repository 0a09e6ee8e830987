// Orders made for given costs; internal to sim/schedule.
#pragma once
#include <optional>

#include "sim/schedule/schedule.hpp"

namespace rehearse {

struct ListRules {
  double max_live = 1;  // chunk activations on a stage (ScheduleCosts::weight_hold)
  double fill = 1;      // W starts where the stage would idle for at least this part of W's length
  double patience = 0;  // F starts where the next B comes no sooner than this part of F's length
  bool split = true;    // I and W, else B
};

// Goes through time: a free stage takes a backward that is ready, else a forward, else a weight gradient.
// Forwards and backwards of a chunk run in order of micro-batches, weight gradients in order of readiness.
// For each later chunk of its stage (or the chunk of the other direction) that holds nothing, a forward
// leaves room for one, so that the oldest micro-batch can always go on. Nothing where max_live has no room
// for that.
std::optional<Schedule> list_schedule(const PipelineShape& shape, const ScheduleCosts& costs,
                                      const ListRules& rules);

// When a weight gradient runs in an idle gap that is shorter than it.
enum class FillRule : uint8_t {
  never,
  always,
  balance
};  // balance: where idling would make the stage the idlest

// The order of forwards and backwards kept, its weight gradients set anew: as late as max_live lets them, but
// into gaps where they fit, and into shorter ones by `rule` (Qi et al. 2023, section 3.1, whose rule is
// balance).
Schedule place_weights(const Schedule& schedule, const ScheduleCosts& costs, double max_live, FillRule rule);

// What a search may still spend on making orders. Counted in looks at a stage for its next action, never in
// seconds: the same input gives the same schedule.
class OrderBudget {
 public:
  explicit OrderBudget(const PipelineShape& shape);
  bool take(int64_t orders = 1);  // false where it holds no more so many; then the search has to end
  bool ended() const { return ended_; }

 private:
  int64_t left_;
  bool ended_ = false;
};
inline constexpr int64_t kBalanceOrders = 7;  // that place_weights makes by FillRule::balance, at most
inline constexpr char kBudgetEnded[] = "the search ended at its budget of work";

// What a search makes short.
double duration_of(const ActionTimes& times, const BuildOptions& options);

// Moves actions on the critical path as long as that shortens the schedule, within max_live; `work` bounds
// the actions replayed on the way. The same input gives the same result. True where that bound ended it.
bool improve(Schedule& schedule, const BuildOptions& options, double max_live, int64_t work);

// What an action adds to the chunk activations of its stage.
double held_by(ActionKind kind, double weight_hold);
}  // namespace rehearse
