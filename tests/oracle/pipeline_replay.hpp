// A schedule at given costs, replayed by one of the engines.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "sim/account/report.hpp"
#include "sim/engine/engine.hpp"
#include "sim/graph/lower.hpp"

namespace rehearse {

inline PipelineFigures replay(const Schedule& schedule, const StageCosts& costs, Engine engine) {
  const TaskGraph graph = lower_costs(schedule, costs);
  return pipeline_figures(graph, engine(graph), schedule);
}

inline void expect_close(double value, double expected) {
  EXPECT_NEAR(value, expected, 1e-9 * (expected == 0 ? 1 : expected));
}

class EveryEngine : public testing::TestWithParam<std::string> {
 protected:
  Engine engine() const {
    for (const auto& row : engine_table())
      if (row.name == GetParam()) return row.value;
    throw std::runtime_error("no such engine");
  }
};

inline std::vector<std::string> engine_names() {
  std::vector<std::string> names;
  for (const auto& row : engine_table()) names.emplace_back(row.name);
  return names;
}

inline std::string name_of_engine(const testing::TestParamInfo<std::string>& info) { return info.param; }

}  // namespace rehearse
