#include "sim/cli/one_schedule.hpp"

#include <algorithm>
#include <limits>

#include "sim/graph/schedules.hpp"
#include "sim/plan/memory.hpp"
#include "sim/spec/check.hpp"

namespace rehearse {

namespace {

Scenario variant_of(Scenario s, const std::string& schedule) {
  const int parts = s.layout.parts();
  s.schedule = schedule;
  s.warnings.clear();
  if (schedule != "auto") s.max_live = 0;
  if (schedule.ends_with(".csv")) return s;  // it runs the chunks that the layout has
  const ScheduleKind& kind = schedule_kind(schedule);
  const bool loops = kind.build == schedule_kind("looped-bfs").build;
  if (kind.min_chunks == kind.max_chunks)
    s.layout.chunks = kind.min_chunks;
  else if (kind.min_chunks > 1 || loops)
    s.layout.chunks = std::max(2, s.layout.chunks);
  s.layout.placement = kind.placement;
  if (s.layout.parts() != parts) s.layout.stage_layers.clear();
  return s;
}

// Chunk activations that fit beside what a stage always holds, on the fullest stage.
double live_that_fit(const Scenario& s, double memory) {
  const auto chunks = plan_chunks(s);
  double least = std::numeric_limits<double>::infinity();
  for (int stage = 0; stage < s.layout.pp; ++stage) {
    const auto fixed = static_memory(s, chunks, StageId(stage));
    double free =
        memory - fixed.weights - fixed.gradients - fixed.optimizer - fixed.buffers - fixed.framework;
    double each = 0, transient = 0;
    for (const auto& chunk : chunks) {
      if (chunk.stage.value != stage) continue;
      const auto bytes = activation_memory(s, chunk);
      each = std::max(each, bytes.stored + bytes.logits);
      transient = std::max(transient, bytes.transient);
    }
    least = std::min(least, each > 0 ? (free - transient) / each : free);
  }
  return least;
}

void run(Compared& compared, Scenario s, const CompareOptions& options) {
  check(s);
  if (options.memory && s.schedule == "auto") {
    const double live = std::floor(live_that_fit(s, *options.memory));
    s.max_live = std::clamp(live, 1.0, double(s.micro_batches()) * s.layout.chunks);
  }
  Schedule schedule = make_schedule(s);
  compared.plan = {std::move(s), std::move(schedule), {}};
  compared.step = simulate(compared.plan, step_options(options.engine));
}

void run_in_memory(Compared& compared, const Scenario& s, const CompareOptions& options) {
  const int each = s.batch.global / s.layout.dp;
  Compared best;
  std::optional<InputErrors> first;
  bool ran = false;
  for (int micro = 1; micro <= std::min(each, 4 * s.batch.micro); micro *= 2) {
    if (each % micro != 0) break;
    Scenario sized = s;
    sized.batch.micro = micro;
    Compared other = compared;
    try {
      run(other, sized, options);
    } catch (const InputErrors& found) {
      if (!first) first = found;
      continue;
    }
    ran = true;
    if (other.step.report.memory.peak_bytes > *options.memory) continue;
    if (best.schedule.empty() || other.step.report.step_time_s < best.step.report.step_time_s)
      best = std::move(other);
  }
  if (!ran && first) throw InputErrors(*first);
  if (best.schedule.empty())
    throw InputErrors(InputError{
        {}, "schedule", "E-SCHEDULE-MEMORY", "no size of micro-batch fits the memory to compare at", ""});
  compared = std::move(best);
}

}  // namespace

Compared compare_one(const Scenario& scenario, const std::string& schedule, const CompareOptions& options) {
  Compared compared;
  compared.schedule = schedule;
  const Scenario s = variant_of(scenario, schedule);
  compared.split = find_schedule(schedule) && schedule_kind(schedule).splits;
  try {
    if (options.memory)
      run_in_memory(compared, s, options);
    else
      run(compared, s, options);
  } catch (const InputErrors& found) {
    compared.refused = found.errors.front().code;
    compared.why = found.errors.front().message;
  }
  return compared;
}

}  // namespace rehearse
