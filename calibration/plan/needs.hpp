// The distinct calls of a step: what a profile must hold for a scenario, and how much hangs on each.
#pragma once
#include <vector>

#include "calibration/work/work.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/spec/scenario.hpp"

namespace rehearse::calibration {

struct Need {
  Work work;
  double calls = 0;    // a step, mean over ranks
  double seconds = 0;  // of all these calls, as the scenario's profile has it; mean over ranks
};

// Kernels, collectives and stage transfers of the step; where gradients are reduced beside the backward, the
// costliest GEMM beside their largest bucket too. Most seconds first; ties in order of appearance.
std::vector<Need> needs_of(const Scenario& scenario, const TaskGraph& graph);

// The collective that a traffic entry stands for, with the group that rank 0 is in (or the first that has
// the axis).
CollectiveCall collective_of(const Scenario& scenario, const Traffic& traffic);

}  // namespace rehearse::calibration
