// Scenario + schedule -> task graph.
#pragma once
#include "sim/graph/task_graph.hpp"

namespace rehearse {

struct Fold;

struct LowerOptions {
  bool fold = true;
  const Fold* known_fold = nullptr;  // fold_of(scenario), where the caller has it already
};
// Which ranks and links of the scenario behave alike; every one its own where nothing is to be folded. A
// function of the layout, the counts and the fabric of the cluster, and whether embeddings are tied.
Fold fold_of(const Scenario& scenario, bool fold = true);
TaskGraph lower(const Scenario& scenario, const Schedule& schedule, const LowerOptions& options = {});

// Given costs instead of kernels (rehearse schedule --costs): seconds per micro-batch and stage, all chunks
// together (a chunk takes 1/v). With weight == 0, backward is the whole backward; else it is the input
// gradient alone and schedules without a split run backward + weight. `transfer` is a delay per stage
// boundary and direction that occupies no stage.
struct StageCosts {
  double forward = 1, backward = 2, weight = 0, transfer = 0;
};
// What each action of a chunk then takes.
ScheduleCosts schedule_costs(const PipelineShape& shape, const StageCosts& costs);
TaskGraph lower_costs(const Schedule& schedule, const StageCosts& costs);

// Text form, one task a line; the golden form of --stop-after graph.
std::string dump(const TaskGraph& graph);
std::string dump(const TaskGraph& graph, const Timeline& timeline);

}  // namespace rehearse
