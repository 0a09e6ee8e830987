#include "sim/plan/memory.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/account/walk.hpp"

namespace rehearse {

namespace {

// From the first start to the last end of the tasks of one action.
struct Span {
  double from = 0, to = 0;
  bool set = false;
  void cover(double start, double end) {
    from = set ? std::min(from, start) : start;
    to = set ? std::max(to, end) : end;
    set = true;
  }
};

struct Live {  // of one micro-batch in one chunk
  Span forward, backward, weight;
};

struct Change {
  double time, activations, logits;
};

// F makes what is stored, and the head's F its logits; B (or I) holds the transient on top while it runs, and
// its end frees what F made but for what W needs, which the end of W frees.
void changes_of(const Live& live, const ActivationMemory& bytes, double step, std::vector<Change>& changes) {
  const auto hold = [&](double from, double to, double activations, double logits) {
    changes.push_back({from, activations, logits});
    changes.push_back({to, -activations, -logits});
  };
  if (live.forward.set) {
    const double used = live.backward.set ? live.backward.to : step;
    hold(live.forward.from, used, bytes.stored, bytes.logits);
    if (live.weight.set && live.weight.to > used) hold(used, live.weight.to, bytes.weight, bytes.logits);
  }
  if (live.backward.set && bytes.transient > 0)
    hold(live.backward.from, live.backward.to, bytes.transient, 0);
}

std::vector<Change> changes_of_unit(const TaskGraph& graph, const Timeline& timeline,
                                    const std::vector<int32_t>& runs,
                                    const std::vector<ActivationMemory>& bytes) {
  std::map<std::pair<ChunkId, MicroBatch>, Live> lives;
  for (int32_t t : runs) {
    const Task& task = graph.tasks[t];
    if (!task.pipeline) continue;
    Live& live = lives[{task.chunk, task.micro}];
    Span& span = task.action == ActionKind::forward           ? live.forward
                 : task.action == ActionKind::weight_gradient ? live.weight
                                                              : live.backward;
    span.cover(timeline.start[t], timeline.end[t]);
  }
  std::vector<Change> changes;
  for (const auto& [key, live] : lives)
    changes_of(live, bytes.at(size_t(key.first.value)), timeline.step, changes);
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return std::tie(a.time, a.activations, a.logits) < std::tie(b.time, b.activations, b.logits);
  });
  return changes;
}

// Samples after all changes of an instant, so that what one task frees serves the next. Amounts below a byte
// are rounding.
StageMemory stage_over_time(StageId stage, const MemoryParts& fixed, const std::vector<Change>& changes) {
  StageMemory memory{.stage = stage, .peak_time_s = 0, .peak = fixed, .over_time = {{0, fixed}}};
  double activations = 0, logits = 0;
  for (size_t i = 0; i < changes.size();) {
    const double time = changes[i].time;
    for (; i < changes.size() && changes[i].time == time; ++i) {
      activations += changes[i].activations;
      logits += changes[i].logits;
    }
    MemoryParts parts = fixed;
    parts.activations = activations < 1 ? 0 : activations;
    parts.logits = logits < 1 ? 0 : logits;
    if (memory.over_time.back().time_s == time) memory.over_time.pop_back();
    memory.over_time.push_back({time, parts});
    if (parts.total() > memory.peak.total()) memory.peak = parts, memory.peak_time_s = time;
  }
  return memory;
}

}  // namespace

MemoryReport memory_report(const Scenario& scenario, const TaskGraph& graph, const Timeline& timeline) {
  const auto chunks = plan_chunks(scenario);
  std::vector<ActivationMemory> bytes;
  bytes.reserve(chunks.size());
  for (const auto& chunk : chunks) bytes.push_back(activation_memory(scenario, chunk));

  MemoryReport report;
  report.capacity_bytes = scenario.profile->memory_bytes.value;
  for (int s = 0; s < scenario.layout.pp; ++s) {
    const auto part = static_memory(scenario, chunks, StageId(s));
    const MemoryParts fixed{part.weights, part.gradients, part.optimizer, 0, 0, part.buffers, part.framework};
    report.stages.push_back(stage_over_time(StageId(s), fixed, {}));
  }
  const auto tasks = tasks_by_unit(graph, timeline);
  for (size_t u = 0; u < graph.units.size();
       ++u) {  // of the replicas of a stage, the one with the highest peak
    StageMemory& stage = report.stages.at(size_t(graph.units[u].pp));
    const auto changes = changes_of_unit(graph, timeline, tasks.runs[u], bytes);
    auto memory = stage_over_time(stage.stage, stage.over_time.front().parts, changes);
    if (memory.peak.total() > stage.peak.total()) stage = std::move(memory);
  }
  for (const auto& stage : report.stages) report.peak_bytes = std::max(report.peak_bytes, stage.peak.total());
  report.fits = report.peak_bytes <= report.capacity_bytes;
  return report;
}

}  // namespace rehearse
