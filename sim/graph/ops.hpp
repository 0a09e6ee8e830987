// The kernels and collectives of a chunk's forward and backward, in order of execution, priced from the
// profile.
#pragma once
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "sim/cost/collective.hpp"
#include "sim/cost/kernels.hpp"
#include "sim/graph/task_graph.hpp"

namespace rehearse {

// An op before it is placed in time. By default an op starts when all before it have ended.
struct OpSpec {
  Op op;
  bool beside_previous = false;  // may start as soon as the op before it could (on the other stream)
  bool wire = false;             // a TP collective that crosses nodes: a flow, not a calibrated duration
  CollectiveCost wire_cost;
  bool weight_gradient = false;  // belongs to W where the schedule splits the backward
  double parameters =
      0;  // elements whose gradient is complete after it (backward), or that it reads (forward)
};

// Prices ops for one scenario; remembers GEMM and attention times by shape.
class OpPricer {
 public:
  OpPricer(const Scenario& scenario, std::vector<Traffic>& traffic);

  OpSpec gemm(std::string name, GemmShape shape, GemmRole role, DType dtype);
  OpSpec attention(std::string name, bool backward);
  // A pass that moves `bytes` of HBM in all.
  OpSpec memory(std::string name, const MemoryCall& call, double bytes);
  // TP collective over `bytes` (as the API counts them) of a group that lies as `shape`; `what` names its
  // ledger row.
  OpSpec tp_collective(const std::string& what, CollectiveOp op, double bytes, DType dtype,
                       const GroupShape& shape);
  // Of `traffic` as `cost` says that it runs.
  int traffic_id(Traffic traffic, const CollectiveCost& cost);
  // Kernels priced from now on take 1 / speed times as long.
  void at_speed(double speed) { speed_ = speed; }

  const Scenario& scenario() const { return scenario_; }

 private:
  Basis basis_of(const KernelTime& time) const;  // stragglers included

  const Scenario& scenario_;
  std::vector<Traffic>& traffic_;
  double straggler_ = 1;  // multiplies kernel times
  double speed_ = 1;
  std::map<std::tuple<double, double, double, double, int, int>, KernelTime> gemms_;
  std::optional<KernelTime> attentions_[2];  // forward, backward
};

// Forward of a chunk: embedding (first chunk), blocks, head and loss (last chunk). `tp_shape`: how its TP
// group lies.
std::vector<OpSpec> forward_ops(OpPricer& pricer, const ChunkPlan& chunk, const GroupShape& tp_shape);
// Whole backward of a chunk, recompute included; layers in reverse order.
std::vector<OpSpec> backward_ops(OpPricer& pricer, const ChunkPlan& chunk, const GroupShape& tp_shape);
// The part of a backward that a split schedule runs as I (weight = false) or W (weight = true).
std::vector<OpSpec> split_backward(const std::vector<OpSpec>& backward, bool weight);

}  // namespace rehearse
