// The command line of rehearse-calibrate run.
#pragma once
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "calibration/cli/commands.hpp"
#include "calibration/probes/probe.hpp"

namespace rehearse::calibration {

struct RunOptions {
  std::string backend, output, points, json;
  double budget_s = 600;
  std::vector<const Probe*> probes;
  int ranks = 0;  // 0: as started, or default_ranks()
  uint64_t seed = 0;
  bool dry_run = false, no_retry = false, warm_l2 = false, quiet = false;
};

// Nothing where --help was printed. Throws InputErrors (E-CLI, E-BACKEND).
std::optional<RunOptions> read_run_options(const Invocation& invocation, std::ostream& out);

}  // namespace rehearse::calibration
