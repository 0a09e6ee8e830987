// The whole way of one step: lowering, replay, figures.
#pragma once
#include <vector>

#include "sim/account/report.hpp"
#include "sim/engine/engine.hpp"
#include "sim/graph/lower.hpp"
#include "sim/step/plan.hpp"

namespace rehearse {

struct StepOptions {
  Engine engine = run_simgrid;  // the caller links it; who only resolves need not link SimGrid
  LowerOptions lower = {};
  const MemoryReport* memory = nullptr;  // planned_memory(), where the caller has it already
  bool links = true;                     // sums what each link carried
};

// The graph that simulate() replays. Throws InputErrors; what is about a key has the key's place.
TaskGraph lowered(const Plan& plan, const LowerOptions& options = {});

struct Step {
  TaskGraph graph;
  Timeline timeline;
  Report report;
  std::vector<LinkLoad> links;
};

// Throws as lowered().
Step simulate(const Plan& plan, const StepOptions& options = {});

}  // namespace rehearse
