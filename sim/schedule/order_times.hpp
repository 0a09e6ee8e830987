// Times of a schedule at fixed costs, fast enough for searches; internal to sim/schedule.
#pragma once
#include "sim/schedule/schedule.hpp"

namespace rehearse {

class OrderTimer {
 public:
  OrderTimer(const PipelineShape& shape, const ScheduleCosts& costs);

  // Replays the orders of all stages; false where they come to a stand.
  bool run(const std::vector<std::vector<Action>>& stages);

  // Of the last run: as in ActionTimes.
  double span() const;
  double span(size_t stage) const { return ends_[stage].empty() ? 0 : ends_[stage].back() - first_[stage]; }
  double makespan() const;
  const std::vector<std::vector<double>>& ends() const { return ends_; }
  double duration(const Action& a) const { return durations_[size_t(a.chunk.value) * 4 + size_t(a.kind)]; }
  // When the action's input from elsewhere was there; 0 where it needs none.
  double ready(const Action& a) const;

 private:
  size_t slot(ChunkId chunk, MicroBatch micro) const {
    return size_t(chunk.value) * size_t(shape_.micro_batches) + size_t(micro.value);
  }
  double arrival(double end, ChunkId from, ChunkId to) const {
    if (end < 0) return end;
    return end + (stage_[size_t(from.value)] == stage_[size_t(to.value)] ? 0 : transfer_);
  }

  PipelineShape shape_;
  double transfer_;
  std::vector<double> durations_;               // [chunk x 4 + kind]
  std::vector<int> stage_;                      // [chunk]
  std::vector<bool> first_chunk_, last_chunk_;  // [chunk]
  std::vector<double> forward_, gradient_;      // [slot]: end of F; of B or I; -1 = not yet
  std::vector<std::vector<double>> ends_;       // [stage][action]
  std::vector<double> first_;                   // [stage]: start of its first action
};

}  // namespace rehearse
