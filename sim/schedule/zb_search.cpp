#include <cmath>

#include "sim/schedule/builders.hpp"
#include "sim/schedule/list_schedule.hpp"

namespace rehearse {

// Actions replayed while improving: well below a second.
static constexpr int64_t kSearched = 20'000'000;

// The orders of the schedules `known` and of list schedules that trade idling now for idling later, with
// weight gradients set by each rule.
static Schedule search(const char* name, const BuildOptions& options, const std::vector<Schedule>& known,
                       double max_live) {
  const PipelineShape& shape = known.front().shape;
  Schedule best;
  double length = 0;
  auto consider = [&](Schedule other) {
    const double its = duration_of(time_actions(other, options.costs), options);
    if (best.stages.empty() || its < length * (1 - 1e-9)) best = std::move(other), length = its;
  };
  OrderBudget budget(shape);
  auto consider_order = [&](const Schedule& order) {
    if (peak_held(order, options.costs.weight_hold) <= max_live) consider(order);
    for (const FillRule rule : {FillRule::never, FillRule::always, FillRule::balance}) {
      if (!budget.take(rule == FillRule::balance ? kBalanceOrders : 1)) return;
      Schedule filled = place_weights(order, options.costs, max_live, rule);
      if (peak_held(filled, options.costs.weight_hold) <= max_live + 1e-9) consider(std::move(filled));
    }
  };
  for (const Schedule& schedule : known) consider_order(schedule);
  for (const double fill : {0.0, 0.25, 0.5, 0.75, 1.0})
    for (const double patience : {0.0, 0.25, 0.5, 0.75, 1.0})
      if (budget.take()) {
        const auto found = list_schedule(shape, options.costs, {max_live, fill, patience, true});
        if (found) consider_order(*found);
      }
  if (best.stages.empty()) best = known.front();
  bool ended = improve(best, options, max_live, kSearched) || budget.ended();
  for (const Schedule& schedule : known) ended = ended || schedule.note == kBudgetEnded;
  best.note = ended ? kBudgetEnded : "";
  best.name = name;
  return best;
}

Schedule build_zb_1p(const PipelineShape& shape, const BuildOptions& options) {
  BuildOptions whole = options;
  whole.costs.weight_hold = 1;
  return search("zb-1p", whole, {build_zb_h1(shape, options)}, shape.stages);
}

Schedule build_zb_2p(const PipelineShape& shape, const BuildOptions& options) {
  return search("zb-2p", options, {build_zb_h2(shape, options), build_zb_1p(shape, options)},
                2 * shape.stages);
}

}  // namespace rehearse
