// Common claims about layouts, held against what was simulated.
#pragma once
#include "sim/account/report.hpp"

namespace rehearse {

// What only other simulations of the same scenario can settle; sayings that lack theirs are left out.
struct OtherRuns {
  std::optional<double> gpipe_step_s, one_f_one_b_step_s;       // by schedule
  std::optional<double> node_tp_step_s, wide_tp_step_s;         // TP as wide as a node, and twice that
  std::vector<std::pair<std::string, double>> step_s_by_order;  // "tp-pp-dp": s
};
struct Saying {
  std::string saying;
  std::string verdict;  // "true", "false", "depends"
  double value = 0;
  std::string unit;
  std::string why;  // how the value was found, one sentence
};
std::vector<Saying> sayings(const Scenario& scenario, const Report& report, const OtherRuns& runs = {});

}  // namespace rehearse
