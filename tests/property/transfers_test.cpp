// Sends and receives of the built-in schedules: what is derived fits, and what is written comes back.
#include "sim/schedule/transfers.hpp"

#include <gtest/gtest.h>

#include "sim/base/error.hpp"

namespace rehearse {
namespace {

std::vector<Schedule> some_schedules() {
  std::vector<Schedule> schedules;
  for (const auto& row : schedule_table())
    for (const auto& [p, m] : {std::pair{2, 4}, {4, 8}, {4, 12}, {6, 12}})
      schedules.push_back(build_schedule(row.name, {p, m, row.value.min_chunks}));
  return schedules;
}

TEST(Transfers, OfABuiltInScheduleEachOnceAndInPlace) {
  for (const Schedule& schedule : some_schedules()) {
    SCOPED_TRACE(schedule.name);
    const auto steps = transfers_of(schedule);
    size_t sent = 0, received = 0, sending = 0, receiving = 0;
    for (size_t s = 0; s < steps.size(); ++s) {
      for (const auto& step : steps[s]) (step.send ? sent : received) += 1;
      for (const Action& a : schedule.stages[s]) {
        sending += sends(a, schedule.shape);
        receiving += receives(a, schedule.shape);
      }
    }
    EXPECT_EQ(sent, sending);
    EXPECT_EQ(received, receiving);
    EXPECT_EQ(sent, received);
  }
}

// Every built-in schedule, at any size, makes progress with blocking receives and without.
TEST(Transfers, MakeProgress) {
  for (const Schedule& schedule : some_schedules())
    for (bool blocking : {true, false})
      EXPECT_NO_THROW(check_rendezvous(schedule, transfers_of(schedule), blocking)) << schedule.name;
}

TEST(Transfers, LoweredTextComesBack) {
  for (const Schedule& schedule : some_schedules()) {
    SCOPED_TRACE(schedule.name);
    const std::string text = to_lowered_csv(schedule);
    const Schedule again = from_csv(text, "s.csv", schedule.shape);
    EXPECT_EQ(again.stages, schedule.stages);
    EXPECT_EQ(again.transfers, transfers_of(schedule));
    EXPECT_EQ(to_lowered_csv(again), text);
  }
}

}  // namespace
}  // namespace rehearse
