// Runs side by side: the figures of the first, and by how much the others differ.
#pragma once
#include <span>
#include <string>

#include "sim/view/text.hpp"

namespace rehearse {

struct ComparedRun {
  std::string label;
  const Report* report;
  const Scenario* scenario;
};

// Step, speed, memory, account and ledger in one table; at least one run.
std::string to_comparison_table(std::span<const ComparedRun> runs, TableStyle style);

// {schema, compared: [{label, ... the object of to_json()}], differences: [{label, step_time_s, mfu,
// peak_bytes, account_s}]}: a run less the first, in the order of the runs.
std::string to_comparison_json(std::span<const ComparedRun> runs);

}  // namespace rehearse
