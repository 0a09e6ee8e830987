#include <algorithm>

#include "sim/schedule/builders.hpp"
#include "sim/schedule/list_schedule.hpp"

namespace rehearse {

// After `warm_up` forwards, a forward and an input gradient in turn; a weight gradient follows each input
// gradient but the first `late` ones, and those that are left over come last.
static std::vector<Action> order_of(int stage, int micro_batches, int warm_up, int late) {
  const ChunkId chunk(stage);
  std::vector<Action> order;
  int forwards = 0, inputs = 0, weights = 0;
  auto add = [&](ActionKind kind, int& count) { order.push_back({kind, chunk, MicroBatch(count++)}); };
  while (forwards < std::min(warm_up, micro_batches)) add(ActionKind::forward, forwards);
  while (inputs < micro_batches) {
    add(ActionKind::input_gradient, inputs);
    if (inputs - weights > late) add(ActionKind::weight_gradient, weights);
    if (forwards < micro_batches) add(ActionKind::forward, forwards);
  }
  while (weights < micro_batches) add(ActionKind::weight_gradient, weights);
  return order;
}

Schedule build_zb_h1(const PipelineShape& shape, const BuildOptions&) {
  Schedule schedule{"zb-h1", shape};
  for (int s = 0; s < shape.stages; ++s)
    schedule.stages.push_back(order_of(s, shape.micro_batches, shape.stages - s, s));
  return schedule;
}

Schedule build_zb_h2(const PipelineShape& shape, const BuildOptions& options) {
  Schedule own{"zb-h2", shape};
  for (int s = 0; s < shape.stages; ++s)
    own.stages.push_back(order_of(s, shape.micro_batches, 2 * (shape.stages - s) - 1, 2 * s));
  Schedule other = build_zb_h1(shape, options);
  const auto length = [&](const Schedule& s) { return duration_of(time_actions(s, options.costs), options); };
  if (length(own) <= length(other) * (1 + 1e-9)) return own;
  other.name = own.name;
  other.note = "the order of zb-h1, which is shorter at these costs and micro-batches";
  return other;
}

}  // namespace rehearse
