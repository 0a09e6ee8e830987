#include "calibration/verify/steps.hpp"

#include <algorithm>
#include <boost/range/iterator_range.hpp>
#include <queue>

#include "calibration/plan/needs.hpp"
#include "sim/graph/csr.hpp"

namespace rehearse::calibration {

namespace {

std::vector<int> in_order(const TaskGraph& graph, const std::vector<double>& start) {
  const auto later = [&](int a, int b) {
    return start[size_t(a)] != start[size_t(b)] ? start[size_t(a)] > start[size_t(b)] : a > b;
  };
  std::priority_queue<int, std::vector<int>, decltype(later)> ready(later);
  std::vector<int> waits(graph.tasks.size()), order;
  for (size_t t = 0; t < graph.tasks.size(); ++t) {
    waits[t] = int(boost::in_degree(t, edges_of(graph)));
    if (waits[t] == 0) ready.push(int(t));
  }
  while (!ready.empty()) {
    const int task = ready.top();
    ready.pop();
    order.push_back(task);
    for (auto e : boost::make_iterator_range(boost::out_edges(size_t(task), edges_of(graph))))
      if (--waits[boost::target(e, edges_of(graph))] == 0) ready.push(int(boost::target(e, edges_of(graph))));
  }
  return order;
}

class RankList {
 public:
  RankList(const Scenario& scenario, const TaskGraph& graph, int rank)
      : scenario_(scenario), graph_(graph), rank_(rank), last_(graph.tasks.size()) {}

  void take(int t) {
    const Task& task = graph_.tasks[size_t(t)];
    std::vector<int> after;
    for (auto e : boost::make_iterator_range(boost::in_edges(size_t(t), edges_of(graph_)))) {
      const auto& before = last_[boost::source(e, edges_of(graph_))];
      after.insert(after.end(), before.begin(), before.end());
    }
    const size_t first = calls_.size();
    if (task.program >= 0)
      take_program(t, task, after);
    else if (task.traffic >= 0)
      take_traffic(t, task, after);
    if (calls_.size() > first)
      last_[size_t(t)] = {int(calls_.size()) - 1};
    else
      last_[size_t(t)] = after;  // of others: what came before it here still does
    std::sort(last_[size_t(t)].begin(), last_[size_t(t)].end());
    last_[size_t(t)].erase(std::unique(last_[size_t(t)].begin(), last_[size_t(t)].end()),
                           last_[size_t(t)].end());
  }
  std::vector<RankCall> done() && { return std::move(calls_); }

 private:
  // Index of this rank within a unit, or -1.
  int place_in(int unit) const {
    const auto& ranks = graph_.units[size_t(unit)].ranks;
    const auto at = std::find(ranks.begin(), ranks.end(), RankId(rank_));
    return at == ranks.end() ? -1 : int(at - ranks.begin());
  }

  void push(RankCall call, std::vector<int> after) {
    call.after = std::move(after);
    calls_.push_back(std::move(call));
  }

  void take_program(int t, const Task& task, std::vector<int> after) {
    const int unit = graph_.unit_sets[size_t(task.units)][0];
    if (place_in(unit) < 0) return;
    const auto& ops = graph_.programs[size_t(task.program)].ops;
    std::vector<int> order(ops.size());
    for (size_t i = 0; i < ops.size(); ++i) order[i] = int(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return ops[size_t(a)].start < ops[size_t(b)].start; });
    for (int i : order) {
      const Op& op = ops[size_t(i)];
      RankCall call{.task = t, .op = i};
      if (op.traffic >= 0) {
        call.kind = RankCall::Kind::collective;
        call.work = collective_of(scenario_, graph_.traffic[size_t(op.traffic)]);
        call.members = ranks_of(unit);
      } else if (const auto kernel = kernel_of(op.call)) {
        call.work = *kernel;
      } else {
        continue;
      }
      push(std::move(call), std::move(after));
      after = {int(calls_.size()) - 1};
    }
  }

  static std::optional<Work> kernel_of(const KernelCall& call) {
    return std::visit(
        []<class T>(const T& kernel) -> std::optional<Work> {
          if constexpr (std::is_same_v<T, std::monostate>)
            return std::nullopt;
          else
            return Work(kernel);
        },
        call);
  }

  std::vector<int> ranks_of(int unit) const {
    std::vector<int> ranks;
    for (RankId r : graph_.units[size_t(unit)].ranks) ranks.push_back(r.value);
    return ranks;
  }

  // Who shares a collective with this rank: all ranks of the units where the group spans them, else those at
  // the same place in each unit.
  std::vector<int> members_of(const Task& task, const Traffic& traffic) const {
    const auto& units = graph_.unit_sets[size_t(task.units)];
    std::vector<int> all, mine;
    bool inside = false;
    for (int unit : units) {
      const auto ranks = ranks_of(unit);
      all.insert(all.end(), ranks.begin(), ranks.end());
    }
    const bool whole = int(all.size()) == traffic.group_size;
    int place = -1;
    for (int unit : units) place = std::max(place, place_in(unit));
    if (place < 0 || (!whole && task.slice >= 0 && task.slice != place)) return {};
    for (int unit : units) mine.push_back(ranks_of(unit)[size_t(place)]);
    auto members = whole ? all : mine;
    std::sort(members.begin(), members.end());
    inside = std::find(members.begin(), members.end(), rank_) != members.end();
    return inside ? members : std::vector<int>{};
  }

  void take_traffic(int t, const Task& task, const std::vector<int>& after) {
    const Traffic& traffic = graph_.traffic[size_t(task.traffic)];
    RankCall call{.work = collective_of(scenario_, traffic), .task = t};
    if (task.stream == Stream::pp_send) {
      const auto& ends = graph_.unit_sets[size_t(task.units)];
      const int sends = place_in(ends[0]), receives = place_in(ends[1]);
      const auto transfer = [&](RankCall::Kind kind, int place, int peer_unit) {
        if (place < 0) return;
        call.kind = kind;
        call.peer = ranks_of(peer_unit)[size_t(place)];
        push(call, after);
      };
      transfer(RankCall::Kind::send, sends, ends[1]);
      transfer(RankCall::Kind::receive, receives, ends[0]);
      return;
    }
    call.kind = RankCall::Kind::collective;
    call.members = members_of(task, traffic);
    if (call.members.size() > 1) push(call, after);
  }

  const Scenario& scenario_;
  const TaskGraph& graph_;
  int rank_;
  std::vector<std::vector<int>> last_;  // [task]: this rank's calls that stand for its end
  std::vector<RankCall> calls_;
};

}  // namespace

std::vector<RankCall> calls_of(const Scenario& scenario, const TaskGraph& graph,
                               const std::vector<double>& start, int rank) {
  RankList list(scenario, graph, rank);
  for (int task : in_order(graph, start)) list.take(task);
  return std::move(list).done();
}

}  // namespace rehearse::calibration
