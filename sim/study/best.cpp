#include "sim/study/best.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace rehearse {

namespace {

constexpr double kSame = 1e-9;  // relative: summed in another order

bool same(double a, double b) { return std::abs(a - b) <= kSame * std::max(std::abs(a), std::abs(b)); }

}  // namespace

double figure_of(const Outcome& outcome, std::string_view name) {
  const auto table = figure_table();
  for (size_t i = 0; i < table.size() && i < outcome.figures.size(); ++i)
    if (table[i].name == name) return outcome.figures[i];
  return std::numeric_limits<double>::quiet_NaN();
}

std::optional<Candidate> candidate_of(size_t index, const Outcome& outcome) {
  if (outcome.verdict != Verdict::simulated) return {};
  Candidate c;
  c.index = index;
  c.step_time_s = figure_of(outcome, "step_time_s");
  c.tokens_per_s = figure_of(outcome, "tokens_per_s");
  c.tokens_per_s_per_gpu = figure_of(outcome, "tokens_per_s_per_gpu");
  c.mfu = figure_of(outcome, "mfu");
  c.peak_bytes = figure_of(outcome, "memory.peak_bytes");
  c.gpus = figure_of(outcome, "engine.ranks");
  double all = c.step_time_s + c.tokens_per_s + c.tokens_per_s_per_gpu + c.mfu + c.peak_bytes + c.gpus;
  for (size_t part = 0; part < kParts; ++part) {
    c.account[part] = figure_of(outcome, "account_s." + std::string(kPartNames[part]));
    all += c.account[part];
  }
  if (!std::isfinite(all)) return {};
  return c;
}

Expense expense_of(const Candidate& c, const Rates& rates) {
  const double gpu_seconds = c.gpus * c.step_time_s, steps = 1e9 / c.tokens_per_step();
  Expense expense;
  expense.dollars_per_step = gpu_seconds / 3600 * rates.dollars_per_gpu_hour;
  expense.joules_per_step = gpu_seconds * rates.watts_per_gpu;
  expense.dollars_per_1e9_tokens = expense.dollars_per_step * steps;
  expense.joules_per_1e9_tokens = expense.joules_per_step * steps;
  return expense;
}

double goal_value(const Candidate& candidate, Goal goal, const Rates& rates) {
  switch (goal) {
    case Goal::step_time:
      return candidate.step_time_s;
    case Goal::speed:
      return 1 / candidate.tokens_per_s_per_gpu;
    case Goal::cost:
      return expense_of(candidate, rates).dollars_per_1e9_tokens;
    case Goal::energy:
      return expense_of(candidate, rates).joules_per_1e9_tokens;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

void sort_by_goal(std::vector<Candidate>& candidates, Goal goal, const Rates& rates) {
  std::sort(candidates.begin(), candidates.end(), [&](const Candidate& a, const Candidate& b) {
    const double x = goal_value(a, goal, rates), y = goal_value(b, goal, rates);
    if (x != y) return x < y;
    if (a.peak_bytes != b.peak_bytes) return a.peak_bytes < b.peak_bytes;
    return a.gpus != b.gpus ? a.gpus < b.gpus : a.index < b.index;
  });
}

size_t rank_among(const std::vector<Candidate>& sorted, const Candidate& candidate, Goal goal,
                  const Rates& rates) {
  const double value = goal_value(candidate, goal, rates);
  const auto at = std::find_if(sorted.begin(), sorted.end(),
                               [&](const Candidate& c) { return goal_value(c, goal, rates) >= value; });
  return size_t(at - sorted.begin()) + 1;
}

bool same_tokens(const std::vector<Candidate>& candidates) {
  return std::all_of(candidates.begin(), candidates.end(), [&](const Candidate& c) {
    return same(c.tokens_per_step(), candidates.front().tokens_per_step());
  });
}

std::vector<size_t> pareto_front(const std::vector<std::vector<double>>& rows) {
  std::vector<size_t> order;
  for (size_t i = 0; i < rows.size(); ++i)
    if (std::none_of(rows[i].begin(), rows[i].end(), [](double v) { return std::isnan(v); }))
      order.push_back(i);
  // In this order only earlier rows can beat one, and of those only such as are on the front.
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return rows[a] != rows[b] ? rows[a] < rows[b] : a < b; });
  std::vector<size_t> front;
  for (const size_t i : order) {
    const bool beaten = std::any_of(front.begin(), front.end(), [&](size_t f) {
      return rows[f] != rows[i] && std::equal(rows[f].begin(), rows[f].end(), rows[i].begin(),
                                              [](double theirs, double ours) { return theirs <= ours; });
    });
    if (!beaten) front.push_back(i);
  }
  std::sort(front.begin(), front.end());
  return front;
}

std::vector<size_t> pareto_front(const std::vector<Candidate>& candidates, const Rates& rates) {
  const bool by_step = same_tokens(candidates);
  std::vector<std::vector<double>> rows;
  for (const auto& c : candidates) {
    const Expense expense = expense_of(c, rates);
    rows.push_back({by_step ? c.step_time_s : 1e9 / c.tokens_per_s, c.peak_bytes, c.gpus});
    if (rates.dollars_per_gpu_hour > 0) rows.back().push_back(expense.dollars_per_1e9_tokens);
    if (rates.watts_per_gpu > 0) rows.back().push_back(expense.joules_per_1e9_tokens);
  }
  return pareto_front(rows);
}

Reason reason_of(const Candidate& candidate, const Candidate& other, Goal goal) {
  const bool alike =
      same(candidate.tokens_per_step(), other.tokens_per_step()) && candidate.gpus == other.gpus;
  Reason reason;
  reason.per_tokens = !alike && goal != Goal::step_time;
  const auto scale = [&](const Candidate& c) {
    return reason.per_tokens ? 1e6 * c.gpus / c.tokens_per_step() : 1.0;
  };
  const double ours = scale(candidate), theirs = scale(other);
  for (size_t part = 0; part < kParts; ++part) {
    const double amount = ours * candidate.account[part] - theirs * other.account[part];
    reason.total += amount;
    if (std::abs(amount) > kSame * theirs * other.step_time_s)
      reason.parts.push_back({kPartNames[part], amount});
  }
  std::stable_sort(reason.parts.begin(), reason.parts.end(),
                   [](const auto& a, const auto& b) { return std::abs(a.amount) > std::abs(b.amount); });
  return reason;
}

std::string reason_text(const Reason& reason) {
  constexpr size_t kShown = 4;
  constexpr double kSmall = 0.01;  // of the largest
  if (reason.parts.empty()) return "the same account";
  const char* unit = reason.per_tokens ? "GPU-s/1e6 tokens" : "s";
  std::string text;
  double rest = 0;
  size_t shown = 0, left = 0;
  for (const auto& part : reason.parts) {
    if (shown < kShown && std::abs(part.amount) > kSmall * std::abs(reason.parts.front().amount)) {
      text += fmt::format("{}{:+.3g} {} {}", shown > 0 ? ", " : "", part.amount, unit, part.part);
      ++shown;
    } else {
      rest += part.amount;
      ++left;
    }
  }
  if (left > 0) text += fmt::format(", {:+.2g} {} of others", rest, unit);
  return text;
}

bool within_error(double value, double best, const KnownError& error) {
  return value <= best * (1 + error.fraction);
}

}  // namespace rehearse
