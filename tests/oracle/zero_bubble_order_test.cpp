// The order of schedules by measured steps of Qi et al. 2023, rows of the same model, stages and batch.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "sim/study/truth.hpp"
#include "tests/support/program.hpp"

namespace rehearse {
namespace {

struct Row {
  std::string id;
  double measured = 0, predicted = 0;
};

// By model, stages and sequences a step.
std::vector<std::vector<Row>> questions(const std::string& file) {
  const auto run = test::run_program("score " + file + " --quiet --json -", REHEARSE_SOURCE_DIR);
  EXPECT_EQ(run.status, 0) << run.err;
  std::map<std::string, double> predicted;
  const auto json = nlohmann::json::parse(run.out);
  for (const auto& row : json["rows"]) predicted[row["id"]] = row["predicted_s"].get<double>();
  std::map<std::tuple<int, int, int>, std::vector<Row>> by;
  EXPECT_EQ(predicted.size(), 48u);
  for (const auto& row : load_truth(REHEARSE_SOURCE_DIR "/" + file, {{REHEARSE_SOURCE_DIR}}).rows) {
    const Scenario& s = row.scenario.value();
    by[{s.model.hidden, s.layout.pp, s.batch.global}].push_back(
        {row.id, row.measured_s, predicted.at(row.id)});
  }
  std::vector<std::vector<Row>> rows;
  for (auto& [key, group] : by) rows.push_back(std::move(group));
  return rows;
}

TEST(ZeroBubbleSteps, SchedulesComeInTheMeasuredOrder) {
  int pairs = 0;
  const auto groups = questions("tests/oracle/zero_bubble_steps.yaml");
  EXPECT_EQ(groups.size(), 12u);
  for (const auto& group : groups)
    for (const auto& a : group)
      for (const auto& b : group) {
        if (a.measured >= b.measured) continue;
        ++pairs;
        EXPECT_LT(a.predicted, b.predicted) << a.id << " was faster than " << b.id;
      }
  EXPECT_EQ(pairs, 71);
}

}  // namespace
}  // namespace rehearse
