#include <algorithm>
#include <limits>

#include "sim/account/report.hpp"
#include "sim/plan/memory.hpp"

namespace rehearse {

namespace {

// Micro-batches of one chunk whose activations are there, and those of which only what W needs is left.
struct Held {
  int64_t stored = 0, weight = 0;
};

class StageWalk {
 public:
  StageWalk(StageId stage, const std::vector<ChunkPlan>& chunks, const std::vector<ActivationMemory>& bytes,
            const MemoryParts& fixed)
      : bytes_(bytes), held_(bytes.size()), peak_(fixed), fixed_(fixed) {
    for (size_t c = 0; c < chunks.size(); ++c)
      if (chunks[c].stage == stage) chunks_.push_back(c);
  }

  void run(const Action& action) {
    const auto chunk = size_t(action.chunk.value);
    Held& held = held_[chunk];
    const bool backward = action.kind == ActionKind::backward || action.kind == ActionKind::input_gradient;
    held.stored += action.kind == ActionKind::forward;
    sample(backward ? bytes_[chunk].transient : 0);
    held.stored -= backward;
    held.weight += action.kind == ActionKind::input_gradient;
    held.weight -= action.kind == ActionKind::weight_gradient;
  }
  const MemoryParts& peak() const { return peak_; }

 private:
  // Summed anew from whole counts, so that no rounding builds up.
  void sample(double transient) {
    MemoryParts parts = fixed_;
    parts.activations = transient;
    for (const size_t chunk : chunks_) {
      const Held& held = held_[chunk];
      parts.activations +=
          double(held.stored) * bytes_[chunk].stored + double(held.weight) * bytes_[chunk].weight;
      parts.logits += double(held.stored + held.weight) * bytes_[chunk].logits;
    }
    if (parts.total() > peak_.total()) peak_ = parts;
  }

  const std::vector<ActivationMemory>& bytes_;  // a chunk each
  std::vector<Held> held_;                      // the same
  std::vector<size_t> chunks_;                  // of this stage
  MemoryParts peak_;
  const MemoryParts fixed_;
};

}  // namespace

MemoryReport planned_memory(const Scenario& scenario, const Schedule& schedule) {
  const auto chunks = plan_chunks(scenario);
  std::vector<ActivationMemory> bytes;
  bytes.reserve(chunks.size());
  for (const auto& chunk : chunks) bytes.push_back(activation_memory(scenario, chunk));
  MemoryReport report;
  report.capacity_bytes = scenario.profile->memory_bytes.value;
  for (int s = 0; s < scenario.layout.pp; ++s) {
    const auto part = static_memory(scenario, chunks, StageId(s));
    StageWalk walk(StageId(s), chunks, bytes,
                   {part.weights, part.gradients, part.optimizer, 0, 0, part.buffers, part.framework});
    for (const Action& action : schedule.stages[size_t(s)]) walk.run(action);
    report.stages.push_back({StageId(s), std::numeric_limits<double>::quiet_NaN(), walk.peak(), {}});
    report.peak_bytes = std::max(report.peak_bytes, walk.peak().total());
  }
  report.fits = report.peak_bytes <= report.capacity_bytes;
  return report;
}

}  // namespace rehearse
