#include <algorithm>

#include "sim/schedule/builders.hpp"

namespace rehearse {

Schedule build_one_f_one_b(const PipelineShape& shape, const BuildOptions&) {
  Schedule schedule{"1f1b", shape};
  const int m = shape.micro_batches;
  for (int s = 0; s < shape.stages; ++s) {
    const ChunkId chunk(s);
    const int warm_up = std::min(m, shape.stages - s - 1);
    std::vector<Action> order;
    for (int i = 0; i < m + warm_up; ++i) {
      if (i < m) order.push_back({ActionKind::forward, chunk, MicroBatch(i)});
      if (i >= warm_up) order.push_back({ActionKind::backward, chunk, MicroBatch(i - warm_up)});
    }
    schedule.stages.push_back(std::move(order));
  }
  return schedule;
}

}  // namespace rehearse
