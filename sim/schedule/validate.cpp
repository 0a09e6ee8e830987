#include <algorithm>

#include "sim/schedule/dependencies.hpp"
#include "sim/schedule/shape.hpp"

namespace rehearse {

std::vector<InputError> shorten(std::vector<InputError> errors) {
  constexpr size_t most = 20;
  if (errors.size() <= most) return errors;
  const size_t rest = errors.size() - most;
  errors.resize(most);
  errors.back().hint +=
      (errors.back().hint.empty() ? "" : "; ") + ("and " + std::to_string(rest)) + " more such errors";
  return errors;
}

// Actions outside of the shape, on a foreign stage, or doubled.
static std::vector<InputError> misplaced(const Schedule& schedule, const ActionIndex& index,
                                         const PlaceOf& place_of) {
  std::vector<InputError> errors;
  const PipelineShape& shape = schedule.shape;
  const std::string copies = shape.placement == Placement::bidirectional
                                 ? "; the first half of them passes through the first half of the chunks"
                                 : "";
  const char* rule = shape.placement == Placement::looped ? "stage = chunk mod stages"
                                                          : "stage = chunk, or 2 x stages - 1 - chunk";
  for (int s = 0; s < shape.stages; ++s) {
    const auto& order = schedule.stages[size_t(s)];
    for (int i = 0; i < int(order.size()); ++i) {
      const Action& a = order[size_t(i)];
      const std::string on = " on stage " + std::to_string(s), name = short_name(a) + on;
      auto report = [&](const char* code, const std::string& message, const std::string& hint) {
        errors.push_back({place_of({s, i}), "schedule", code, message, hint});
      };
      if (!index.holds(a)) {
        report("E-SCHEDULE-RANGE", name + " is outside of the pipeline",
               "chunks go from 0 to " + std::to_string(chunk_count(shape) - 1) +
                   ", micro-batches from 0 to " + std::to_string(shape.micro_batches - 1) + copies);
      } else if (const StageId home = stage_of(a.chunk, shape); home.value != s) {
        report("E-SCHEDULE-STAGE",
               short_name(a) + " stands" + on + ", but chunk " + std::to_string(a.chunk.value) +
                   " lives on stage " + std::to_string(home.value),
               std::string(rule) + "; layout.placement says how chunks lie");
      } else if (const ActionPosition at = index.find(a); at.index != i) {
        report("E-SCHEDULE-TWICE",
               name + " is action " + std::to_string(i) + " and again " + std::to_string(at.index),
               "each action runs once a step");
      }
    }
  }
  return errors;
}

// What is missing on a stage is shown behind its last action.
static ActionPosition last_of(const Schedule& schedule, int stage) {
  const int last = int(schedule.stages[size_t(stage)].size()) - 1;
  return last < 0 ? ActionPosition{} : ActionPosition{stage, last};
}

// Each chunk and micro-batch needs its F, and either B or both I and W.
static std::vector<InputError> incomplete(const Schedule& schedule, const ActionIndex& index,
                                          const PlaceOf& place_of) {
  std::vector<InputError> errors;
  const PipelineShape& shape = schedule.shape;
  for (int c = 0; c < chunk_count(shape); ++c)
    for (int i = 0; i < shape.micro_batches; ++i) {
      if (!passes(ChunkId(c), MicroBatch(i), shape)) continue;
      auto at = [&](ActionKind kind) { return index.find({kind, ChunkId(c), MicroBatch(i)}); };
      auto name = [&](ActionKind kind) { return short_name({kind, ChunkId(c), MicroBatch(i)}); };
      auto report = [&](ActionPosition where, const char* code, const std::string& message,
                        const char* hint) {
        errors.push_back({place_of(where), "schedule", code, message, hint});
      };
      const int stage = stage_of(ChunkId(c), shape).value;
      const std::string missing = " is missing on stage " + std::to_string(stage);
      const ActionPosition gap = last_of(schedule, stage);
      if (!at(ActionKind::forward).valid())
        report(gap, "E-SCHEDULE-MISSING", name(ActionKind::forward) + missing, "");
      const bool input = at(ActionKind::input_gradient).valid(),
                 weight = at(ActionKind::weight_gradient).valid();
      if (!at(ActionKind::backward).valid()) {
        if (!input && !weight) report(gap, "E-SCHEDULE-MISSING", name(ActionKind::backward) + missing, "");
        if (input != weight)
          report(gap, "E-SCHEDULE-MISSING",
                 name(input ? ActionKind::weight_gradient : ActionKind::input_gradient) + missing,
                 "a split backward has both I and W");
      } else if (input || weight) {
        const ActionKind part = input ? ActionKind::input_gradient : ActionKind::weight_gradient;
        report(at(part), "E-SCHEDULE-TWICE", name(ActionKind::backward) + " already holds " + name(part),
               "B is the whole backward; a split one is I and W without B");
      }
    }
  return errors;
}

// Runs every action whose turn and need have come, until none moves; next[s] is where stage s then stands.
static std::vector<int> dry_run(const Schedule& schedule, const ActionIndex& index) {
  std::vector<int> next(schedule.stages.size(), 0);
  std::vector<std::vector<int>> waiting(
      schedule.stages.size());  // waiting[s]: stages that wait for something of s
  std::vector<int> ready(schedule.stages.size());
  for (size_t s = 0; s < ready.size(); ++s) ready[s] = int(s);
  auto done = [&](ActionPosition at) { return at.index < next[size_t(at.stage)]; };
  while (!ready.empty()) {
    const auto s = size_t(ready.back());
    ready.pop_back();
    const auto& order = schedule.stages[s];
    const int before = next[s];
    for (; next[s] < int(order.size()); ++next[s]) {
      const auto need = need_of(order[size_t(next[s])], schedule.shape, index);
      if (!need || done(index.find(*need))) continue;
      waiting[size_t(index.find(*need).stage)].push_back(int(s));
      break;
    }
    if (next[s] == before) continue;
    ready.insert(ready.end(), waiting[s].begin(), waiting[s].end());
    waiting[s].clear();
  }
  return next;
}

// The deadlock after a dry run: first the cycle, then every stage that stands.
static std::vector<InputError> deadlock(const Schedule& schedule, const ActionIndex& index,
                                        const PlaceOf& place_of, const std::vector<int>& next) {
  auto head = [&](int s) { return schedule.stages[size_t(s)][size_t(next[size_t(s)])]; };
  auto blocked = [&](int s) { return next[size_t(s)] < int(schedule.stages[size_t(s)].size()); };
  auto need = [&](int s) { return *need_of(head(s), schedule.shape, index); };
  auto awaited = [&](int s) { return int(index.find(need(s)).stage); };
  // "1B0, which stands behind 1F2 on stage 1"
  auto obstacle = [&](int s) {
    const int t = awaited(s);
    const std::string on = " on stage " + std::to_string(t);
    if (need(s) == head(t)) return short_name(need(s)) + on;
    return short_name(need(s)) + ", which stands behind " + short_name(head(t)) + on;
  };

  std::vector<bool> seen(schedule.stages.size());
  int s = 0;
  while (!blocked(s)) ++s;
  for (; !seen[size_t(s)]; s = awaited(s))
    seen[size_t(s)] = true;  // each blocked stage waits for a blocked one
  std::string cycle;
  int t = s;
  do {
    cycle += (cycle.empty() ? "" : "; ") + short_name(head(t)) + " waits for " + obstacle(t);
    t = awaited(t);
  } while (t != s);

  int64_t done = 0, all = 0;
  for (size_t k = 0; k < next.size(); ++k) done += next[k], all += int64_t(schedule.stages[k].size());
  std::vector<InputError> errors{
      {place_of({s, next[size_t(s)]}), "schedule", "E-SCHEDULE-DEADLOCK",
       "no progress after " + std::to_string(done) + " of " + std::to_string(all) + " actions: " + cycle,
       "actions of a stage run in the order listed"}};
  for (int k = 0; k < schedule.shape.stages; ++k)
    if (blocked(k))
      errors.push_back({place_of({k, next[size_t(k)]}), "schedule", "E-SCHEDULE-DEADLOCK",
                        "stage " + std::to_string(k) + " stands at " + short_name(head(k)) + " (action " +
                            std::to_string(next[size_t(k)]) + "), waiting for " + obstacle(k),
                        ""});
  return errors;
}

void validate_at(const Schedule& schedule, const PlaceOf& place_of) {
  check_shape(schedule.shape, schedule.name);
  if (int(schedule.stages.size()) != schedule.shape.stages)
    throw InputErrors({place_of({}), "schedule", "E-SCHEDULE-SHAPE",
                       "the schedule has " + std::to_string(schedule.stages.size()) +
                           " stages, the pipeline " + std::to_string(schedule.shape.stages),
                       ""});
  const ActionIndex index(schedule);
  auto errors = shorten(misplaced(schedule, index, place_of));
  const auto gaps = shorten(incomplete(schedule, index, place_of));
  errors.insert(errors.end(), gaps.begin(), gaps.end());
  if (!errors.empty()) throw InputErrors(std::move(errors));
  const std::vector<int> next = dry_run(schedule, index);
  for (size_t s = 0; s < next.size(); ++s)
    if (next[s] < int(schedule.stages[s].size()))
      throw InputErrors(deadlock(schedule, index, place_of, next));
}

void validate(const Schedule& schedule) {
  validate_at(schedule, [&](ActionPosition) { return Place{schedule.name, 0, 0, ""}; });
}

}  // namespace rehearse
