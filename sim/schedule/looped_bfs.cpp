#include "sim/schedule/builders.hpp"

namespace rehearse {

Schedule build_looped_bfs(const PipelineShape& shape, const BuildOptions&) {
  Schedule schedule{"looped-bfs", shape};
  for (int s = 0; s < shape.stages; ++s) {
    std::vector<Action> order;
    auto pass = [&](ActionKind kind, int local) {
      for (int i = 0; i < shape.micro_batches; ++i)
        order.push_back({kind, chunk_on(s, local, shape), MicroBatch(i)});
    };
    for (int local = 0; local < shape.chunks; ++local) pass(ActionKind::forward, local);
    for (int local = shape.chunks; local-- > 0;) pass(ActionKind::backward, local);
    schedule.stages.push_back(std::move(order));
  }
  return schedule;
}

}  // namespace rehearse
