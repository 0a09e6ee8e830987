#include "sim/step/step.hpp"

namespace rehearse {

TaskGraph lowered(const Plan& plan, const LowerOptions& options) {
  try {
    return lower(plan.scenario, plan.schedule, options);
  } catch (const InputErrors& found) {
    auto errors = found.errors;
    for (auto& error : errors)
      if (error.place.file.empty() && plan.places.given(error.key_path))
        error.place = plan.places.find(error.key_path);
    throw InputErrors(std::move(errors));
  }
}

Step simulate(const Plan& plan, const StepOptions& options) {
  const Scenario& scenario = plan.scenario;
  Step step;
  step.graph = lowered(plan, options.lower);
  step.timeline = options.engine(step.graph);
  step.timeline.step = step_time(step.graph, step.timeline);
  step.report = options.memory
                    ? make_report(scenario, plan.schedule, step.graph, step.timeline, *options.memory)
                    : make_report(scenario, plan.schedule, step.graph, step.timeline);
  if (!options.links) return step;
  step.links = link_loads(scenario, step.graph, step.timeline);
  step.report.link_classes = link_classes(step.links, step.timeline.step);
  step.report.most_loaded = most_loaded(step.links, 3);
  return step;
}

}  // namespace rehearse
