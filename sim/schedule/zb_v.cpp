#include <algorithm>

#include "sim/schedule/builders.hpp"
#include "sim/schedule/list_schedule.hpp"

namespace rehearse {

namespace {

// When a stage runs the four passes of micro-batch 0, in units of one pass; those of micro-batch i follow
// kInterval x i later. Passes of all micro-batches and both chunks never meet, as what separates them is the
// same on each stage modulo the interval; the gaps are for the weight gradients.
struct Block {
  int forward[2], backward[2];  // by local chunk
};
constexpr int kInterval = 6;
using BlockOf = Block (*)(int stage, int stages);

Block whole_memory(int s, int p) {
  const int turn = 4 * (p - 1), back = 10 * (p - 1) + 3;
  return {{4 * s, turn + 1 + 2 * (p - 1 - s)}, {back + 2 * (p - 1 - s), 6 * (p - 1) + 2 + 4 * s}};
}
Block half_memory(int s, int p) {
  const int gap = p % 2 == 0 ? 3 : 0;
  return {{2 * s, 3 * p - s - 2}, {6 * p + gap - s - 2, 3 * p + gap + 2 * s - 1}};
}
Block third_memory(int s, int p) {
  const int gap = p % 3 == 0 ? 2 : 0;
  return {{s, 2 * p - s - 1}, {4 * p + gap - s - 1, 2 * p + gap + s}};
}

// Weight gradients take the free units as they come.
std::vector<Action> order_of(int stage, const PipelineShape& shape, const Block& block) {
  std::vector<std::pair<int, Action>> passes;
  for (int i = 0; i < shape.micro_batches; ++i)
    for (int local : {0, 1}) {
      const ChunkId chunk = chunk_on(stage, local, shape);
      const int at = kInterval * i;
      passes.push_back({block.forward[local] + at, {ActionKind::forward, chunk, MicroBatch(i)}});
      passes.push_back({block.backward[local] + at, {ActionKind::input_gradient, chunk, MicroBatch(i)}});
    }
  std::sort(passes.begin(), passes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Action> order;
  std::vector<Action> weights;
  size_t done = 0;
  int free = passes.front().first;
  for (const auto& [at, action] : passes) {
    for (; free < at && done < weights.size(); ++free) order.push_back(weights[done++]);
    order.push_back(action);
    if (action.kind == ActionKind::input_gradient)
      weights.push_back({ActionKind::weight_gradient, action.chunk, action.micro});
    free = at + 1;
  }
  order.insert(order.end(), weights.begin() + long(done), weights.end());
  return order;
}

Schedule repeat(std::string name, const PipelineShape& shape, BlockOf block) {
  Schedule schedule{std::move(name), shape};
  for (int s = 0; s < shape.stages; ++s)
    schedule.stages.push_back(order_of(s, shape, block(s, shape.stages)));
  return schedule;
}

}  // namespace

// The block's own weight gradients, or such as fill gaps at the costs given, whichever ends sooner.
Schedule build_zb_v(const PipelineShape& shape, const BuildOptions& options) {
  const Schedule plain = repeat("zb-v", shape, whole_memory);
  Schedule best = plain;
  double length = duration_of(time_actions(plain, options.costs), options);
  BuildOptions whole = options;  // what waits for W counts whole, so that no stage holds more than 2 p
  whole.costs.weight_hold = 1;
  for (const FillRule rule : {FillRule::never, FillRule::always, FillRule::balance}) {
    Schedule filled = place_weights(plain, whole.costs, 2 * shape.stages, rule);
    const double other = duration_of(time_actions(filled, options.costs), options);
    if (other < length * (1 - 1e-9)) best = std::move(filled), length = other;
  }
  return best;
}

Schedule build_zb_v_half(const PipelineShape& shape, const BuildOptions&) {
  return repeat("zb-v-half", shape, half_memory);
}

Schedule build_zb_v_min(const PipelineShape& shape, const BuildOptions&) {
  return repeat("zb-v-min", shape, third_memory);
}

}  // namespace rehearse
