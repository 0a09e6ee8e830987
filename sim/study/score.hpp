// Predictions against measured step times, by family of rows. Fractions are 0..1; error = predicted /
// measured - 1.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace rehearse {

struct ScoredRow {
  std::string id, family;
  std::string sweep;  // rows with the same text are layouts of one question
  double predicted_s = 0, measured_s = 0;
  bool fits = true;      // by the memory model; not part of the error
  std::string skipped;   // why there is no prediction; empty where there is one
  bool refused = false;  // an error in the row; counted in no family
  double error() const { return predicted_s / measured_s - 1; }
};

struct FamilyScore {
  std::string family;
  int rows = 0, skipped = 0;
  double mape = 0, bias = 0, median = 0, p90 = 0;  // of |error|; bias of error
  std::optional<double> spearman, regret;          // mean over sweeps of at least 5 rows
};

struct Score {
  std::vector<FamilyScore> families;  // in order of their name
  double mean_of_families = 0;        // of mape, over families with rows
  int tier_c = 0, other_kind = 0;     // rows of the file that are not for scoring
  int refused = 0;                    // rows with errors
  std::vector<ScoredRow> rows;
  bool any() const;  // row with a prediction
};

Score score_rows(std::vector<ScoredRow> rows, int tier_c, int other_kind);

// Spearman's rank correlation, ties with their mean rank; nothing where either side is constant.
std::optional<double> spearman(const std::vector<double>& a, const std::vector<double>& b);

std::string to_json(const Score& score);
std::string to_table(const Score& score);

}  // namespace rehearse
