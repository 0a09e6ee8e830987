// The front, the ranking and the reasons, on points made by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sim/study/best.hpp"

namespace rehearse {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Rows = std::vector<std::vector<double>>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Candidate candidate(size_t index, double step, double peak = 1, double gpus = 8, double tokens = 1000) {
  Candidate c;
  c.index = index;
  c.step_time_s = step;
  c.tokens_per_s = tokens / step;
  c.tokens_per_s_per_gpu = c.tokens_per_s / gpus;
  c.peak_bytes = peak;
  c.gpus = gpus;
  c.account[size_t(Part::compute)] = step;
  return c;
}

std::vector<size_t> indices(const std::vector<Candidate>& candidates) {
  std::vector<size_t> all;
  for (const auto& c : candidates) all.push_back(c.index);
  return all;
}

std::vector<Candidate> sorted(std::vector<Candidate> candidates, Goal goal, const Rates& rates = {}) {
  sort_by_goal(candidates, goal, rates);
  return candidates;
}

}  // namespace

TEST(ParetoFront, KeepsWhatNoneBeats) {
  EXPECT_THAT(pareto_front(Rows{{1, 9}, {2, 5}, {3, 7}, {4, 4}, {4, 5}, {9, 1}}), ElementsAre(0, 1, 3, 5));
  EXPECT_THAT(pareto_front(Rows{}), IsEmpty());
  EXPECT_THAT(pareto_front(Rows{{3, 3, 3}}), ElementsAre(0));
}

TEST(ParetoFront, BeatsInOneColumnWhereTheOthersAreEqual) {
  EXPECT_THAT(pareto_front(Rows{{1, 2, 3}, {1, 2, 4}, {1, 1, 4}}), ElementsAre(0, 2));
}

TEST(ParetoFront, KeepsEqualRowsAll) {
  EXPECT_THAT(pareto_front(Rows{{2, 2}, {1, 1}, {1, 1}, {1, 1}}), ElementsAre(1, 2, 3));
}

TEST(ParetoFront, LeavesOutWhatIsNotKnown) {
  EXPECT_THAT(pareto_front(Rows{{kNan, 0}, {0, kNan}, {5, 5}, {6, 6}}), ElementsAre(2));
}

// Against the definition, on many rows with ties.
TEST(ParetoFront, IsThatOfItsDefinition) {
  std::vector<std::vector<double>> rows;
  for (unsigned state = 1, i = 0; i < 300; ++i) {
    rows.emplace_back();
    for (int k = 0; k < 3; ++k)
      rows.back().push_back(double((state = state * 1103515245u + 12345u) >> 16 & 63));
  }
  std::vector<size_t> expected;
  for (size_t i = 0; i < rows.size(); ++i) {
    bool beaten = false;
    for (const auto& other : rows) {
      bool no_worse = true;
      for (size_t k = 0; k < 3; ++k) no_worse = no_worse && other[k] <= rows[i][k];
      beaten = beaten || (no_worse && other != rows[i]);
    }
    if (!beaten) expected.push_back(i);
  }
  EXPECT_EQ(pareto_front(rows), expected);
  EXPECT_GT(expected.size(), 3u);
}

TEST(ParetoFront, ComparesTokensWhereStepsDoNotCompare) {
  // Twice the tokens in less than twice the time.
  const std::vector<Candidate> points{candidate(0, 10), candidate(1, 18, 1, 8, 2000)};
  EXPECT_THAT(pareto_front(points, Rates{}), ElementsAre(1));
  EXPECT_FALSE(same_tokens(points));
  EXPECT_TRUE(same_tokens({}));
}

TEST(ParetoFront, CountsGpusAndWhatTheyCost) {
  // Faster on twice the GPUs, which cost more in all.
  const std::vector<Candidate> points{candidate(0, 10, 5, 8), candidate(1, 6, 5, 16),
                                      candidate(2, 11, 5, 16)};
  EXPECT_THAT(pareto_front(points, Rates{}), ElementsAre(0, 1));
  EXPECT_THAT(pareto_front(points, Rates{2, 700}), ElementsAre(0, 1));
}

TEST(Best, CandidatesHaveAllFigures) {
  Outcome outcome;
  outcome.verdict = Verdict::simulated;
  for (size_t i = 0; i < figure_table().size(); ++i) outcome.figures.push_back(double(i + 1));
  const auto whole = candidate_of(7, outcome);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->index, 7u);
  EXPECT_EQ(whole->step_time_s, figure_of(outcome, "step_time_s"));
  EXPECT_EQ(whole->account[size_t(Part::bubble)], figure_of(outcome, "account_s.bubble"));
  EXPECT_EQ(whole->gpus, figure_of(outcome, "engine.ranks"));
  EXPECT_TRUE(std::isnan(figure_of(outcome, "no such")));
  outcome.figures[0] = kNan;
  EXPECT_FALSE(candidate_of(7, outcome));
  outcome.figures[0] = 1;
  for (const auto verdict : {Verdict::rejected, Verdict::unfit, Verdict::failed}) {
    outcome.verdict = verdict;
    EXPECT_FALSE(candidate_of(7, outcome));
  }
}

