// From what was asked for to what will run.
#pragma once
#include "sim/schedule/schedule.hpp"
#include "sim/spec/job.hpp"

namespace rehearse {

struct Plan {
  Scenario scenario;  // held against itself: layout.dp derived, chunks placed, warnings of what has no effect
  Schedule schedule;  // what scenario.schedule asks for, in the scenario's shape; validated
  Places places;      // for errors that later checks find
};

// Throws InputErrors, all that was found at once, each at the key that it is about.
Plan resolve(Job job);
// A scenario made in code, as a variant of another: its schedule is built anew, in the chunks it has.
Plan resolve(Scenario scenario);

}  // namespace rehearse
