// Times of a schedule at fixed costs, fast enough for searches; internal to sim/schedule.
#pragma once
#include "sim/schedule/arrivals.hpp"

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

 private:
  Arrivals arrivals_;
  std::vector<double> durations_;          // [chunk x 4 + kind]
  std::vector<std::vector<double>> ends_;  // [stage][action]
  std::vector<double> first_;              // [stage]: start of its first action
};

}  // namespace rehearse
