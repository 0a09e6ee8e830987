#include <algorithm>
#include <cmath>

#include "sim/cost/kernel_names.hpp"
#include "sim/graph/ops.hpp"

namespace rehearse {

OpPricer::OpPricer(const Scenario& scenario, std::vector<Traffic>& traffic)
    : scenario_(scenario), traffic_(traffic) {
  const double nodes = std::max(1.0, double(scenario.cluster.live_nodes()));
  straggler_ = 1 + scenario.stack.straggler_per_doubling.value * std::log2(nodes);
}

Basis OpPricer::basis_of(const KernelTime& time) const {
  return straggler_ > 1 ? std::max(time.basis, scenario_.stack.straggler_per_doubling.basis) : time.basis;
}

OpSpec OpPricer::gemm(std::string name, GemmShape shape, GemmRole role, DType dtype) {
  const auto key = std::make_tuple(shape.m, shape.n, shape.k, shape.batch, int(role), int(dtype));
  auto found = gemms_.find(key);
  if (found == gemms_.end())
    found =
        gemms_.emplace(key, rehearse::gemm(*scenario_.profile, scenario_.stack, dtype, shape, role)).first;
  OpSpec spec;
  spec.op.name = std::move(name);
  spec.op.kind = OpKind::gemm;
  spec.op.duration = found->second.time.value * straggler_ / speed_;
  spec.op.flops = 2 * shape.m * shape.n * shape.k * shape.batch;
  spec.op.bytes = bytes_of(dtype) * shape.batch * (shape.m * shape.k + shape.k * shape.n + shape.m * shape.n);
  spec.op.basis = basis_of(found->second), spec.op.outside = found->second.outside;
  spec.op.call = GemmCall{dtype, role, shape};
  return spec;
}

OpSpec OpPricer::attention(std::string name, bool backward) {
  const auto& s = scenario_;
  const double tp = s.layout.tp;
  const AttentionShape shape{double(s.batch.micro),    double(s.batch.sequence),
                             s.model.heads / tp,       std::max(1.0, s.model.kv_heads / tp),
                             double(s.model.head_dim), true};
  const DType dtype = s.precision.compute == DType::fp8 ? s.precision.params : s.precision.compute;
  auto& known = attentions_[backward];  // all of a scenario are alike
  if (!known) known = rehearse::attention(*s.profile, s.stack, dtype, shape, backward);
  const KernelTime& time = *known;
  OpSpec spec;
  spec.op.name = std::move(name);
  spec.op.kind = OpKind::attention;
  spec.op.duration = time.time.value * straggler_ / speed_;
  spec.op.flops =
      (backward ? 2.5 : 1) * 2 * shape.batch * shape.sequence * shape.sequence * shape.heads * shape.head_dim;
  spec.op.basis = basis_of(time), spec.op.outside = time.outside;
  spec.op.call = AttentionCall{dtype, backward, shape};
  return spec;
}

OpSpec OpPricer::memory(std::string name, const MemoryCall& call, double bytes) {
  OpSpec spec;
  spec.op.name = std::move(name);
  spec.op.kind = OpKind::memory;
  const auto time = memory_pass(*scenario_.profile, scenario_.stack, call, Bytes(bytes));
  spec.op.duration = time.time.value * straggler_ / speed_;
  spec.op.bytes = bytes;
  spec.op.basis = basis_of(time), spec.op.outside = time.outside;
  spec.op.call = call;
  return spec;
}

int OpPricer::traffic_id(Traffic t, const CollectiveCost& cost) {
  t.algorithm = cost.algorithm, t.protocol = cost.protocol;
  t.basis = cost.basis, t.outside = cost.outside;
  const auto found = std::find(traffic_.begin(), traffic_.end(), t);
  if (found == traffic_.end()) return traffic_.push_back(std::move(t)), int(traffic_.size()) - 1;
  return int(found - traffic_.begin());
}

OpSpec OpPricer::tp_collective(const std::string& what, CollectiveOp op, double bytes, DType dtype,
                               const GroupShape& shape) {
  const int n = scenario_.layout.tp;
  const int ports = std::min(shape.per_node, scenario_.cluster.ports_per_node());
  const CollectiveCost cost =
      group_collective(scenario_, op, shape, Bytes(bytes), ports, scenario_.cluster.nic_latency);
  OpSpec spec;
  spec.op.kind = OpKind::collective;
  spec.op.part = Part::exposed_tp;
  spec.op.stream = Stream::tp;
  spec.op.traffic =
      traffic_id({Axis::tp, what, op, n, bytes, bytes_sent_per_rank(op, n, bytes), false, dtype}, cost);
  spec.op.name = nccl_kernel_name(op, dtype, cost.algorithm, cost.protocol);
  spec.op.basis = cost.basis, spec.op.outside = cost.outside;
  spec.wire = !shape.in_island();
  if (spec.wire)
    spec.wire_cost = cost;
  else
    spec.op.duration = cost.time.value;
  return spec;
}

}  // namespace rehearse
