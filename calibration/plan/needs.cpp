#include "calibration/plan/needs.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "sim/plan/layout.hpp"

namespace rehearse::calibration {

namespace {

template <class T>
constexpr bool is_kernel = !std::is_same_v<T, std::monostate>;

class Gatherer {
 public:
  Gatherer(const Scenario& scenario, const TaskGraph& graph) : scenario_(scenario), graph_(graph) {}

  std::vector<Need> gather() && {
    for (const auto& task : graph_.tasks) {
      const double ranks = ranks_of(task);
      if (task.program >= 0) add_program(graph_.programs[task.program], ranks);
      if (task.traffic >= 0) add_traffic(graph_.traffic[task.traffic], ranks, task.duration);
    }
    add_overlap();
    std::stable_sort(needs_.begin(), needs_.end(),
                     [](const Need& a, const Need& b) { return a.seconds > b.seconds; });
    return std::move(needs_);
  }

 private:
  // How many of the job's ranks run this task.
  double ranks_of(const Task& task) const {
    double ranks = 0;
    for (int u : graph_.unit_sets[task.units]) ranks += double(task.peers) * graph_.units[u].stands_for;
    return ranks;
  }

  void add_program(const Program& program, double ranks) {
    for (const auto& op : program.ops) {
      if (op.traffic >= 0) add(collective_of(scenario_, graph_.traffic[op.traffic]), ranks, op.duration);
      std::visit(
          [&]<class T>(const T& call) {
            if constexpr (is_kernel<T>) add(call, ranks, op.duration);
          },
          op.call);
    }
  }

  void add_traffic(const Traffic& traffic, double ranks, double seconds) {
    const CollectiveCall call = collective_of(scenario_, traffic);
    const size_t at = add(call, ranks, seconds);
    if (traffic.what == "gradients" && call.bytes > most_reduced_) {
      most_reduced_ = call.bytes;
      largest_reduction_ = at;
    }
  }

  // The need's place.
  size_t add(const Work& work, double ranks, double seconds) {
    const auto [at, is_new] = places_.emplace(point_of(work), needs_.size());
    if (is_new) needs_.push_back({work});
    Need& need = needs_[at->second];
    need.calls += ranks / graph_.ranks;
    need.seconds += ranks * seconds / graph_.ranks;
    return at->second;
  }

  void add_overlap() {
    if (most_reduced_ == 0 || !scenario_.overlap.grad_reduce) return;
    const Need* gemm = nullptr;
    for (const auto& need : needs_)
      if (std::holds_alternative<GemmCall>(need.work) && (!gemm || need.seconds > gemm->seconds))
        gemm = &need;
    if (!gemm) return;
    const Need& reduction = needs_[largest_reduction_];
    const OverlapCall both{std::get<GemmCall>(gemm->work), std::get<CollectiveCall>(reduction.work)};
    needs_.push_back({both, reduction.calls, reduction.seconds});
  }

  const Scenario& scenario_;
  const TaskGraph& graph_;
  std::map<std::string, size_t> places_;
  std::vector<Need> needs_;
  double most_reduced_ = 0;  // bytes of the largest bucket of gradients
  size_t largest_reduction_ = 0;
};

}  // namespace

CollectiveCall collective_of(const Scenario& scenario, const Traffic& traffic) {
  CollectiveCall call{traffic.op, traffic.dtype, traffic.bytes_per_call, {}, false};
  const ParallelLayout layout(scenario.layout);
  const Fabric fabric(scenario.cluster);
  std::vector<RankId> ranks = layout.group(RankId(0), traffic.axis);
  if (traffic.group_size == layout.ranks()) {
    ranks.clear();
    for (int r = 0; r < layout.ranks(); ++r) ranks.push_back(RankId(r));
  }
  if (traffic.op == CollectiveOp::send_recv && ranks.size() > 2) ranks.resize(2);
  const GroupShape shape = shape_of(ranks, layout, fabric);
  call.group.size = traffic.group_size;
  call.group.stride = ranks.size() > 1 ? ranks[1].value - ranks[0].value : 1;
  call.group.concurrent = layout.ranks() > traffic.group_size;
  call.group.nodes = shape.nodes;
  call.group.per_node = shape.per_node;
  return call;
}

std::vector<Need> needs_of(const Scenario& scenario, const TaskGraph& graph) {
  return Gatherer(scenario, graph).gather();
}

}  // namespace rehearse::calibration