TEST(Best, SortsByTheGoalThenMemoryThenOrder) {
  EXPECT_THAT(indices(sorted({candidate(0, 3), candidate(1, 2, 9), candidate(2, 2, 5), candidate(3, 2, 5)},
                             Goal::step_time)),
              ElementsAre(2, 3, 1, 0));
  const std::vector<Candidate> sizes{candidate(0, 10, 1, 8), candidate(1, 6, 1, 16)};
  EXPECT_THAT(indices(sorted(sizes, Goal::step_time)), ElementsAre(1, 0));
  EXPECT_THAT(indices(sorted(sizes, Goal::speed)), ElementsAre(0, 1));
  EXPECT_THAT(indices(sorted(sizes, Goal::cost, {2, 0})), ElementsAre(0, 1));
  EXPECT_THAT(indices(sorted(sizes, Goal::energy, {0, 700})), ElementsAre(0, 1));
}

TEST(Best, RanksByWhatIsStrictlyBetter) {
  const auto points =
      sorted({candidate(0, 1), candidate(1, 2), candidate(2, 2), candidate(3, 4)}, Goal::step_time);
  const auto rank = [&](double step) { return rank_among(points, candidate(9, step), Goal::step_time, {}); };
  EXPECT_EQ(rank(0.5), 1u);
  EXPECT_EQ(rank(1), 1u);
  EXPECT_EQ(rank(2), 2u);
  EXPECT_EQ(rank(3), 4u);
  EXPECT_EQ(rank(5), 5u);
}

TEST(Best, PricesAStep) {
  // 8 GPUs for half an hour at 2 dollars and 700 W, over 4e9 tokens.
  const Expense e = expense_of(candidate(0, 1800, 1, 8, 4e9), {2, 700});
  EXPECT_DOUBLE_EQ(e.dollars_per_step, 8);
  EXPECT_DOUBLE_EQ(e.dollars_per_1e9_tokens, 2);
  EXPECT_DOUBLE_EQ(e.joules_per_step, 8 * 700 * 1800);
  EXPECT_DOUBLE_EQ(e.joules_per_1e9_tokens, 2 * 700 * 1800);
}

TEST(Best, ReasonsAreDifferencesOfAccounts) {
  Candidate a = candidate(0, 10), b = candidate(1, 9);
  a.account = {}, b.account = {};
  a.account[size_t(Part::compute)] = 6, b.account[size_t(Part::compute)] = 6;
  a.account[size_t(Part::exposed_tp)] = 3, b.account[size_t(Part::exposed_tp)] = 0.5;
  a.account[size_t(Part::bubble)] = 1, b.account[size_t(Part::bubble)] = 2.49;
  b.account[size_t(Part::optimizer)] = 0.01;
  const Reason reason = reason_of(b, a, Goal::step_time);
  EXPECT_FALSE(reason.per_tokens);
  EXPECT_NEAR(reason.total, -1, 1e-12);
  EXPECT_EQ(reason_text(reason), "-2.5 s exposed_tp, +1.49 s bubble, +0.01 s of others");
  EXPECT_EQ(reason_text(reason_of(a, a, Goal::step_time)), "the same account");
}

TEST(Best, ReasonsCompareTokensWhereSizesDiffer) {
  const Candidate small = candidate(0, 10, 1, 8), large = candidate(1, 6, 1, 16);
  EXPECT_EQ(reason_text(reason_of(large, small, Goal::step_time)), "-4 s compute");
  // 8 x 10 s against 16 x 6 s for 1000 tokens.
  EXPECT_EQ(reason_text(reason_of(small, large, Goal::speed)), "-1.6e+04 GPU-s/1e6 tokens compute");
}

TEST(Best, LeadsAreHeldAgainstTheError) {
  const KnownError error{0.05, "e"};
  EXPECT_TRUE(within_error(10, 10, error));
  EXPECT_TRUE(within_error(10.49, 10, error));
  EXPECT_FALSE(within_error(10.51, 10, error));
}

TEST(Best, ReadsTheErrorOfAScore) {
  const std::string score =
      R"({"families": [{"family": "a", "rows": 3, "mape": 0.04}, {"family": "b", "rows": 2,
    "mape": 0.08}, {"family": "none", "rows": 0, "mape": 0}], "mean_of_families": 0.06})";
  EXPECT_EQ(read_known_error("s.json", score, "").fraction, 0.06);
  EXPECT_EQ(read_known_error("s.json", score, "b").fraction, 0.08);
  EXPECT_EQ(read_known_error("s.json", score, "b").source, "s.json, family b");
  const auto refusal = [](const std::string& text, const std::string& family) -> std::string {
    try {
      read_known_error("s.json", text, family);
    } catch (const InputErrors& found) {
      return found.what();
    }
    return "";
  };
  for (const char* family : {"none", "c"})
    EXPECT_THAT(refusal(score, family), HasSubstr("s.json:1:1: error: the score has no rows of a family"))
        << family;
  for (const char* text : {"", "[]", "{}", "{", "{\"families\": 1, \"mean_of_families\": 0}",
                           "{\"families\": [], \"mean_of_families\": 0}"})
    EXPECT_THAT(refusal(text, ""), HasSubstr("[E-SCORE-FILE]")) << text;
  EXPECT_THAT(refusal("{\n  \"families\": ,\n}", ""), HasSubstr("s.json:2:15: error: this is not what"));
}

}  // namespace rehearse
