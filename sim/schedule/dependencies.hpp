// Where each action of a schedule stands, and what it waits for besides the actions before it on its own
// stage.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/schedule/schedule.hpp"

namespace rehearse {

struct ActionPosition {
  int32_t stage = -1, index = -1;  // schedule.stages[stage][index]
  bool valid() const { return stage >= 0; }
};

// Position of every action; an action outside of the shape is not held. Of doubled ones the last on its
// own stage counts.
class ActionIndex {
 public:
  explicit ActionIndex(const Schedule& schedule);
  ActionPosition find(const Action& a) const { return positions_[slot(a)]; }
  bool holds(const Action& a) const;  // inside the shape

 private:
  size_t slot(const Action& a) const {
    return (size_t(a.chunk.value) * size_t(shape_.micro_batches) + size_t(a.micro.value)) * 4 +
           size_t(a.kind);
  }
  PipelineShape shape_;
  std::vector<ActionPosition> positions_;
};

// The one action of elsewhere that `a` waits for, if any: F(c) waits for F(c - 1); B and I of the last chunk
// for its F; B(c) and I(c) for B or I of c + 1, whichever the schedule has; W for its I. `index` must hold
// all these.
std::optional<Action> need_of(const Action& a, const PipelineShape& shape, const ActionIndex& index);

}  // namespace rehearse
