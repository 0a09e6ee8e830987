#include "sim/schedule/dependencies.hpp"

namespace rehearse {

ActionIndex::ActionIndex(const Schedule& schedule) : shape_(schedule.shape) {
  positions_.resize(size_t(shape_.stages) * size_t(shape_.chunks) * size_t(shape_.micro_batches) * 4);
  for (size_t s = 0; s < schedule.stages.size(); ++s)
    for (size_t i = 0; i < schedule.stages[s].size(); ++i) {
      const Action& a = schedule.stages[s][i];
      if (!holds(a)) continue;
      ActionPosition& at = positions_[slot(a)];
      const int home = stage_of(a.chunk, shape_).value;
      if (at.stage != home || int(s) == home) at = {int32_t(s), int32_t(i)};
    }
}

bool ActionIndex::holds(const Action& a) const {
  return a.chunk.value >= 0 && a.chunk.value < chunk_count(shape_) && a.micro.value >= 0 &&
         a.micro.value < shape_.micro_batches && passes(a.chunk, a.micro, shape_);
}

std::optional<Action> need_of(const Action& a, const PipelineShape& shape, const ActionIndex& index) {
  const int c = a.chunk.value;
  if (a.kind == ActionKind::forward) {
    if (first_of_path(a.chunk, shape)) return std::nullopt;
    return Action{ActionKind::forward, ChunkId(c - 1), a.micro};
  }
  if (a.kind == ActionKind::weight_gradient) return Action{ActionKind::input_gradient, a.chunk, a.micro};
  if (last_of_path(a.chunk, shape)) return Action{ActionKind::forward, a.chunk, a.micro};
  const Action whole{ActionKind::backward, ChunkId(c + 1), a.micro};
  if (index.find(whole).valid()) return whole;
  return Action{ActionKind::input_gradient, ChunkId(c + 1), a.micro};
}

}  // namespace rehearse
