// The task graph of a scenario, as its own schedule lowers it.
#pragma once
#include "sim/graph/lower.hpp"
#include "sim/graph/schedules.hpp"

namespace rehearse::test {

inline TaskGraph lowered(const Scenario& s, bool fold = true) {
  return lower(s, build_schedule(s.schedule, {s.layout.pp, s.micro_batches(), s.layout.chunks}),
               {.fold = fold});
}

}  // namespace rehearse::test
