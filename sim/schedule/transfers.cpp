#include "sim/schedule/transfers.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/schedule/dependencies.hpp"
#include "sim/schedule/shape.hpp"

namespace rehearse {

static bool is_gradient(ActionKind kind) {
  return kind == ActionKind::backward || kind == ActionKind::input_gradient;
}

bool sends(const Action& a, const PipelineShape& shape) {
  const bool forward = a.kind == ActionKind::forward;
  if (!forward && !is_gradient(a.kind)) return false;
  if (forward ? last_of_path(a.chunk, shape) : first_of_path(a.chunk, shape)) return false;
  return stage_of(a.chunk, shape) != stage_of(ChunkId(a.chunk.value + (forward ? 1 : -1)), shape);
}

bool receives(const Action& a, const PipelineShape& shape) {
  const bool forward = a.kind == ActionKind::forward;
  if (!forward && !is_gradient(a.kind)) return false;
  if (forward ? first_of_path(a.chunk, shape) : last_of_path(a.chunk, shape)) return false;
  return stage_of(a.chunk, shape) != stage_of(ChunkId(a.chunk.value + (forward ? -1 : 1)), shape);
}

Action receiver_of(const Action& a) {
  const bool forward = a.kind == ActionKind::forward;
  return {forward ? ActionKind::forward : ActionKind::backward, ChunkId(a.chunk.value + (forward ? 1 : -1)),
          a.micro};
}

StageId other_stage(const TransferStep& step, const PipelineShape& shape) {
  const bool up = (step.action.kind == ActionKind::forward) == step.send;
  return stage_of(ChunkId(step.action.chunk.value + (up ? 1 : -1)), shape);
}

TransferSteps transfers_of(const Schedule& schedule) {
  if (!schedule.transfers.empty()) return schedule.transfers;
  const ActionIndex index(schedule);
  TransferSteps steps(schedule.stages.size());
  std::vector<int> next(schedule.stages.size(), 0);  // of each stage, at the start of the round
  for (bool moved = true; moved;) {
    moved = false;
    std::vector<int> after = next;
    for (size_t s = 0; s < next.size(); ++s) {
      if (next[s] == int(schedule.stages[s].size())) continue;
      const auto need = need_of(schedule.stages[s][size_t(next[s])], schedule.shape, index);
      const bool there = !need || index.find(*need).index < next[size_t(index.find(*need).stage)];
      if (there) ++after[s], moved = true;
    }
    for (size_t s = 0; s < next.size(); ++s) {
      if (after[s] == next[s]) continue;
      Action a = schedule.stages[s][size_t(next[s])];
      if (!sends(a, schedule.shape)) continue;
      if (is_gradient(a.kind)) a.kind = ActionKind::backward;
      const Action taken = receiver_of(a);
      const auto to = size_t(stage_of(taken.chunk, schedule.shape).value);
      steps[s].push_back({true, a, after[s]});
      steps[to].push_back({false, taken, after[to]});
    }
    next = std::move(after);
  }
  return steps;
}

namespace {

// Actions and transfers, and what each waits for.
class Rendezvous {
 public:
  Rendezvous(const Schedule& schedule, const TransferSteps& transfers, bool blocking)
      : schedule_(schedule), steps_(transfers), index_(schedule) {
    for (size_t s = 0; s < schedule.stages.size(); ++s) {
      first_.push_back(int(waits_.size()));
      for (size_t i = 0; i < schedule.stages[s].size(); ++i) {
        waits_.emplace_back();
        names_.push_back(short_name(schedule.stages[s][i]) + " on stage " + std::to_string(s));
        if (i > 0) waits_.back().push_back(int(waits_.size()) - 2);
      }
    }
    for (size_t s = 0; s < steps_.size(); ++s)
      for (const auto& step : steps_[s])
        if (step.send) node_of_[key(receiver_of(step.action))] = add_transfer(s, step);
    for (size_t s = 0; s < steps_.size(); ++s) connect(s, blocking);
  }

