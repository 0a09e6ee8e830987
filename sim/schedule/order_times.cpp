#include "sim/schedule/order_times.hpp"

#include <algorithm>
#include <limits>

#include "sim/schedule/dependencies.hpp"

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
    : shape_(shape), transfer_(costs.transfer) {
  const auto chunks = size_t(chunk_count(shape));
  for (size_t c = 0; c < chunks; ++c) {
    for (int kind = 0; kind < 4; ++kind) durations_.push_back(costs.of(ActionKind(kind), int(c)));
    stage_.push_back(stage_of(ChunkId(int(c)), shape).value);
    first_chunk_.push_back(first_of_path(ChunkId(int(c)), shape));
    last_chunk_.push_back(last_of_path(ChunkId(int(c)), shape));
  }
  forward_.resize(chunks * size_t(shape.micro_batches));
  gradient_.resize(forward_.size());
  ends_.resize(size_t(shape.stages));
  first_.resize(size_t(shape.stages));
}

double OrderTimer::ready(const Action& a) const {
  const auto c = size_t(a.chunk.value);
  if (a.kind == ActionKind::forward) {
    if (first_chunk_[c]) return 0;
    const ChunkId before(a.chunk.value - 1);
    return arrival(forward_[slot(before, a.micro)], before, a.chunk);
  }
  if (a.kind == ActionKind::weight_gradient) return gradient_[slot(a.chunk, a.micro)];
  if (last_chunk_[c]) return forward_[slot(a.chunk, a.micro)];
  const ChunkId after(a.chunk.value + 1);
  return arrival(gradient_[slot(after, a.micro)], after, a.chunk);
}

bool OrderTimer::run(const std::vector<std::vector<Action>>& stages) {
  std::fill(forward_.begin(), forward_.end(), -1);
  std::fill(gradient_.begin(), gradient_.end(), -1);
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
        const double from = ready(a);
        if (from < 0) break;
        const double start = std::max(from, ends_[s].empty() ? 0 : ends_[s].back());
        const double end = start + duration(a);
        if (ends_[s].empty()) first_[s] = start;
        if (a.kind == ActionKind::forward) forward_[slot(a.chunk, a.micro)] = end;
        if (a.kind == ActionKind::backward || a.kind == ActionKind::input_gradient)
          gradient_[slot(a.chunk, a.micro)] = end;
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
