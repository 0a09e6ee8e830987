#include "sim/step/plan.hpp"

#include "sim/graph/schedules.hpp"

namespace rehearse {

namespace {

// Errors about the schedule get the place of the key that names it, unless they stand in its own file.
[[noreturn]] void throw_placed(const InputErrors& found, const Places& places) {
  auto errors = found.errors;
  for (auto& error : errors) {
    if (!error.place.file.empty()) continue;
    const std::string key = error.code == "E-SCHEDULE-CHUNKS"      ? "layout.chunks"
                            : error.code == "E-SCHEDULE-PLACEMENT" ? "layout.placement"
                            : error.code == "E-SCHEDULE-LIVE" || error.code == "E-SCHEDULE-CAP"
                                ? "max_live"
                                : error.key_path;
    error.place = places.find(places.given(key) ? key : "schedule");
  }
  throw InputErrors(std::move(errors));
}

// Only a whole backward holds what a collective of tensor parallelism runs beside.
void warn_of_split_backwards(Scenario& scenario, const Schedule& schedule) {
  if (!scenario.overlap.tp || scenario.layout.tp == 1) return;
  for (const auto& stage : schedule.stages)
    for (const Action& action : stage)
      if (action.kind == ActionKind::backward) return;
  scenario.warnings.push_back(
      {"W-NO-EFFECT", "overlap.tp has no effect: the schedule runs input and weight gradients apart"});
}

Plan planned(Scenario scenario, const GivenLayout& given, Places places) {
  const auto placed = [&](auto step) {
    try {
      return step();
    } catch (const InputErrors& found) {
      throw_placed(found, places);
    }
  };
  placed([&] { place_chunks(scenario, given); });
  check(scenario, places);
  Schedule schedule = placed([&] { return make_schedule(scenario); });
  warn_of_split_backwards(scenario, schedule);
  return {std::move(scenario), std::move(schedule), std::move(places)};
}

}  // namespace

Plan resolve(Job job) {
  const GivenLayout given{.chunks = job.places.given("layout.chunks"),
                          .placement = job.places.given("layout.placement")};
  return planned(std::move(job.scenario), given, std::move(job.places));
}

Plan resolve(Scenario scenario) { return planned(std::move(scenario), {.chunks = true}, {}); }

}  // namespace rehearse