  void check() const {
    std::vector<int> open(waits_.size());
    std::vector<std::vector<int>> next(waits_.size());
    std::vector<int> ready;
    for (size_t n = 0; n < waits_.size(); ++n) {
      open[n] = int(waits_[n].size());
      for (int w : waits_[n]) next[size_t(w)].push_back(int(n));
      if (open[n] == 0) ready.push_back(int(n));
    }
    size_t done = 0;
    for (; done < ready.size(); ++done)
      for (int n : next[size_t(ready[done])])
        if (--open[size_t(n)] == 0) ready.push_back(n);
    if (done < waits_.size()) throw_cycle(open, done);
  }

 private:
  using Key = std::tuple<bool, int, int>;
  static Key key(const Action& a) { return {a.kind == ActionKind::forward, a.chunk.value, a.micro.value}; }

  int add_transfer(size_t stage, const TransferStep& step) {
    const bool forward = step.action.kind == ActionKind::forward;
    waits_.emplace_back();
    names_.push_back(std::to_string(step.action.chunk.value) + (forward ? "SEND_F" : "SEND_B") +
                     std::to_string(step.action.micro.value) + " from stage " + std::to_string(stage) +
                     " to stage " +
                     std::to_string(stage_of(receiver_of(step.action).chunk, schedule_.shape).value));
    return int(waits_.size()) - 1;
  }

  // Of one stage: when its batches may start, and what waits for them.
  void connect(size_t s, bool blocking) {
    const auto& steps = steps_[s];
    const int actions = int(schedule_.stages[s].size());
    std::map<int, std::vector<int>> previous;  // with each other stage
    for (size_t from = 0; from < steps.size();) {
      size_t to = from;
      std::map<int, std::vector<int>> batch;
      const int before = steps[from].before;
      for (; to < steps.size() && steps[to].before == before; ++to) {
        const Action& a = steps[to].action;
        const int node = node_of_.at(key(steps[to].send ? receiver_of(a) : a));
        const int beside = stage_beside(steps[to]);
        batch[beside].push_back(node);
        auto& waits = waits_[size_t(node)];
        waits.insert(waits.end(), previous[beside].begin(), previous[beside].end());
        if (before > 0) waits.push_back(first_[s] + before - 1);
        if (!steps[to].send) needed_by(a, node);
        if (blocking && before < actions) waits_[size_t(first_[s]) + size_t(before)].push_back(node);
      }
      for (auto& [beside, nodes] : batch) previous[beside] = std::move(nodes);
      from = to;
    }
  }

  int stage_beside(const TransferStep& step) const { return other_stage(step, schedule_.shape).value; }

  void needed_by(Action a, int node) {
    if (a.kind == ActionKind::backward && !index_.find(a).valid()) a.kind = ActionKind::input_gradient;
    const ActionPosition at = index_.find(a);
    waits_[size_t(first_[size_t(at.stage)]) + size_t(at.index)].push_back(node);
  }

  [[noreturn]] void throw_cycle(const std::vector<int>& open, size_t done) const {
    const auto stands = [&](int n) { return open[size_t(n)] > 0; };
    std::vector<int> way;
    std::vector<bool> seen(waits_.size(), false);
    int at = 0;
    while (!stands(at)) ++at;
    for (; !seen[size_t(at)];) {
      seen[size_t(at)] = true;
      way.push_back(at);
      const auto& waits = waits_[size_t(at)];
      at = *std::find_if(waits.begin(), waits.end(), stands);
    }
    std::string cycle;
    for (auto n = std::find(way.begin(), way.end(), at); n != way.end(); ++n)
      cycle += names_[size_t(*n)] + " waits for ";
    throw InputErrors({{},
                       "schedule",
                       "E-SCHEDULE-DEADLOCK",
                       "no progress after " + std::to_string(done) + " of " + std::to_string(waits_.size()) +
                           " actions and transfers: " + cycle + names_[size_t(at)],
                       "a transfer starts when both stages have come to it, in the order of their "
                       "communication streams"});
  }

  const Schedule& schedule_;
  const TransferSteps& steps_;
  ActionIndex index_;
  std::vector<int> first_;               // [stage]: node of its first action
  std::vector<std::vector<int>> waits_;  // [node]
  std::vector<std::string> names_;
  std::map<Key, int> node_of_;  // by the action that needs it
};

}  // namespace

void check_rendezvous(const Schedule& schedule, const TransferSteps& transfers, bool blocking) {
  Rendezvous(schedule, transfers, blocking).check();
}

}  // namespace rehearse
