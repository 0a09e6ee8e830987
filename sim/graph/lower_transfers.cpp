// Pass: transfers between stages.
#include <algorithm>

#include "sim/cost/transfers.hpp"
#include "sim/graph/lowering.hpp"
#include "sim/plan/model_math.hpp"
#include "sim/schedule/transfers.hpp"

namespace rehearse {

static bool is_forward(const Action& action) { return action.kind == ActionKind::forward; }
static ChunkId chunk_beside(const Action& action) {
  return ChunkId(action.chunk.value + (is_forward(action) ? 1 : -1));
}
// Its output or gradient goes on, to another stage or not.
static bool goes_on(const Action& action, const PipelineShape& shape) {
  if (action.kind == ActionKind::weight_gradient) return false;
  return is_forward(action) ? !last_of_path(action.chunk, shape) : !first_of_path(action.chunk, shape);
}

Task Lowering::transfer_task(int unit, const Action& action) {
  const int to_stage = stage_of(chunk_beside(action), schedule_.shape).value;
  const auto [alike, is_new] = transfers_.try_emplace({unit, to_stage, is_forward(action)});
  if (is_new) alike->second = first_transfer(unit, to_stage, is_forward(action));
  Task task = alike->second;
  task.action = action.kind, task.chunk = action.chunk, task.micro = action.micro;
  return task;
}

Task Lowering::first_transfer(int unit, int to_stage, bool forward) {
  const auto& flow = flow_from(FlowKind::stage_transfer, unit, to_stage);
  const double bytes = stage_message(s_).sent;
  const auto& p = flow.pattern;
  const Medium medium = p.network ? Medium::network : p.links.empty() ? Medium::nvlink : Medium::pcie;
  const CollectiveCost cost = transfer_cost(s_, Bytes(bytes), medium, p.hop_latency);
  Task task;
  task.stream = Stream::pp_send;
  task.traffic =
      pricer_->traffic_id({Axis::pp, forward ? "stage forward" : "stage backward", CollectiveOp::send_recv, 2,
                           bytes, bytes / 2, false, s_.precision.params},
                          cost);
  task.units = unit_set({unit, p.units[1]});
  task.peers = int16_t(fold_.ranks_each);
  task.duration = cost.time.value;
  if (medium == Medium::nvlink) return task;
  task.kind = TaskKind::flow;
  task.route = route_of(flow);
  task.amount = bytes;
  task.duration = cost.latency.value;
  task.rate_cap = cost.rate_cap.value;
  return task;
}

int Lowering::receiver_of_transfer(int unit, const Action& action) const {
  const int stage = stage_of(chunk_beside(action), schedule_.shape).value;
  return flow_from(FlowKind::stage_transfer, unit, stage).pattern.units[1];
}

int32_t Lowering::transfer(int unit, const Action& action, const TaskSet& after) {
  const int receiver = receiver_of_transfer(unit, action);
  const int32_t sent = add(transfer_task(unit, action), after);
  int32_t arrived = sent;
  if (s_.layout.scatter_gather && !s_.layout.sequence_parallel) {
    const auto gather =
        pricer_->tp_collective("stage gather", CollectiveOp::all_gather, stage_message(s_).whole,
                               s_.precision.params, tp_shapes_[unit_shape_[receiver]]);
    arrived = tensor_task(receiver, gather, {sent});
  }
  edge(arrived, placed(receiver, chunk_beside(action), action.micro, is_forward(action)).first);
  return sent;
}

// As soon as the bytes are there; sends of a unit go one after the other.
void Lowering::send_eagerly(int unit) {
  const auto& actions = schedule_.stages[g_.units[unit].pp];
  int32_t previous = -1;
  for (size_t i = 0; i < actions.size(); ++i) {
    if (!sends(actions[i], schedule_.shape)) continue;
    TaskSet after = last_of_action_[unit][i];
    if (previous >= 0) after.push_back(previous);
    previous = transfer(unit, actions[i], after);
    if (!s_.overlap.p2p && i + 1 < actions.size()) edge(previous, first_of_action_[unit][i + 1]);
  }
}

// Batch after batch with each other stage, each when the action before it has ended; a transfer so starts
// when both its units have come to it.
void Lowering::post_transfers(int unit, const std::vector<TransferStep>& steps,
                              const std::vector<std::map<Action, int32_t>>& incoming) {
  std::map<StageId, TaskSet> previous, batch;  // with each other stage
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto& step = steps[i];
    if (i > 0 && steps[i - 1].before != step.before) {
      for (auto& [stage, tasks] : batch) previous[stage] = std::move(tasks);
      batch.clear();
    }
    const StageId beside = other_stage(step, schedule_.shape);
    const int receiver = step.send ? receiver_of_transfer(unit, step.action) : unit;
    const int32_t task = incoming[receiver].at(step.send ? receiver_of(step.action) : step.action);
    batch[beside].push_back(task);
    for (int32_t before : previous[beside]) edge(before, task);
    if (step.before > 0)
      for (int32_t done : last_of_action_[unit][step.before - 1]) edge(done, task);
    if (!s_.overlap.p2p && step.before < int(first_of_action_[unit].size()))
      edge(task, first_of_action_[unit][step.before]);
  }
}

void Lowering::lower_transfers() {
  const PipelineShape& shape = schedule_.shape;
  std::vector<std::map<Action, int32_t>> incoming(g_.units.size());
  for (int u = 0; u < int(g_.units.size()); ++u) {
    const auto& actions = schedule_.stages[g_.units[u].pp];
    for (size_t i = 0; i < actions.size(); ++i) {
      Action action = actions[i];
      if (!goes_on(action, shape)) continue;
      if (!sends(action, shape)) {  // the next chunk is the stage's own
        const auto& next = placed(u, chunk_beside(action), action.micro, is_forward(action));
        for (int32_t task : last_of_action_[u][i]) edge(task, next.first);
      } else if (s_.posted_receives) {
        incoming[receiver_of_transfer(u, action)][receiver_of(action)] =
            transfer(u, action, last_of_action_[u][i]);
      }
    }
    if (!s_.posted_receives) send_eagerly(u);
  }
  if (!s_.posted_receives) return;
  const auto steps = transfers_of(schedule_);
  for (int u = 0; u < int(g_.units.size()); ++u) post_transfers(u, steps[g_.units[u].pp], incoming);
}

}  // namespace rehearse
