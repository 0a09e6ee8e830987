// Passes: chunk costs, transfers between stages, tensor collectives, recompute.
#include <algorithm>

#include "sim/graph/lowering.hpp"
#include "sim/plan/model_math.hpp"

namespace rehearse {

static bool completes_gradients(ActionKind kind) {
  return kind == ActionKind::backward || kind == ActionKind::weight_gradient;
}
static bool is_backward(ActionKind kind) {
  return kind == ActionKind::backward || kind == ActionKind::input_gradient;
}

Lowering::Placed& Lowering::placed(int unit, ChunkId chunk, MicroBatch micro, bool forward) {
  const size_t cell = size_t(local_chunk(chunk, schedule_.shape)) * s_.micro_batches() + micro.value;
  return (forward ? forwards_ : backwards_)[unit][cell];
}

std::vector<OpSpec> Lowering::complete_ops(const ChunkPlan& plan, bool forward, const GroupShape& tp_shape) {
  pricer_->at_speed(tp_shape.speed);
  auto specs = forward ? forward_ops(*pricer_, plan, tp_shape) : backward_ops(*pricer_, plan, tp_shape);
  // Weights that the head shares with an embedding on its stage are named where that is.
  const bool beside_embedding = plan.stage.value == 0 || s_.layout.placement == Placement::bidirectional;
  if (plan.head && !plan.embedding && s_.model.tied_embeddings && beside_embedding) {
    const auto names = [](const OpSpec& spec) { return spec.parameters > 0; };
    const auto head = forward ? std::find_if(specs.rbegin(), specs.rend(), names).base() - 1
                              : std::find_if(specs.begin(), specs.end(), names);
    head->parameters = 0;
  }
  double named = 0;
  OpSpec* carrier = nullptr;
  for (auto& spec : specs) {
    named += spec.parameters;
    if (spec.parameters > 0 && !(forward && carrier)) carrier = &spec;
  }
  if (carrier) carrier->parameters += chunk_parameters(s_, plan).total() - named;
  return specs;
}

const std::vector<Piece>& Lowering::pieces(ChunkId chunk, ActionKind kind, Cut cut, int tp_shape) {
  const auto key = std::make_tuple(chunk.value, int(kind), int(cut), tp_shape);
  if (auto found = pieces_.find(key); found != pieces_.end()) return found->second;
  const auto& plan = chunks_[chunk.value];
  const auto size = std::make_tuple(plan.layers, plan.recomputed_layers, int(plan.embedding), int(plan.head),
                                    int(kind), int(cut), tp_shape);
  if (auto [at, is_new] = alike_.emplace(size, chunk.value); !is_new)
    return pieces_[key] = pieces_.at({at->second, int(kind), int(cut), tp_shape});
  const bool forward = kind == ActionKind::forward;
  auto specs = complete_ops(plan, forward, tp_shapes_[tp_shape]);
  if (!forward && kind != ActionKind::backward)
    specs = split_backward(specs, kind == ActionKind::weight_gradient);
  const double element =
      cut == Cut::weights_needed ? bytes_of(s_.precision.params) : bytes_of(s_.precision.grads);
  const Cuts cuts{cut == Cut::none ? 0 : s_.grad_bucket.value / element, cut == Cut::weights_needed};
  static constexpr const char* names[] = {"F", "B", "I", "W"};
  return pieces_[key] = cut_pieces(names[int(kind)], specs, s_.stack, cuts, g_.programs);
}

Lowering::Cut Lowering::cut_of(const Action& action, size_t position,
                               const std::vector<Action>& actions) const {
  const bool completes = completes_gradients(action.kind);
  auto same = [&](const Action& other) {
    return other.chunk == action.chunk &&
           (completes ? completes_gradients(other.kind) : other.kind == action.kind);
  };
  if (gradient_ranks(s_.layout) == 1) return Cut::none;
  if (completes && s_.overlap.grad_reduce &&
      std::none_of(actions.begin() + long(position) + 1, actions.end(), same))
    return Cut::gradients_ready;
  if (action.kind == ActionKind::forward && s_.overlap.param_gather &&
      std::none_of(actions.begin(), actions.begin() + long(position), same))
    return Cut::weights_needed;
  return Cut::none;
}

int32_t Lowering::tensor_task(int unit, const OpSpec& collective, const TaskSet& after) {
  Task task;
  task.stream = Stream::tp;
  task.traffic = collective.op.traffic;
  task.units = set_of(unit);
  task.peers = int16_t(fold_.ranks_each);
  task.duration = collective.op.duration;
  task.slows = true;
  if (collective.wire)
    put_on_wire(task, flow_from(FlowKind::tensor, unit, g_.units[unit].pp), collective.wire_cost);
  return add(task, after);
}

Lowering::Placed Lowering::place_action(int unit, const Action& action, Cut cut, TaskSet after) {
  const int bucket_key = bucket_row(action.chunk);
  auto& buckets = cut == Cut::weights_needed ? weight_buckets_[bucket_key] : gradient_buckets_[bucket_key];
  const auto& row = pieces(action.chunk, action.kind, cut, unit_shape_[unit]);
  const double bucket_size =
      s_.grad_bucket.value / bytes_of(cut == Cut::weights_needed ? s_.precision.params : s_.precision.grads);
  // Buckets of this stage are in the order in which its chunks first fill (or need) them, the same in every
  // replica.
  size_t next_bucket = 0;
  if (cut != Cut::none)
    for (const auto& bucket : buckets) next_bucket += bucket.ready.count(unit);
  Placed result;
  TaskSet previous = after, ready = std::move(after);
  double filled = 0;
  int32_t opened_by = -1, last_run = -1;  // the first and the latest piece of the bucket that is open
  auto close_bucket = [&] {
    if (buckets.size() <= next_bucket) buckets.emplace_back();
    buckets[next_bucket].ready[unit] = {cut == Cut::gradients_ready ? last_run : opened_by};
    buckets[next_bucket].parameters = filled;
    ++next_bucket, filled = 0, opened_by = -1;
  };
  for (const auto& piece : row) {
    const TaskSet& from = piece.beside_previous ? previous : ready;
    const int32_t task =
        piece.program < 0 ? tensor_task(unit, piece.wire, from) : run_task(piece.program, unit, from);
    auto& t = g_.tasks[task];
    t.action = action.kind, t.chunk = action.chunk, t.micro = action.micro, t.pipeline = piece.program >= 0;
    if (result.first < 0) result.first = task;
    if (!piece.beside_previous) previous = ready, ready.clear();
    ready.push_back(task);
    if (cut == Cut::none || piece.program < 0) continue;
    if (opened_by < 0) opened_by = task;
    last_run = task;
    filled += piece.parameters;
    if (filled >= bucket_size) close_bucket();
  }
  if (filled > 0) close_bucket();
  result.last = ready;
  return result;
}

void Lowering::lower_actions() {
  for (size_t u = 0; u < g_.units.size(); ++u) {
    const auto& actions = schedule_.stages[g_.units[u].pp];
    TaskSet done;
    for (size_t i = 0; i < actions.size(); ++i) {
      const auto& action = actions[i];
      const auto at = place_action(int(u), action, cut_of(action, i, actions), done);
      done = at.last;
      first_of_action_[u].push_back(at.first);
      last_of_action_[u].push_back(at.last);
      if (action.kind == ActionKind::forward) placed(int(u), action.chunk, action.micro, true) = at;
      if (is_backward(action.kind)) placed(int(u), action.chunk, action.micro, false) = at;
    }
    compute_done_[u] = done;
  }
}

}  // namespace rehearse
