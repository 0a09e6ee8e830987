// Passes: gradient reduction, tied embeddings, optimizer step, weight gathering.
#include <algorithm>
#include <cmath>

#include "sim/graph/lowering.hpp"
#include "sim/plan/model_math.hpp"

namespace rehearse {

double Lowering::stage_parameters(StageId stage) const {
  double total = 0;
  for (const auto& chunk : chunks_)
    if (chunk.stage == stage) total += chunk_parameters(s_, chunk).total();
  return total;
}

int Lowering::bucket_row(ChunkId chunk) const {
  return s_.layout.placement == Placement::bidirectional ? chunk.value % s_.layout.pp
                                                         : chunks_[chunk.value].stage.value;
}

Axis Lowering::gradient_axis() const {
  if (s_.layout.placement != Placement::bidirectional) return Axis::dp;
  return layout_.outermost({Axis::pp, Axis::dp});
}

// Of two parts that the same ranks hold, the later one's gradients are complete first.
std::vector<int> Lowering::bucket_rows(const FoldedFlow& flow) const {
  if (flow.pattern.a == flow.pattern.b) return {flow.pattern.a};
  return {flow.pattern.b, flow.pattern.a};
}

// Sizes of the row's buckets where no task waits for each: as along the backward (or forward), a bucket
// being full when it holds the asked size; no matrix is split.
std::vector<double> Lowering::buckets_of(int row, bool weights) {
  const double size = s_.grad_bucket.value / bytes_of(weights ? s_.precision.params : s_.precision.grads);
  std::vector<double> buckets;
  const auto parts =
      size_t(s_.layout.placement == Placement::bidirectional ? s_.layout.pp : int(chunks_.size()));
  for (size_t i = 0; i < parts; ++i) {
    const auto& chunk = chunks_[weights ? i : parts - 1 - i];
    if (bucket_row(chunk.chunk) != row) continue;
    double filled = 0;
    for (const auto& spec : complete_ops(chunk, weights, tp_shapes_[0])) {
      filled += spec.parameters;
      if (filled >= size) buckets.push_back(filled), filled = 0;
    }
    if (filled > 0) buckets.push_back(filled);
  }
  return buckets;
}

void Lowering::lower_gradients() {
  for (size_t u = 0; u < g_.units.size(); ++u) sync_done_[u] = compute_done_[u];
  if (gradient_ranks(s_.layout) > 1 && !s_.overlap.grad_reduce)
    for (const auto& chunk : chunks_)
      for (size_t u = 0; u < g_.units.size(); ++u) {
        if (g_.units[u].pp != chunk.stage.value) continue;
        const int row = bucket_row(chunk.chunk);
        auto& buckets = gradient_buckets_[row];
        if (buckets.empty())
          for (double parameters : buckets_of(row, false)) buckets.push_back({parameters, {}});
        for (auto& bucket : buckets) bucket.ready[int(u)] = compute_done_[u];
      }
  for (const auto& flow : fold_.flows)
    if (flow.pattern.kind == FlowKind::gradients) reduce_gradients(flow);
  const auto reduced = sync_done_;  // TP peers reduce their slices of the embedding side by side
  for (const auto& flow : fold_.flows)
    if (flow.pattern.kind == FlowKind::embedding) reduce_embedding(flow, reduced);
  if (s_.layout.sequence_parallel)
    for (size_t u = 0; u < g_.units.size(); ++u) reduce_norms(int(u));
}

void Lowering::reduce_gradients(const FoldedFlow& flow) {
  const auto op = s_.layout.zero > 0 ? CollectiveOp::reduce_scatter : CollectiveOp::all_reduce;
  int32_t previous = -1;
  std::vector<const Bucket*> buckets;
  for (int row : bucket_rows(flow))
    for (const auto& bucket : gradient_buckets_[row]) buckets.push_back(&bucket);
  for (const Bucket* next : buckets) {
    const Bucket& bucket = *next;
    const double bytes = bucket.parameters * bytes_of(s_.precision.grads);
    TaskSet after;
    for (const auto& [unit, tasks] : bucket.ready) after.insert(after.end(), tasks.begin(), tasks.end());
    if (previous >= 0) after.push_back(previous);
    previous =
        collective_task(flow, Stream::dp,
                        {gradient_axis(), "gradients", op, flow.pattern.shape.ranks, bytes,
                         bytes_sent_per_rank(op, flow.pattern.shape.ranks, bytes), false, s_.precision.grads},
                        after);
  }
  if (previous >= 0)
    for (int unit : flow.pattern.units) sync_done_[unit].push_back(previous);
}

void Lowering::reduce_embedding(const FoldedFlow& flow, const std::vector<TaskSet>& reduced) {
  const double bytes = double(padded_vocab(s_.model, s_.layout.tp)) / s_.layout.tp * s_.model.hidden *
                       bytes_of(s_.precision.grads);
  TaskSet after;
  for (int unit : flow.pattern.units) after.insert(after.end(), reduced[unit].begin(), reduced[unit].end());
  const int32_t task =
      collective_task(flow, Stream::other,
                      {Axis::pp, "tied embedding", CollectiveOp::all_reduce, 2, bytes,
                       bytes_sent_per_rank(CollectiveOp::all_reduce, 2, bytes), false, s_.precision.grads},
                      after);
  for (int unit : flow.pattern.units) sync_done_[unit].push_back(task);
}

// Under sequence parallelism each TP rank sees only its tokens' share of the norms' gradients.
void Lowering::reduce_norms(int unit) {
  double replicated = 0;
  for (const auto& chunk : chunks_)
    if (chunk.stage.value == g_.units[unit].pp) replicated += chunk_parameters(s_, chunk).replicated;
  const auto reduce = pricer_->tp_collective("norm gradients", CollectiveOp::all_reduce,
                                             replicated * bytes_of(s_.precision.grads), s_.precision.grads,
                                             tp_shapes_[unit_shape_[unit]]);
  sync_done_[unit].push_back(tensor_task(unit, reduce, sync_done_[unit]));
}

// Over the ranks that `units` stand for.
int32_t Lowering::scalar_all_reduce(const TaskSet& after, std::vector<int32_t> units) {
  GroupShape world;
  world.ranks = 0;
  for (int32_t u : units) world.ranks += g_.units[u].stands_for * g_.units[u].ranks_each;
  world.nodes = std::max(1, world.ranks / s_.cluster.gpus_per_domain());
  world.per_node = std::min(world.ranks, s_.cluster.gpus_per_domain());
  world.nvlink = s_.cluster.node == NodeShape::nvswitch;
  const double bytes = 4;
  const auto axis = layout_.outermost({Axis::tp, Axis::cp, Axis::pp, Axis::dp});
  const CollectiveCost cost = group_collective(s_, CollectiveOp::all_reduce, world, Bytes(bytes),
                                               s_.cluster.ports_per_node(), s_.cluster.nic_latency);
  Task task;
  task.stream = Stream::other;
  task.traffic = pricer_->traffic_id(
      {axis, "gradient norm", CollectiveOp::all_reduce, world.ranks, bytes,
       bytes_sent_per_rank(CollectiveOp::all_reduce, world.ranks, bytes), true, DType::fp32},
      cost);
  task.units = unit_set(std::move(units));
  task.peers = int16_t(fold_.ranks_each);
  g_.switches_reduce |= cost.link_bytes > 0 && cost.switches_reduce();
  task.duration = cost.time.value;
  return add(task, after);
}

// The norm of all gradients, or (post_validation) of those of one stage: what other stages add to it travels
// with the next step's first activations, and costs no stage time of its own (Qi et al. 2023, section 4).
std::vector<TaskSet> Lowering::agree_on_norm(const TaskSet& norms) {
  std::vector<TaskSet> agreed(g_.units.size());
  std::map<int, std::vector<int32_t>> groups;  // by stage; all in one where it is global
  for (size_t u = 0; u < g_.units.size(); ++u)
    groups[s_.post_validation ? g_.units[u].pp : 0].push_back(int32_t(u));
  for (const auto& [stage, units] : groups) {
    int ranks = 0;
    TaskSet own;
    for (int32_t u : units) ranks += g_.units[u].stands_for * g_.units[u].ranks_each, own.push_back(norms[u]);
    if (ranks > 1) own = {scalar_all_reduce(own, units)};
    for (int32_t u : units) agreed[u] = own;
  }
  g_.steps_overlap = s_.post_validation;
  return agreed;
}

void Lowering::lower_optimizer() {
  const double shards = s_.layout.zero > 0 ? gradient_ranks(s_.layout) : 1;
  const double norm_bytes = bytes_of(s_.precision.grads);
  TaskSet norms;
  for (size_t u = 0; u < g_.units.size(); ++u) {
    const double parameters = stage_parameters(StageId(g_.units[u].pp)) / shards;
    norms.push_back(optimizer_task("gradient norm", MemoryKernel::square_sum, parameters, norm_bytes, int(u),
                                   sync_done_[u]));
  }
  const std::vector<TaskSet> agreed = agree_on_norm(norms);
  std::vector<int32_t> updated;
  const double update_bytes = std::max(0.0, s_.stack.optimizer_bytes_per_param.value - norm_bytes);
  for (size_t u = 0; u < g_.units.size(); ++u) {
    const double parameters = stage_parameters(StageId(g_.units[u].pp)) / shards;
    updated.push_back(
        optimizer_task("optimizer", MemoryKernel::adam, parameters, update_bytes, int(u), agreed[u]));
  }
  if (s_.layout.zero > 0 && gradient_ranks(s_.layout) > 1) gather_weights(updated);
}

// ZeRO-1: updated shards are gathered; after the optimizer, or (overlap.param_gather) at the start of the
// step, where it stands for the previous step's update.
void Lowering::gather_weights(const std::vector<int32_t>& updated) {
  for (const auto& flow : fold_.flows) {
    if (flow.pattern.kind != FlowKind::gradients) continue;
    std::vector<Bucket> buckets;
    auto rows = bucket_rows(flow);
    std::reverse(rows.begin(), rows.end());
    for (int row : rows) {
      if (s_.overlap.param_gather)
        buckets.insert(buckets.end(), weight_buckets_[row].begin(), weight_buckets_[row].end());
      else
        for (double parameters : buckets_of(row, true)) buckets.push_back({parameters, {}});
    }
    int32_t previous = -1;
    for (const auto& bucket : buckets) {
      const double bytes = bucket.parameters * bytes_of(s_.precision.params);
      TaskSet after;
      if (previous >= 0) after.push_back(previous);
      if (!s_.overlap.param_gather)
        for (int unit : flow.pattern.units) after.push_back(updated[unit]);
      previous = collective_task(
          flow, Stream::dp,
          {gradient_axis(), "weights", CollectiveOp::all_gather, flow.pattern.shape.ranks, bytes,
           bytes_sent_per_rank(CollectiveOp::all_gather, flow.pattern.shape.ranks, bytes), false,
           s_.precision.params},
          after);
      for (const auto& [unit, tasks] : bucket.ready)
        for (int32_t task : tasks) edge(previous, task);
    }
  }
}

}  // namespace rehearse
