#include <algorithm>

#include "sim/schedule/builders.hpp"

namespace rehearse {

// The k-th chunk forward (backward) of a stage: groups of p micro-batches pass through chunk 0, 1, ... v - 1
// (v - 1 ... 0).
static Action kth(ActionKind kind, int k, int stage, const PipelineShape& shape) {
  const int p = shape.stages, v = shape.chunks;
  const int in_turn = k % (p * v) / p;
  const int local = kind == ActionKind::forward ? in_turn : v - 1 - in_turn;
  return {kind, ChunkId(local * p + stage), MicroBatch(k / (p * v) * p + k % p)};
}

// `lead`: forwards by which a stage is ahead of the next one when it starts to alternate.
static Schedule build(std::string name, const PipelineShape& shape, int lead) {
  Schedule schedule{std::move(name), shape};
  const int total = shape.micro_batches * shape.chunks;
  for (int s = 0; s < shape.stages; ++s) {
    const int warm_up = std::min(total, (shape.stages - s - 1) * lead + (shape.chunks - 1) * shape.stages);
    std::vector<Action> order;
    for (int k = 0; k < total + warm_up; ++k) {
      if (k < total) order.push_back(kth(ActionKind::forward, k, s, shape));
      if (k >= warm_up) order.push_back(kth(ActionKind::backward, k - warm_up, s, shape));
    }
    schedule.stages.push_back(std::move(order));
  }
  return schedule;
}

Schedule build_interleaved(const PipelineShape& shape, const BuildOptions&) {
  return build("interleaved", shape, 2);
}

Schedule build_interleaved_short(const PipelineShape& shape, const BuildOptions&) {
  return build("interleaved-short", shape, 1);
}

}  // namespace rehearse
