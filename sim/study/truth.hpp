// Files of measured training steps with their configurations (`rehearse score`): each row becomes a scenario,
// or the reason why it cannot. A row has id, family, group, kind, tier, gpu, gpus, network, model, layout and
// target_iteration_s. A row with a key or a value that no row has (truth_check.hpp) is named and not scored.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sim/io/paths.hpp"
#include "sim/spec/scenario.hpp"

namespace rehearse {

struct TruthRow {
  std::string id, family, kind, tier;
  std::string sweep;      // rows with the same text are layouts of one question; see score.hpp
  double measured_s = 0;  // 0: not a step time
  std::optional<Scenario> scenario;
  std::string skipped;   // why there is no scenario; empty where there is one
  bool refused = false;  // for an error in the row; `skipped` says its code
};

struct TruthFile {
  std::vector<TruthRow> rows;
  std::vector<InputError> errors;  // of rows that were refused
};

// Throws InputErrors where the file is not a list of rows (E-TRUTH-ROWS).
TruthFile load_truth(const std::string& path, const DataRoots& roots);

}  // namespace rehearse
