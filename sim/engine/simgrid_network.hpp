// SimGrid's network of the graph's links, on which flows share max-min fairly. One a process and only one:
// SimGrid has one engine a process, whose clock never goes back and whose callbacks stay.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sim/graph/task_graph.hpp"

namespace rehearse {

class SimgridNetwork {
 public:
  explicit SimgridNetwork(const TaskGraph& graph);
  ~SimgridNetwork();
  SimgridNetwork(const SimgridNetwork&) = delete;
  SimgridNetwork& operator=(const SimgridNetwork&) = delete;

  // A flow of `bytes` (per unit of weight) over the task's route at its rate cap, from now on.
  void start(int32_t task, double bytes);
  void wake_at(double date);  // s; calls on_wake then, and not at the date asked for before

  // Calls on_wake(now, flows that ended now) at every date asked for and whenever flows end, until there is
  // no more of either. start() and wake_at() are for on_wake and for before run().
  void run(const std::function<void(double, const std::vector<int32_t>&)>& on_wake);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rehearse
