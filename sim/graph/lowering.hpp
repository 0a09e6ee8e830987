// The state of one lowering; internal to sim/graph.
#pragma once
#include <map>
#include <memory>

#include "sim/graph/fold.hpp"
#include "sim/graph/lower.hpp"
#include "sim/graph/program.hpp"

namespace rehearse {

using TaskSet = std::vector<int32_t>;  // tasks that must have ended

class Lowering {
 public:
  Lowering(const Scenario& scenario, const Schedule& schedule, const LowerOptions& options);
  TaskGraph run() &&;

 private:
  // How an action is cut: as a whole, where gradient buckets are complete, where gathered weights are needed.
  enum class Cut { none, gradients_ready, weights_needed };
  struct Placed {
    int32_t first = -1;
    TaskSet last;
  };
  struct Bucket {
    double parameters = 0;
    std::map<int, TaskSet> ready;  // by unit class: tasks that complete it (gradients) or need it (weights)
  };

  // lowering.cpp
  void describe_units_and_links();
  int32_t add(const Task& task, const TaskSet& after);
  void edge(int32_t from, int32_t to) { edges_.emplace_back(from, to); }
  int32_t unit_set(std::vector<int32_t> units);
  int32_t set_of(int unit);  // of it alone
  int32_t run_task(int program, int unit, const TaskSet& after);
  // A pass of the optimizer over `parameters`, `bytes` of HBM each.
  int32_t optimizer_task(const std::string& name, MemoryKernel kernel, double parameters, double bytes,
                         int unit, const TaskSet& after);
  int shape_index(const GroupShape& shape);
  // A collective over the ranks of `flow`: a flow on the wire, a calibrated duration inside a node.
  int32_t collective_task(const FoldedFlow& flow, Stream stream, const Traffic& traffic,
                          const TaskSet& after);
  void put_on_wire(Task& task, const FoldedFlow& flow, const CollectiveCost& cost);
  // A tensor-parallel collective outside the programs, on the wire where TP crosses nodes.
  int32_t tensor_task(int unit, const OpSpec& collective, const TaskSet& after);
  int route_of(const FoldedFlow& flow);
  const FoldedFlow& flow_from(FlowKind kind, int unit, int to_stage) const;

  // lower_actions.cpp
  void lower_actions();
  // Ops of a chunk's forward or backward. Parameters that none of them names (norms, biases) go with the
  // first or last that names some, so that buckets add up to the chunk.
  std::vector<OpSpec> complete_ops(const ChunkPlan& plan, bool forward, const GroupShape& tp_shape);
  const std::vector<Piece>& pieces(ChunkId chunk, ActionKind kind, Cut cut, int tp_shape);
  Cut cut_of(const Action& action, size_t position, const std::vector<Action>& actions) const;
  Placed place_action(int unit, const Action& action, Cut cut, TaskSet after);

  // lower_transfers.cpp
  void lower_transfers();
  void send_eagerly(int unit);
  void post_transfers(int unit, const std::vector<TransferStep>& steps,
                      const std::vector<std::map<Action, int32_t>>& incoming);
  // The transfer of what `action` made, after `after`; its receiver's action waits for it.
  int32_t transfer(int unit, const Action& action, const TaskSet& after);
  int receiver_of_transfer(int unit, const Action& action) const;  // unit class
  // Bytes that cross, and the task without its place in the streams.
  Task transfer_task(int unit, const Action& action);
  Task first_transfer(int unit, int to_stage, bool forward);  // of those that differ in their action alone
  Placed& placed(int unit, ChunkId chunk, MicroBatch micro, bool forward);

  // lower_sync.cpp
  void gather_weights_ahead();
  void lower_gradients();
  void reduce_gradients(const FoldedFlow& flow);
  void reduce_embedding(const FoldedFlow& flow, const std::vector<TaskSet>& reduced);
  void reduce_norms(int unit);
  void lower_optimizer();
  int32_t scalar_all_reduce(const TaskSet& after, std::vector<int32_t> units);
  std::vector<TaskSet> agree_on_norm(const TaskSet& norms);  // [unit class]
  void gather_weights(const std::vector<int32_t>& updated);
  std::vector<double> buckets_of(int row, bool weights);
  double stage_parameters(StageId stage) const;
  // Which row of buckets holds a chunk's weights: the stage's, whose ranks alone share them; where the
  // pipeline holds two copies of the model, its part of the model's.
  int bucket_row(ChunkId chunk) const;
  Axis gradient_axis() const;
  std::vector<int> bucket_rows(const FoldedFlow& flow) const;  // those that the ranks of `flow` reduce

  const Scenario& s_;
  const Schedule& schedule_;
  ParallelLayout layout_;
  Fabric fabric_;
  std::vector<ChunkPlan> chunks_;
  const Fold own_fold_;
  const Fold& fold_;
  TaskGraph g_;
  std::vector<std::pair<int32_t, int32_t>> edges_;
  std::unique_ptr<OpPricer> pricer_;
  std::vector<GroupShape> tp_shapes_;  // ways in which TP groups lie on nodes
  std::vector<int> unit_shape_;        // [unit class]: index into tp_shapes_
  std::map<std::tuple<int, int, int, int>, std::vector<Piece>> pieces_;     // by chunk, kind, cut, TP shape
  std::map<std::tuple<int, int, int, int, int, int, int>, int> alike_;      // chunks of one size share pieces
  std::map<std::tuple<std::string, double, int>, int> optimizer_programs_;  // by name, parameters, TP shape
  std::vector<std::vector<Placed>> forwards_, backwards_;  // [unit class][chunk of the stage x micro-batches]
  std::vector<std::vector<int32_t>> first_of_action_;      // [unit class][position in the stage's schedule]
  std::vector<std::vector<TaskSet>> last_of_action_;       // the same
  std::vector<TaskSet> compute_done_;                      // [unit class]: end of its last action
  std::vector<TaskSet> sync_done_;  // [unit class]: gradient tasks the optimizer waits for
  std::map<int, std::vector<Bucket>> gradient_buckets_;  // by row, in order of readiness
  std::map<int, std::vector<Bucket>> weight_buckets_;    // by row, in order of need
  std::map<std::vector<int32_t>, int32_t> unit_sets_;
  std::vector<int32_t> sets_of_one_;  // by unit class
  std::map<const FoldedFlow*, int> routes_;
  std::map<std::tuple<int, int, bool>, Task> transfers_;  // by unit, stage to send to, direction
  std::map<std::tuple<FlowKind, int, int>, const FoldedFlow*> flow_index_;  // by kind, first unit, stage b
};

}  // namespace rehearse
