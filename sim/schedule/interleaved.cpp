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

Schedule build_interleaved(const PipelineShape& shape) {
  Schedule schedule{"interleaved", shape, {}};
  const int total = shape.micro_batches * shape.chunks;
  for (int s = 0; s < shape.stages; ++s) {
    const int warm_up = std::min(total, (shape.stages - s - 1) * 2 + (shape.chunks - 1) * shape.stages);
    std::vector<Action> order;
    for (int k = 0; k < total + warm_up; ++k) {
      if (k < total) order.push_back(kth(ActionKind::forward, k, s, shape));
      if (k >= warm_up) order.push_back(kth(ActionKind::backward, k - warm_up, s, shape));
    }
    schedule.stages.push_back(std::move(order));
  }
  return schedule;
}

}  // namespace rehearse
