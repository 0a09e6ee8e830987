#include "sim/schedule/list_schedule.hpp"

#include <algorithm>
#include <deque>

#include "sim/schedule/arrivals.hpp"

namespace rehearse {

namespace {

constexpr double kNever = Arrivals::kNever;

struct Pick {
  double start = kNever;
  Action action{ActionKind::forward, ChunkId(), MicroBatch()};
};

struct StageState {
  double free = 0;
  double live = 0;
  std::vector<int> next_forward, next_backward, held;  // by local chunk
  std::deque<Action> weights;
  Pick pick;
  bool stale = true;
};

class ListScheduler {
 public:
  ListScheduler(const PipelineShape& shape, const ScheduleCosts& costs, const ListRules& rules)
      : shape_(shape),
        costs_(costs),
        rules_(rules),
        stages_(size_t(shape.stages)),
        arrivals_(shape, costs.transfer) {
    for (auto& stage : stages_) {
      stage.held.assign(size_t(shape.chunks), 0);
      for (int local = 0; local < shape.chunks; ++local)
        stage.next_forward.push_back(first_micro(local, stage));
      stage.next_backward = stage.next_forward;
    }
  }

  std::optional<Schedule> run() {
    Schedule schedule{"", shape_};
    schedule.stages.resize(stages_.size());
    for (;;) {
      size_t best = 0;
      for (size_t s = 0; s < stages_.size(); ++s) {
        if (stages_[s].stale) stages_[s].pick = choose(int(s)), stages_[s].stale = false;
        if (stages_[s].pick.start < stages_[best].pick.start) best = s;
      }
      if (stages_[best].pick.start == kNever) break;
      commit(int(best), schedule.stages[best]);
    }
    const size_t each = size_t(rules_.split ? 3 : 2) * size_t(shape_.micro_batches) *
                        size_t(shape_.placement == Placement::bidirectional ? 1 : shape_.chunks);
    for (const auto& order : schedule.stages)
      if (order.size() != each) return std::nullopt;
    return schedule;
  }

 private:
  int first_micro(int local, const StageState& stage) const {
    const int s = int(&stage - stages_.data());
    const bool second =
        shape_.placement == Placement::bidirectional && chunk_on(s, local, shape_).value >= shape_.stages;
    return second ? (shape_.micro_batches + 1) / 2 : 0;
  }
  int end_micro(ChunkId chunk) const {
    const bool first = shape_.placement == Placement::bidirectional && chunk.value < shape_.stages;
    return first ? (shape_.micro_batches + 1) / 2 : shape_.micro_batches;
  }

  // Room for a forward of the stage's chunk `local`.
  bool admits(const StageState& stage, int local) const {
    int reserve = 0;
    const bool copies = shape_.placement == Placement::bidirectional;
    for (int k = copies ? 0 : local + 1; k < shape_.chunks; ++k)
      reserve += k != local && stage.held[size_t(k)] == 0 &&
                 stage.next_forward[size_t(k)] < end_micro(chunk_on(int(&stage - stages_.data()), k, shape_));
    return stage.live + 1 + reserve <= rules_.max_live + 1e-9;
  }

  Pick best_backward(int s) const {
    const auto& stage = stages_[size_t(s)];
    Pick best;
    for (int local = shape_.chunks; local-- > 0;) {
      const ChunkId chunk = chunk_on(s, local, shape_);
      const int micro = stage.next_backward[size_t(local)];
      if (micro >= stage.next_forward[size_t(local)]) continue;
      // A weight gradient may need more than the forward kept; then those that wait make room first.
      const bool room = stage.live + costs_.weight_hold - 1 <= rules_.max_live + 1e-9;
      if (rules_.split && !room && !stage.weights.empty()) continue;
      const Action backward{rules_.split ? ActionKind::input_gradient : ActionKind::backward, chunk,
                            MicroBatch(micro)};
      const Pick pick{std::max(stage.free, arrivals_.ready(backward)), backward};
      if (pick.start < best.start) best = pick;
    }
    return best;
  }
  Pick best_forward(int s) const {
    const auto& stage = stages_[size_t(s)];
    Pick best;
    for (int local = shape_.chunks; local-- > 0;) {
      const ChunkId chunk = chunk_on(s, local, shape_);
      const int micro = stage.next_forward[size_t(local)];
      if (micro >= end_micro(chunk) || !admits(stage, local)) continue;
      const Action forward{ActionKind::forward, chunk, MicroBatch(micro)};
      const Pick pick{std::max(stage.free, arrivals_.ready(forward)), forward};
      if (pick.start < best.start) best = pick;
    }
    return best;
  }

  Pick choose(int s) const {
    const auto& stage = stages_[size_t(s)];
    const Pick backward = best_backward(s), forward = best_forward(s);
    if (backward.start <= stage.free) return backward;
    if (forward.start <= stage.free &&
        backward.start - stage.free >=
            rules_.patience * costs_.of(ActionKind::forward, forward.action.chunk.value))
      return forward;
    const double next = std::min(backward.start, forward.start > stage.free ? forward.start : kNever);
    if (!stage.weights.empty()) {
      const Action& weight = stage.weights.front();
      const double length = costs_.of(ActionKind::weight_gradient, weight.chunk.value);
      if (next - stage.free >= rules_.fill * length) return {stage.free, weight};
    }
    return backward.start <= forward.start || forward.start <= stage.free ? backward : forward;
  }

  void touch(int chunk) { stages_[size_t(stage_of(ChunkId(chunk), shape_).value)].stale = true; }

  void commit(int s, std::vector<Action>& order) {
    auto& stage = stages_[size_t(s)];
    const Action a = stage.pick.action;
    const auto local = size_t(local_chunk(a.chunk, shape_));
    const double end = stage.pick.start + costs_.of(a.kind, a.chunk.value);
    order.push_back(a);
    arrivals_.ended(a, end);
    stage.free = end;
    stage.stale = true;
    if (a.kind == ActionKind::forward) {
      ++stage.live, ++stage.held[local], ++stage.next_forward[local];
      if (!last_of_path(a.chunk, shape_)) touch(a.chunk.value + 1);
    } else if (a.kind == ActionKind::weight_gradient) {
      stage.live -= costs_.weight_hold;
      --stage.held[local];
      stage.weights.pop_front();
    } else {
      ++stage.next_backward[local];
      if (!first_of_path(a.chunk, shape_)) touch(a.chunk.value - 1);
      stage.live -= rules_.split ? 1 - costs_.weight_hold : 1;
      if (rules_.split)
        stage.weights.push_back({ActionKind::weight_gradient, a.chunk, a.micro});
      else
        --stage.held[local];
    }
  }

  const PipelineShape& shape_;
  const ScheduleCosts& costs_;
  const ListRules& rules_;
  std::vector<StageState> stages_;
  Arrivals arrivals_;
};

}  // namespace

std::optional<Schedule> list_schedule(const PipelineShape& shape, const ScheduleCosts& costs,
                                      const ListRules& rules) {
  return ListScheduler(shape, costs, rules).run();
}

}  // namespace rehearse
