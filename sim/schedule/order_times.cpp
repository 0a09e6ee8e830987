#include "sim/schedule/order_times.hpp"

#include <algorithm>
#include <limits>

namespace rehearse {

double ScheduleCosts::of(ActionKind kind, int chunk) const {
  const ChunkCosts c = of(chunk);
  switch (kind) {
    case ActionKind::forward:
      return c.forward;
    case ActionKind::backward:
      return c.input + c.weight;
    case ActionKind::input_gradient:
      return c.input;
    case ActionKind::weight_gradient:
      return c.weight;
  }
  return 0;
}

OrderTimer::OrderTimer(const PipelineShape& shape, const ScheduleCosts& costs)
    : arrivals_(shape, costs.transfer), ends_(size_t(shape.stages)), first_(size_t(shape.stages)) {
  for (int c = 0; c < chunk_count(shape); ++c)
    for (int kind = 0; kind < 4; ++kind) durations_.push_back(costs.of(ActionKind(kind), c));
}

bool OrderTimer::run(const std::vector<std::vector<Action>>& stages) {
  arrivals_.clear();
  size_t left = 0;
  for (size_t s = 0; s < stages.size(); ++s) {
    ends_[s].clear();
    ends_[s].reserve(stages[s].size());
    first_[s] = 0;
    left += stages[s].size();
  }
  for (bool moved = true; moved && left > 0;) {
    moved = false;
    for (size_t s = 0; s < stages.size(); ++s)
      while (ends_[s].size() < stages[s].size()) {
        const Action& a = stages[s][ends_[s].size()];
        const double from = arrivals_.ready(a);
        if (from == Arrivals::kNever) break;
        const double start = std::max(from, ends_[s].empty() ? 0 : ends_[s].back());
        const double end = start + duration(a);
        if (ends_[s].empty()) first_[s] = start;
        arrivals_.ended(a, end);
        ends_[s].push_back(end);
        --left;
        moved = true;
      }
  }
  return left == 0;
}

double OrderTimer::span() const {
  double longest = 0;
  for (size_t s = 0; s < ends_.size(); ++s) longest = std::max(longest, span(s));
  return longest;
}

double OrderTimer::makespan() const {
  double first = std::numeric_limits<double>::infinity(), last = 0;
  for (size_t s = 0; s < ends_.size(); ++s)
    if (!ends_[s].empty()) first = std::min(first, first_[s]), last = std::max(last, ends_[s].back());
  return last > first ? last - first : 0;
}

ActionTimes time_actions(const Schedule& schedule, const ScheduleCosts& costs) {
  OrderTimer timer(schedule.shape, costs);
  timer.run(schedule.stages);
  return {timer.ends(), timer.span(), timer.makespan()};
}

double lower_bound(const PipelineShape& shape, const ScheduleCosts& costs, double max_live) {
  std::vector<double> hold(size_t(chunk_count(shape)));  // shortest, from F to W
  double beyond = 0;                                     // from the end of a chunk's F to the start of its I
  for (int c = chunk_count(shape); c-- > 0;) {
    const ChunkId chunk(c);
    if (last_of_path(chunk, shape))
      beyond = 0;
    else if (stage_of(chunk, shape) != stage_of(ChunkId(c + 1), shape))
      beyond += 2 * costs.transfer;
    const ChunkCosts cost = costs.of(c);
    hold[size_t(c)] = cost.forward + beyond + cost.input + cost.weight;
    beyond += cost.forward + cost.input;
  }
  double bound = 0;
  for (int s = 0; s < shape.stages; ++s) {
    double work = 0, held = 0;
    for (int local = 0; local < shape.chunks; ++local) {
      const ChunkId chunk = chunk_on(s, local, shape);
      double micros = shape.micro_batches;
      if (shape.placement == Placement::bidirectional)
        micros = chunk.value < shape.stages ? (shape.micro_batches + 1) / 2 : shape.micro_batches / 2;
      const ChunkCosts cost = costs.of(chunk.value);
      work += micros * (cost.forward + cost.input + cost.weight);
      held += micros * hold[size_t(chunk.value)];
      if (micros > 0) bound = std::max(bound, hold[size_t(chunk.value)]);
    }
    bound = std::max({bound, work, max_live > 0 ? held / max_live : 0});
  }
  return bound;
}

}  // namespace rehearse
