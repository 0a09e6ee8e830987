#include <algorithm>
#include <cmath>
#include <cstdio>

#include "sim/base/error.hpp"
#include "sim/schedule/builders.hpp"
#include "sim/schedule/list_schedule.hpp"
#include "sim/schedule/shape.hpp"

namespace rehearse {

namespace {

constexpr int64_t kReplayed = 30'000'000;  // actions replayed while improving

struct Best {
  const BuildOptions& options;
  double max_live;
  std::vector<std::pair<double, Schedule>> found;  // the best three, shortest first
  bool ended = false;                              // a search did, at its budget

  void consider(Schedule other) {
    if (peak_held(other, options.costs.weight_hold) > max_live + 1e-9) return;
    const double length = duration_of(time_actions(other, options.costs), options);
    const auto at = std::find_if(found.begin(), found.end(), [&](const auto& f) { return length < f.first; });
    found.insert(at, {length, std::move(other)});
    if (found.size() > 3) found.pop_back();
  }
};

// A copy of the whole model on each stage pair is no matter of order: those are left out.
void consider_built_in(Best& best, const PipelineShape& shape) {
  for (const auto& row : schedule_table()) {
    if (row.value.build == build_auto || row.value.placement == Placement::bidirectional) continue;
    PipelineShape placed = shape;
    placed.placement = row.value.placement;
    if (!misfits(row.name, row.value, placed).empty()) continue;
    Schedule built = row.value.build(placed, best.options);
    best.ended = best.ended || built.note == kBudgetEnded;
    best.consider(std::move(built));
  }
}

void consider_lists(Best& best, const PipelineShape& shape, OrderBudget& budget) {
  const auto& costs = best.options.costs;
  for (const Placement placement : {Placement::looped, Placement::vee}) {
    PipelineShape placed = shape;
    placed.placement = placement;
    if (placement == Placement::vee && shape.chunks != 2) continue;
    for (const bool split : {true, false})
      for (const double fill : {0.0, 0.5, 1.0})
        for (const double patience : {0.0, 1.0}) {
          if (!budget.take()) return;
          const auto list = list_schedule(placed, costs, {best.max_live, fill, patience, split});
          if (!list) continue;
          best.consider(*list);
          if (split && budget.take(kBalanceOrders))
            best.consider(place_weights(*list, costs, best.max_live, FillRule::balance));
        }
  }
}

}  // namespace

Schedule build_auto(const PipelineShape& shape, const BuildOptions& options) {
  const double max_live = options.max_live > 0 ? options.max_live : double(shape.stages) * shape.chunks;
  Best best{.options = options, .max_live = max_live, .found = {}};
  OrderBudget budget(shape);
  consider_built_in(best, shape);
  consider_lists(best, shape, budget);
  best.ended = best.ended || budget.ended();
  if (best.found.empty())
    throw InputErrors({{},
                       "schedule",
                       "E-SCHEDULE-CAP",
                       "no order of the pipeline was found that holds at most " + number_text(max_live) +
                           " chunk activations on each stage",
                       "the least is one for each of the stage's chunks"});
  for (auto& [length, schedule] : best.found) {
    const bool ended = improve(schedule, options, max_live, kReplayed / int64_t(best.found.size()));
    best.ended = best.ended || ended;
    length = duration_of(time_actions(schedule, options.costs), options);
  }
  auto& [length, schedule] = *std::min_element(
      best.found.begin(), best.found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  const double bound = lower_bound(schedule.shape, options.costs, max_live);
  char gap[160];
  std::snprintf(gap, sizeof gap,
                "started from %s; at most %s live chunk activations; %.2f %% above the lower bound",
                schedule.name.empty() ? "a list schedule" : schedule.name.c_str(),
                number_text(max_live).c_str(), 100 * (length / bound - 1));
  schedule.note = gap;
  if (best.ended) schedule.note += std::string("; ") + kBudgetEnded;
  schedule.name = "auto";
  return std::move(schedule);
}

}  // namespace rehearse
