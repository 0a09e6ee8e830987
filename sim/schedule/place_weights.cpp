#include <algorithm>
#include <deque>

#include "sim/schedule/arrivals.hpp"
#include "sim/schedule/list_schedule.hpp"

namespace rehearse {

namespace {

constexpr double kClose = 1e-9;  // s x work: gaps below it are rounding

struct StageCursor {
  std::vector<Action> order;  // what stays: forwards and input gradients
  size_t next = 0;
  double free = 0, live = 0, idle = 0;
  std::deque<Action> weights;
};

class WeightPlacer {
 public:
  // `before`: idle time of each stage in an earlier attempt, none for the first.
  WeightPlacer(const Schedule& schedule, const ScheduleCosts& costs, double max_live, FillRule rule,
               std::vector<double> before)
      : costs_(costs),
        max_live_(max_live),
        rule_(rule),
        before_(std::move(before)),
        stages_(schedule.stages.size()),
        arrivals_(schedule.shape, costs.transfer) {
    for (size_t s = 0; s < stages_.size(); ++s)
      std::copy_if(schedule.stages[s].begin(), schedule.stages[s].end(), std::back_inserter(stages_[s].order),
                   [](const Action& a) { return a.kind != ActionKind::weight_gradient; });
    result_ = {schedule.name, schedule.shape, std::vector<std::vector<Action>>(stages_.size()),
               schedule.note};
  }

  Schedule run() {
    for (;;) {
      int best = -1;
      double start = 0;
      for (size_t s = 0; s < stages_.size(); ++s) {
        const StageCursor& stage = stages_[s];
        if (stage.next == stage.order.size()) continue;
        const double ready = arrivals_.ready(stage.order[stage.next]);
        if (ready == Arrivals::kNever) continue;
        const double at = std::max(ready, stage.free);
        if (best < 0 || at < start) best = int(s), start = at;
      }
      if (best < 0) break;
      advance(size_t(best));
    }
    for (size_t s = 0; s < stages_.size(); ++s)
      while (!stages_[s].weights.empty()) run_weight(s);
    return std::move(result_);
  }

  std::vector<double> idle() const {
    std::vector<double> idle;
    for (const auto& stage : stages_) idle.push_back(stage.idle);
    return idle;
  }

 private:
  double length(const Action& a) const { return costs_.of(a.kind, a.chunk.value); }

  void run_weight(size_t s) {
    StageCursor& stage = stages_[s];
    stage.free += length(stage.weights.front());
    stage.live -= costs_.weight_hold;
    result_.stages[s].push_back(stage.weights.front());
    stage.weights.pop_front();
  }

  bool fills(size_t s) const {
    if (rule_ != FillRule::balance) return rule_ == FillRule::always;
    double most = 0, most_before = 0;
    for (const auto& stage : stages_) most = std::max(most, stage.idle);
    for (double idle : before_) most_before = std::max(most_before, idle);
    if (!before_.empty()) most = std::max(most, most_before - before_[s]);
    const StageCursor& stage = stages_[s];
    return arrivals_.ready(stage.order[stage.next]) - stage.free > most - stage.idle + kClose;
  }

  void advance(size_t s) {
    StageCursor& stage = stages_[s];
    const Action a = stage.order[stage.next];
    const bool forward = a.kind == ActionKind::forward;
    const double ready = arrivals_.ready(a), more = forward ? 1 : costs_.weight_hold - 1;
    auto pending = [&] { return !stage.weights.empty(); };
    while (pending() && stage.live + more > max_live_ + kClose) run_weight(s);
    while (pending() && stage.free + length(stage.weights.front()) <= ready + kClose) run_weight(s);
    if (pending() && ready > stage.free + kClose && fills(s)) run_weight(s);
    const double start = std::max(ready, stage.free);
    if (stage.next > 0) stage.idle += start - stage.free;
    stage.free = start + length(a);
    stage.live += more;
    arrivals_.ended(a, stage.free);
    if (!forward) stage.weights.push_back({ActionKind::weight_gradient, a.chunk, a.micro});
    result_.stages[s].push_back(a);
    ++stage.next;
  }

  const ScheduleCosts& costs_;
  double max_live_;
  FillRule rule_;
  std::vector<double> before_;
  std::vector<StageCursor> stages_;
  Arrivals arrivals_;
  Schedule result_;
};

}  // namespace

Schedule place_weights(const Schedule& schedule, const ScheduleCosts& costs, double max_live, FillRule rule) {
  WeightPlacer placer(schedule, costs, max_live, rule, {});
  Schedule best = placer.run();
  if (rule != FillRule::balance) return best;
  double span = time_actions(best, costs).span;
  std::vector<double> idle = placer.idle();
  // What the idlest stage idled at last, others may idle early.
  for (int attempt = 0; attempt < 6; ++attempt) {
    WeightPlacer again(schedule, costs, max_live, rule, idle);
    Schedule other = again.run();
    const double other_span = time_actions(other, costs).span;
    if (other_span >= span) break;
    best = std::move(other), span = other_span, idle = again.idle();
  }
  return best;
}

}  // namespace rehearse
