#include "sim/schedule/builders.hpp"

namespace rehearse {

Schedule build_gpipe(const PipelineShape& shape, const BuildOptions&) {
  Schedule schedule{"gpipe", shape};
  for (int s = 0; s < shape.stages; ++s) {
    std::vector<Action> order;
    for (auto kind : {ActionKind::forward, ActionKind::backward})
      for (int i = 0; i < shape.micro_batches; ++i) order.push_back({kind, ChunkId(s), MicroBatch(i)});
    schedule.stages.push_back(std::move(order));
  }
  return schedule;
}

}  // namespace rehearse
