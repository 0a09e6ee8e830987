// Several schedules on one scenario.
#pragma once
#include <optional>

#include "sim/cli/simulate.hpp"

namespace rehearse {

struct Compared {
  std::string schedule;
  std::string refused, why;  // a code and its message; empty where it ran
  Plan plan;                 // as it ran: chunks, placement, size of the micro-batches
  Step step;
  bool split = false;  // runs I and W, whose times come from the kernels of the backward
};

struct CompareOptions {
  EngineOptions engine;
  // Bytes a rank may use: then each schedule runs with the micro-batches that make its step shortest among
  // those that fit, and `auto` within what fits. Else all run with the scenario's micro-batches.
  std::optional<double> memory;
};

// One schedule on the scenario, with its own number of chunks: the scenario's where it takes several (2 where
// that is 1), else its only one. Where the number of chunks changes, layers are cut evenly.
Compared compare_one(const Scenario& scenario, const std::string& schedule, const CompareOptions& options);

}  // namespace rehearse
