// Which points of a study are best, and why one is better than another.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/study/price.hpp"

namespace rehearse {

enum class Goal : uint8_t { step_time, speed, cost, energy };
inline constexpr Named<Goal> kGoals[] = {
    {"step_time_s", "the shortest step", Goal::step_time},
    {"tokens_per_s_per_gpu", "the most tokens a second and GPU", Goal::speed},
    {"cost", "the fewest dollars for 1e9 tokens", Goal::cost},
    {"energy", "the fewest joules for 1e9 tokens", Goal::energy},
};

// What a GPU costs and draws; 0 where not known.
struct Rates {
  double dollars_per_gpu_hour = 0, watts_per_gpu = 0;
};

// A point that was simulated and fits, with the figures it is chosen by.
struct Candidate {
  size_t index = 0;  // of the study's points
  double step_time_s = 0, tokens_per_s = 0, tokens_per_s_per_gpu = 0, mfu = 0, peak_bytes = 0, gpus = 0;
  Account account{};
  double tokens_per_step() const { return step_time_s * tokens_per_s; }
};
// Nothing where it was not simulated, or lacks a figure.
std::optional<Candidate> candidate_of(size_t index, const Outcome& outcome);
// A figure by its name in figure_table(); NaN where the outcome has none of it.
double figure_of(const Outcome& outcome, std::string_view name);

struct Expense {
  double dollars_per_step = 0, dollars_per_1e9_tokens = 0, joules_per_step = 0, joules_per_1e9_tokens = 0;
};
Expense expense_of(const Candidate& candidate, const Rates& rates);

// Less is better: seconds, GPU-seconds a token, dollars or joules for 1e9 tokens.
double goal_value(const Candidate& candidate, Goal goal, const Rates& rates);

// Best first; of equal ones that with less memory, fewer GPUs, the earlier point.
void sort_by_goal(std::vector<Candidate>& candidates, Goal goal, const Rates& rates);

// Among candidates in that order: one more than there are strictly better ones.
size_t rank_among(const std::vector<Candidate>& sorted, const Candidate& candidate, Goal goal,
                  const Rates& rates);

// Whether all take the same number of tokens a step, so that their steps compare.
bool same_tokens(const std::vector<Candidate>& candidates);

// Places of the rows that no other beats: is nowhere worse and somewhere better than. Less is better in every
// column; equal rows all stay. A row with a NaN beats none and is left out. Ascending.
std::vector<size_t> pareto_front(const std::vector<std::vector<double>>& rows);

// Step (for 1e9 tokens where tokens a step differ), peak memory, GPUs; cost and energy where rates are known.
std::vector<size_t> pareto_front(const std::vector<Candidate>& candidates, const Rates& rates);

// The account of one less that of another: why its goal is what it is.
struct PartDifference {
  std::string_view part;  // of kPartNames
  double amount = 0;      // negative: it takes less
};
struct Reason {
  // Seconds of a step; or where tokens a step or GPUs differ and the goal is another than the step,
  // GPU-seconds for 1e6 tokens.
  bool per_tokens = false;
  double total = 0;                   // their sum
  std::vector<PartDifference> parts;  // largest first; those that differ
};
Reason reason_of(const Candidate& candidate, const Candidate& other, Goal goal);
// "-1.90 s exposed_tp, +0.57 s bubble, +0.02 s of others"; "the same account" where nothing differs.
std::string reason_text(const Reason& reason);

// How far predictions are off where they were compared with measurements.
struct KnownError {
  double fraction = 0;
  std::string source;
};
// From the text of a `score --json`: the mape of a family, or the mean of families where none is named.
// Throws InputErrors (E-SCORE-FILE) at the file.
KnownError read_known_error(const std::string& file, const std::string& text, const std::string& family);

// Whether one goal's value lies so near to the best that an error of this size may turn them.
bool within_error(double value, double best, const KnownError& error);

}  // namespace rehearse
