// From what a scenario asks for to its schedule, with the costs that its kernels have.
#pragma once
#include "sim/graph/lower.hpp"

namespace rehearse {

// What each action takes alone, priced from the profile, and what a transfer to the next stage takes; the
// part of an activation that waits for W, by its bytes.
ScheduleCosts schedule_costs(const Scenario& scenario);

// Which keys of the layout the user has written.
struct GivenLayout {
  bool chunks = false, placement = false;
};
// Where the scenario names a built-in schedule: sets the placement of its chunks, and their number where it
// is not given and the schedule has but one. Throws InputErrors: E-SCHEDULE-PLACEMENT where another
// placement is given, or one at all to `auto`; E-SCHEDULE-LIVE where max_live is given and the schedule is
// not `auto`.
void place_chunks(Scenario& scenario, const GivenLayout& given);

// The schedule of a checked scenario, built at its own costs where it searches; sets the placement that
// `auto` chose. Throws as load_schedule(), and where receives are posted as check_rendezvous().
Schedule make_schedule(Scenario& scenario);

}  // namespace rehearse
