#include "sim/graph/lowering.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "sim/cost/transfers.hpp"
#include "sim/graph/csr.hpp"
#include "sim/plan/model_math.hpp"

namespace rehearse {

Part exposed_part(Axis axis) {
  switch (axis) {
    case Axis::tp:
      return Part::exposed_tp;
    case Axis::cp:
      return Part::exposed_cp;
    case Axis::ep:
      return Part::exposed_ep;
    case Axis::pp:
      return Part::exposed_pp;
    case Axis::dp:
      return Part::exposed_dp;
  }
  return Part::overhead;
}

// Ascending, each once: by source in two passes, and the few of one source among themselves.
static void sort_edges(std::vector<std::pair<int32_t, int32_t>>& edges, size_t tasks) {
  std::vector<size_t> begin(tasks + 1, 0);
  for (const auto& edge : edges) ++begin[size_t(edge.first) + 1];
  for (size_t t = 0; t < tasks; ++t) begin[t + 1] += begin[t];
  std::vector<int32_t> targets(edges.size());
  std::vector<size_t> at(begin.begin(), begin.end() - 1);
  for (const auto& [from, to] : edges) targets[at[size_t(from)]++] = to;
  size_t kept = 0;
  for (size_t t = 0; t < tasks; ++t) {
    const auto first = targets.begin() + std::ptrdiff_t(begin[t]);
    const auto end = targets.begin() + std::ptrdiff_t(begin[t + 1]);
    std::sort(first, end);
    for (auto to = first; to != end; ++to)
      if (to == first || *to != *(to - 1)) edges[kept++] = {int32_t(t), *to};
  }
  edges.resize(kept);
}

Fold fold_of(const Scenario& scenario, bool fold) {
  return make_fold(ParallelLayout(scenario.layout), Fabric(scenario.cluster),
                   {.fold = fold, .tied_embeddings = scenario.model.tied_embeddings});
}

Lowering::Lowering(const Scenario& scenario, const Schedule& schedule, const LowerOptions& options)
    : s_(scenario),
      schedule_(schedule),
      layout_(scenario.layout),
      fabric_(scenario.cluster),
      chunks_(plan_chunks(scenario)),
      own_fold_(options.known_fold ? Fold{} : fold_of(scenario, options.fold)),
      fold_(options.known_fold ? *options.known_fold : own_fold_) {
  if (schedule.shape.placement != layout_.spec().placement)
    throw std::invalid_argument("lower: the schedule places chunks otherwise than the layout");
  for (const auto& flow : fold_.flows)
    flow_index_.emplace(std::make_tuple(flow.pattern.kind, flow.pattern.units[0], flow.pattern.b), &flow);
  pricer_ = std::make_unique<OpPricer>(s_, g_.traffic);
}

TaskGraph Lowering::run() && {
  describe_units_and_links();
  lower_actions();
  lower_transfers();
  lower_gradients();
  lower_optimizer();
  sort_edges(edges_, g_.tasks.size());
  g_.edges = csr_of(edges_, g_.tasks.size());
  return std::move(g_);
}

void Lowering::describe_units_and_links() {
  for (const auto& unit : fold_.units) {
    g_.units.push_back(
        {unit.dp, unit.pp, unit.members, fold_.ranks_each, unit_ranks(layout_, unit.dp, unit.pp)});
    unit_shape_.push_back(shape_index(shape_of(g_.units.back().ranks, layout_, fabric_)));
  }
  for (const auto& link : fold_.links)
    g_.links.push_back(
        {fabric_.link(link.representative).rate.value *
             (fabric_.of_network(link.representative) ? s_.stack.network_efficiency.value : kPcieEfficiency),
         link.members, link.representative});
  g_.ranks = layout_.ranks();
  g_.simulated_ranks = fold_.simulated_ranks;
  g_.fold_note = fold_.note;
  g_.host_basis = s_.stack.host_per_kernel_s.basis;
  const size_t units = g_.units.size(), cells = size_t(s_.layout.chunks) * s_.micro_batches();
  forwards_.assign(units, std::vector<Placed>(cells));
  backwards_.assign(units, std::vector<Placed>(cells));
  first_of_action_.resize(units);
  last_of_action_.resize(units);
  compute_done_.resize(units);
  sync_done_.resize(units);
  size_t actions = 0;
  for (const auto& unit : g_.units) actions += schedule_.stages[size_t(unit.pp)].size();
  g_.tasks.reserve(2 * actions);  // an action and its transfer
  edges_.reserve(5 * actions);
}

int Lowering::shape_index(const GroupShape& shape) {
  const auto at = std::find(tp_shapes_.begin(), tp_shapes_.end(), shape);
  const auto index = int(at - tp_shapes_.begin());
  if (at == tp_shapes_.end()) tp_shapes_.push_back(shape);
  return index;
}

int32_t Lowering::add(const Task& task, const TaskSet& after) {
  const auto id = int32_t(g_.tasks.size());
  g_.tasks.push_back(task);
  for (int32_t from : after) edge(from, id);
  return id;
}

int32_t Lowering::unit_set(std::vector<int32_t> units) {
  const auto [at, is_new] = unit_sets_.emplace(units, int32_t(g_.unit_sets.size()));
  if (is_new) g_.unit_sets.push_back(std::move(units));
  return at->second;
}

int32_t Lowering::set_of(int unit) {
  if (sets_of_one_.empty()) sets_of_one_.assign(g_.units.size(), -1);
  int32_t& set = sets_of_one_[size_t(unit)];
  if (set < 0) set = unit_set({unit});
  return set;
}

int32_t Lowering::run_task(int program, int unit, const TaskSet& after) {
  Task task;
  task.kind = TaskKind::run;
  task.program = program;
  task.units = set_of(unit);
  task.duration = g_.programs[program].duration;
  task.peers = int16_t(fold_.ranks_each);
  return add(task, after);
}

int32_t Lowering::optimizer_task(const std::string& name, MemoryKernel kernel, double parameters,
                                 double bytes, int unit, const TaskSet& after) {
  const auto [at, is_new] = optimizer_programs_.emplace(
      std::make_tuple(name, parameters, unit_shape_[size_t(unit)]), int(g_.programs.size()));
  if (is_new) {
    pricer_->at_speed(tp_shapes_[size_t(unit_shape_[size_t(unit)])].speed);
    OpSpec pass = pricer_->memory(name, {s_.precision.params, kernel, {1, parameters}}, bytes * parameters);
    pass.op.part = Part::optimizer;
    g_.programs.push_back(make_program(name, {pass}, s_.stack));
  }
  return run_task(at->second, unit, after);
}

int Lowering::route_of(const FoldedFlow& flow) {
  const auto [at, is_new] = routes_.emplace(&flow, int(g_.routes.size()));
  if (is_new) {
    Route route;
    for (auto [link, weight] : flow.pattern.links) route.links.emplace_back(link, weight);
    route.own.assign(flow.own_weights.begin(), flow.own_weights.end());
    g_.routes.push_back(std::move(route));
  }
  return at->second;
}

// A link of weight w carries w / parts of the bytes that leave a node, at that share of the in-node leg's
// rate.
void Lowering::put_on_wire(Task& task, const FoldedFlow& flow, const CollectiveCost& cost) {
  g_.switches_reduce |= cost.switches_reduce();
  task.kind = TaskKind::flow;
  task.route = route_of(flow);
  task.duration = cost.latency.value;
  task.amount = cost.link_bytes / flow.pattern.parts;
  task.rate_cap = std::isfinite(cost.rate_cap.value) ? cost.rate_cap.value / flow.pattern.parts : 0;
}

const FoldedFlow& Lowering::flow_from(FlowKind kind, int unit, int to_stage) const {
  return *flow_index_.at({kind, unit, to_stage});
}

int32_t Lowering::collective_task(const FoldedFlow& flow, Stream stream, const Traffic& traffic,
                                  const TaskSet& after) {
  const auto& p = flow.pattern;
  Task task;
  task.stream = stream;
  const CollectiveCost cost =
      group_collective(s_, traffic.op, p.shape, Bytes(traffic.bytes_per_call), p.ports, p.hop_latency);
  task.traffic = pricer_->traffic_id(traffic, cost);
  task.units = unit_set({p.units.begin(), p.units.end()});
  task.slice = int16_t(p.slice);
  task.peers = int16_t(flow.slices);
  task.slows = stream == Stream::dp;
  if (p.links.empty())
    task.duration = cost.time.value;
  else
    put_on_wire(task, flow, cost);
  return add(task, after);
}

TaskGraph lower(const Scenario& scenario, const Schedule& schedule, const LowerOptions& options) {
  return Lowering(scenario, schedule, options).run();
}

}  // namespace rehearse
