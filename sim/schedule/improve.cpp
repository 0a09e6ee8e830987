#include <algorithm>

#include "sim/schedule/dependencies.hpp"
#include "sim/schedule/list_schedule.hpp"
#include "sim/schedule/order_times.hpp"

namespace rehearse {

namespace {

constexpr int64_t kStageLooks = 10;  // at an action of a move that may not be made, each an action replayed

struct Move {
  size_t stage, from, to;  // the action at `from` goes to `to`; those between make room
};

class Improver {
 public:
  Improver(Schedule& schedule, const BuildOptions& options, double max_live, int64_t work)
      : schedule_(schedule),
        options_(options),
        max_live_(max_live),
        work_(work),
        looks_(kStageLooks * work),
        timer_(schedule.shape, options.costs) {
    for (const auto& order : schedule.stages) actions_ += int64_t(order.size());
  }

  bool run() {
    if (!timer_.run(schedule_.stages)) return false;
    double best = length();
    for (bool better = true; better && work_ > 0;) {
      better = false;
      for (const Move& move : moves()) {
        if (work_ <= 0 || looks_ <= 0) return true;
        looks_ -= int64_t(std::max(move.from, move.to)) + 1;
        if (!allowed(move)) continue;
        apply(move);
        work_ -= actions_;
        if (timer_.run(schedule_.stages) && length() < best * (1 - 1e-9)) {
          best = length();
          better = true;
          break;
        }
        apply({move.stage, move.to, move.from});
      }
      if (!better) timer_.run(schedule_.stages);
      if (!better) return false;
    }
    return true;
  }

 private:
  double length() const { return options_.global_sync ? timer_.makespan() : timer_.span(); }
  double start(size_t stage, size_t i) const {
    return timer_.ends()[stage][i] - timer_.duration(schedule_.stages[stage][i]);
  }

  // The stage that sets the length.
  size_t longest() const {
    size_t at = 0;
    for (size_t s = 1; s < schedule_.stages.size(); ++s) {
      const bool later = options_.global_sync ? timer_.ends()[s].back() > timer_.ends()[at].back()
                                              : timer_.span(s) > timer_.span(at);
      if (later) at = s;
    }
    return at;
  }

  // Along the critical path, from its end: what waited for its stage goes before what it waited for, or that
  // goes behind it, over one or more places.
  std::vector<Move> moves() const {
    std::vector<Move> moves;
    const ActionIndex index(schedule_);
    size_t s = longest(), i = schedule_.stages[s].size() - 1;
    for (;;) {
      const Action& a = schedule_.stages[s][i];
      const double from = start(s, i), tiny = 1e-9 * timer_.makespan();
      if (i > 0 && timer_.ends()[s][i - 1] >= from - tiny) {
        for (size_t step : {1, 2, 3, 5, 8}) {
          if (i >= step) moves.push_back({s, i, i - step});
          if (i - 1 + step < schedule_.stages[s].size()) moves.push_back({s, i - 1, i - 1 + step});
        }
        --i;
      } else {
        const auto need = need_of(a, schedule_.shape, index);
        if (!need || from <= tiny) break;
        const ActionPosition at = index.find(*need);
        s = size_t(at.stage), i = size_t(at.index);
      }
    }
    return moves;
  }

  static bool ordered(const Action& a, const Action& b) {
    if (a.kind == b.kind && a.chunk == b.chunk) return true;  // in order of micro-batches
    return a.chunk == b.chunk && a.micro == b.micro;          // F, I, W of one
  }

  bool allowed(const Move& move) const {
    const auto& order = schedule_.stages[move.stage];
    const Action& a = order[move.from];
    const size_t low = std::min(move.from, move.to), high = std::max(move.from, move.to);
    for (size_t k = low; k <= high; ++k)
      if (k != move.from && ordered(order[k], a)) return false;
    const double hold = options_.costs.weight_hold;
    double held = 0;
    const auto keeps = [&](const Action& b) { return (held += held_by(b.kind, hold)) <= max_live_ + 1e-9; };
    for (size_t k = 0; k < low; ++k) held += held_by(order[k].kind, hold);
    if (move.to < move.from && !keeps(a)) return false;
    for (size_t k = low; k <= high; ++k)
      if (k != move.from && !keeps(order[k])) return false;
    return true;
  }

  void apply(const Move& move) {
    auto& order = schedule_.stages[move.stage];
    const auto at = order.begin();
    if (move.to < move.from)
      std::rotate(at + long(move.to), at + long(move.from), at + long(move.from) + 1);
    else
      std::rotate(at + long(move.from), at + long(move.from) + 1, at + long(move.to) + 1);
  }

  Schedule& schedule_;
  const BuildOptions& options_;
  double max_live_;
  int64_t work_, looks_, actions_ = 0;
  OrderTimer timer_;
};

}  // namespace

OrderBudget::OrderBudget(const PipelineShape& shape) {
  constexpr int64_t all = 1'000'000'000, least = 1 + kBalanceOrders;
  const int64_t actions = int64_t(3) * shape.stages * shape.chunks * shape.micro_batches;
  left_ = std::max(least, all / std::max<int64_t>(1, actions * shape.stages));
}

bool OrderBudget::take(int64_t orders) {
  ended_ = ended_ || orders > left_;
  if (!ended_) left_ -= orders;
  return !ended_;
}

double duration_of(const ActionTimes& times, const BuildOptions& options) {
  return options.global_sync ? times.makespan : times.span;
}

bool improve(Schedule& schedule, const BuildOptions& options, double max_live, int64_t work) {
  return Improver(schedule, options, max_live, work).run();
}

}  // namespace rehearse
