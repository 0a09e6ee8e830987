#include "sim/graph/ops.hpp"

#include <algorithm>
#include <cmath>

#include "sim/plan/model_math.hpp"

namespace rehearse {

namespace {

// Dimensions of one rank's share of a micro-batch.
struct Dims {
  double tokens, norm_tokens;  // norms and residuals see tokens / tp under sequence parallelism
  double hidden, ffn, q, kv;   // per rank: ffn / tp, heads x head_dim / tp, kv_heads x head_dim / tp
  double batch_heads, sequence, head_dim;
  double vocab;  // per rank
  double width;  // bytes of an activation element
};

Dims dims_of(const Scenario& s) {
  const auto& m = s.model;
  const double tp = s.layout.tp;
  const double tokens = double(s.batch.micro) * s.batch.sequence;
  return {.tokens = tokens,
          .norm_tokens = s.layout.sequence_parallel ? tokens / tp : tokens,
          .hidden = double(m.hidden),
          .ffn = m.ffn / tp,
          .q = m.heads * double(m.head_dim) / tp,
          .kv = std::max(1.0, m.kv_heads / tp) * m.head_dim,
          .batch_heads = s.batch.micro * m.heads / tp,
          .sequence = double(s.batch.sequence),
          .head_dim = double(m.head_dim),
          .vocab = padded_vocab(m, s.layout.tp) / tp,
          .width = bytes_of(s.precision.params)};
}

// Bytes per element that passes move, for 16-bit tensors (dropout masks take one byte): read and written
// operands counted one by one, as Megatron of 2021 runs them. Scaled by width / 2 for wider activations.
constexpr double kNormForward = 4, kNormBackward = 10;
constexpr double kResidual = 6, kResidualDropout = 7;
constexpr double kGradientAdd = 6;
constexpr double kGelu = 4, kGeluBackward = 8, kGated = 6, kGatedBackward = 10;
constexpr double kSoftmax = 3, kSoftmaxBackward = 6, kScoreDropout = 5;
constexpr double kRope = 4;

class ChunkOps {
 public:
  ChunkOps(OpPricer& pricer, const ChunkPlan& chunk, const GroupShape& tp_shape)
      : pricer_(pricer),
        s_(pricer.scenario()),
        m_(s_.model),
        chunk_(chunk),
        tp_shape_(tp_shape),
        d_(dims_of(s_)) {}

  std::vector<OpSpec> forward() {
    if (chunk_.embedding) embedding_forward();
    for (int i = 0; i < chunk_.layers; ++i) {
      layer_ = i;
      block_forward("block forward");
    }
    layer_ = -1;
    if (chunk_.head) head_forward();
    return std::move(ops_);
  }

  std::vector<OpSpec> backward() {
    if (chunk_.head) head_backward();
    for (int i = chunk_.layers; i-- > 0;) {
      layer_ = i;
      if (i < chunk_.recomputed_layers) recompute([&] { block_forward("block recompute"); });
      block_backward();
    }
    layer_ = -1;
    if (chunk_.embedding) embedding_backward();
    return std::move(ops_);
  }

 private:
  OpSpec& push(OpSpec spec) {
    spec.op.layer = layer_;
    if (recomputing_ && spec.op.kind != OpKind::collective) spec.op.part = Part::recompute;
    ops_.push_back(std::move(spec));
    return ops_.back();
  }
  void memory(const char* name, double bytes_per_element, double elements) {
    push(pricer_.memory(name, bytes_per_element * d_.width / 2 * elements));
  }
  template <class F>
  void recompute(F body) {
    recomputing_ = true;
    body();
    recomputing_ = false;
  }
  DType compute() const { return s_.precision.compute; }
  DType wide() const { return compute() == DType::fp8 ? s_.precision.params : compute(); }
  double residual_bytes() const { return m_.dropout ? kResidualDropout : kResidual; }
  double activation_bytes() const { return d_.tokens * d_.hidden * d_.width; }

  void matmul(const char* name, double m, double n, double k, double parameters) {
    push(pricer_.gemm(name, {m, n, k}, GemmRole::forward, compute())).parameters =
        recomputing_ ? 0 : parameters;
  }
  OpSpec tp_collective(const char* what, CollectiveOp op) {
    return pricer_.tp_collective(what, op, activation_bytes(), s_.precision.params, tp_shape_);
  }
  // Column-parallel entry and row-parallel exit of a TP region (Shoeybi 2019; Korthikanti 2022 for AG/RS).
  void enter_region(const char* what) {
    if (s_.layout.sequence_parallel) push(tp_collective(what, CollectiveOp::all_gather));
  }
  void leave_region(const char* what) {
    if (s_.layout.tp == 1) return;
    const auto op = s_.layout.sequence_parallel ? CollectiveOp::reduce_scatter : CollectiveOp::all_reduce;
    push(tp_collective(what, op));
  }

  void core_forward() {
    if (m_.attention == Attention::fused) {
      push(pricer_.attention("flash attention", false));
      return;
    }
    const double scores = d_.batch_heads * d_.sequence * d_.sequence;
    push(pricer_.gemm("scores gemm", {d_.sequence, d_.sequence, d_.head_dim, d_.batch_heads},
                      GemmRole::forward, wide()));
    memory("softmax", kSoftmax, scores);
    if (m_.dropout) memory("attention dropout", kScoreDropout, scores);
    push(pricer_.gemm("context gemm", {d_.sequence, d_.head_dim, d_.sequence, d_.batch_heads},
                      GemmRole::forward, wide()));
  }

  void core_backward() {
    if (m_.attention == Attention::fused) {
      push(pricer_.attention("flash attention backward", true));
      return;
    }
    const double scores = d_.batch_heads * d_.sequence * d_.sequence;
    const GemmShape to_scores{d_.sequence, d_.sequence, d_.head_dim, d_.batch_heads};
    const GemmShape to_heads{d_.sequence, d_.head_dim, d_.sequence, d_.batch_heads};
    push(pricer_.gemm("context gemm dgrad", to_scores, GemmRole::input_gradient, wide()));
    push(pricer_.gemm("value gemm dgrad", to_heads, GemmRole::input_gradient, wide()));
    if (m_.dropout) memory("attention dropout backward", kScoreDropout, scores);
    memory("softmax backward", kSoftmaxBackward, scores);
    push(pricer_.gemm("query gemm dgrad", to_heads, GemmRole::input_gradient, wide()));
    push(pricer_.gemm("key gemm dgrad", to_heads, GemmRole::input_gradient, wide()));
  }

  double qkv_width() const { return d_.q + 2 * d_.kv; }
  double fc1_width() const { return m_.mlp == Mlp::swiglu ? 2 * d_.ffn : d_.ffn; }

  void block_forward(const char* what) {
    const double n = d_.norm_tokens * d_.hidden;
    memory("norm", kNormForward, n);
    enter_region(what);
    matmul("qkv gemm", d_.tokens, qkv_width(), d_.hidden, d_.hidden * qkv_width());
    if (m_.position == PositionEmbedding::rope) memory("rope", kRope, d_.tokens * (d_.q + d_.kv));
    core_forward();
    matmul("proj gemm", d_.tokens, d_.hidden, d_.q, d_.hidden * d_.q);
    leave_region(what);
    memory("dropout add", residual_bytes(), n);
    memory("norm", kNormForward, n);
    enter_region(what);
    matmul("fc1 gemm", d_.tokens, fc1_width(), d_.hidden, d_.hidden * fc1_width());
    memory(m_.mlp == Mlp::swiglu ? "swiglu" : "gelu", m_.mlp == Mlp::swiglu ? kGated : kGelu,
           d_.tokens * d_.ffn);
    matmul("fc2 gemm", d_.tokens, d_.hidden, d_.ffn, d_.hidden * d_.ffn);
    leave_region(what);
    memory("dropout add", residual_bytes(), n);
  }

  // Y = X W, W[k, n]: dX = dY W^T, dW = X^T dY. Under sequence parallelism X was kept as a shard and is
  // gathered again; the reduction of dX may run beside dW (overlap.tp).
  void linear_backward(const std::string& name, double n, double k, bool reduce_input, const char* what) {
    const bool sp = s_.layout.sequence_parallel;
    if (reduce_input && sp) {
      auto& gather = push(tp_collective(what, CollectiveOp::all_gather));
      gather.weight_gradient = true;
    }
    auto& dgrad = push(pricer_.gemm(name + " dgrad", {d_.tokens, k, n}, GemmRole::input_gradient, compute()));
    dgrad.beside_previous = reduce_input && sp && s_.overlap.tp;
    const size_t before = ops_.size();
    if (reduce_input) leave_region(what);
    auto& wgrad =
        push(pricer_.gemm(name + " wgrad", {k, n, d_.tokens}, GemmRole::weight_gradient, compute()));
    wgrad.beside_previous = s_.overlap.tp && ops_.size() - 1 > before;
    wgrad.weight_gradient = true;
    accumulate(n * k);
  }
  void accumulate(double parameters) {
    const double bytes = s_.stack.grad_accumulate_bytes.value * parameters;
    auto& add = push(pricer_.memory("accumulate gradient", bytes));
    add.weight_gradient = true;
    add.parameters = parameters;
  }

  void block_backward() {
    const char* what = "block backward";
    const double n = d_.norm_tokens * d_.hidden;
    memory("dropout add backward", residual_bytes(), n);
    enter_region(what);
    linear_backward("fc2 gemm", d_.hidden, d_.ffn, false, what);
    memory(m_.mlp == Mlp::swiglu ? "swiglu backward" : "gelu backward",
           m_.mlp == Mlp::swiglu ? kGatedBackward : kGeluBackward, d_.tokens * d_.ffn);
    linear_backward("fc1 gemm", fc1_width(), d_.hidden, true, what);
    memory("norm backward", kNormBackward, n);
    memory("gradient add", kGradientAdd, n);
    memory("dropout add backward", residual_bytes(), n);
    enter_region(what);
    linear_backward("proj gemm", d_.hidden, d_.q, false, what);
    if (s_.recompute.kind == RecomputeKind::selective) recompute([&] { core_forward(); });
    core_backward();
    if (m_.position == PositionEmbedding::rope) memory("rope backward", kRope, d_.tokens * (d_.q + d_.kv));
    linear_backward("qkv gemm", qkv_width(), d_.hidden, true, what);
    memory("norm backward", kNormBackward, n);
    memory("gradient add", kGradientAdd, n);
  }

  double embedding_weights() const { return d_.vocab * d_.hidden; }
  void embedding_forward() {
    const double n = d_.tokens * d_.hidden;
    auto& lookup = push(pricer_.memory("embedding lookup", 2 * d_.width * n));
    lookup.parameters = embedding_weights() +
                        (m_.position == PositionEmbedding::learned ? double(m_.sequence) * m_.hidden : 0);
    leave_region("embedding forward");
    if (m_.position == PositionEmbedding::learned)
      memory("position add", kResidual, d_.norm_tokens * d_.hidden);
    if (m_.dropout) memory("embedding dropout", kScoreDropout, d_.norm_tokens * d_.hidden);
  }
  void embedding_backward() {
    if (m_.dropout) memory("embedding dropout backward", kScoreDropout, d_.norm_tokens * d_.hidden);
    enter_region("embedding backward");
    push(pricer_.memory("embedding scatter", 2 * d_.width * d_.tokens * d_.hidden)).weight_gradient = true;
    accumulate(embedding_weights() +
               (m_.position == PositionEmbedding::learned ? double(m_.sequence) * m_.hidden : 0));
  }

  // Vocabulary-parallel cross entropy: all-reduces of the maximum, of the target's logit and of the sum, fp32
  // a token.
  void loss_collectives() {
    if (s_.layout.tp == 1) return;
    for (int i = 0; i < 3; ++i)
      push(pricer_.tp_collective("loss", CollectiveOp::all_reduce, d_.tokens * 4, DType::fp32, tp_shape_));
  }
  double loss_bytes() const { return s_.stack.loss_bytes_per_logit.value * d_.tokens * d_.vocab / 2; }
  void head_forward() {
    memory("final norm", kNormForward, d_.norm_tokens * d_.hidden);
    enter_region("head forward");
    push(pricer_.gemm("head gemm", {d_.tokens, d_.vocab, d_.hidden}, GemmRole::forward, wide())).parameters =
        embedding_weights();
    push(pricer_.memory("loss", loss_bytes()));
    loss_collectives();
  }
  void head_backward() {
    push(pricer_.memory("loss backward", loss_bytes()));
    const bool sp = s_.layout.sequence_parallel;
    if (sp) {
      auto& gather = push(tp_collective("head backward", CollectiveOp::all_gather));
      gather.weight_gradient = true;
    }
    push(pricer_.gemm("head gemm dgrad", {d_.tokens, d_.hidden, d_.vocab}, GemmRole::input_gradient, wide()))
        .beside_previous = sp && s_.overlap.tp;
    const size_t before = ops_.size();
    leave_region("head backward");
    auto& wgrad = push(
        pricer_.gemm("head gemm wgrad", {d_.hidden, d_.vocab, d_.tokens}, GemmRole::weight_gradient, wide()));
    wgrad.beside_previous = s_.overlap.tp && ops_.size() - 1 > before;
    wgrad.weight_gradient = true;
    accumulate(embedding_weights());
    memory("final norm backward", kNormBackward, d_.norm_tokens * d_.hidden);
  }

  OpPricer& pricer_;
  const Scenario& s_;
  const ModelSpec& m_;
  const ChunkPlan& chunk_;
  const GroupShape& tp_shape_;
  Dims d_;
  std::vector<OpSpec> ops_;
  int layer_ = -1;
  bool recomputing_ = false;
};

}  // namespace

OpPricer::OpPricer(const Scenario& scenario, std::vector<Traffic>& traffic)
    : scenario_(scenario), traffic_(traffic) {
  const double nodes = std::max(1.0, double(scenario.cluster.gpus()) / scenario.cluster.gpus_per_node);
  straggler_ = 1 + scenario.stack.straggler_per_doubling.value * std::log2(nodes);
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
  spec.op.duration = found->second.time.value * straggler_;
  spec.op.flops = 2 * shape.m * shape.n * shape.k * shape.batch;
  spec.op.bytes = bytes_of(dtype) * shape.batch * (shape.m * shape.k + shape.k * shape.n + shape.m * shape.n);
  spec.op.outside = found->second.outside;
  return spec;
}

OpSpec OpPricer::attention(std::string name, bool backward) {
  const auto& s = scenario_;
  const double tp = s.layout.tp;
  const AttentionShape shape{double(s.batch.micro),    double(s.batch.sequence),
                             s.model.heads / tp,       std::max(1.0, s.model.kv_heads / tp),
                             double(s.model.head_dim), true};
  const auto time = rehearse::attention(*s.profile, s.stack, shape, backward);
  OpSpec spec;
  spec.op.name = std::move(name);
  spec.op.kind = OpKind::attention;
  spec.op.duration = time.time.value * straggler_;
  spec.op.flops =
      (backward ? 2.5 : 1) * 2 * shape.batch * shape.sequence * shape.sequence * shape.heads * shape.head_dim;
  spec.op.outside = time.outside;
  return spec;
}

OpSpec OpPricer::memory(std::string name, double bytes) {
  OpSpec spec;
  spec.op.name = std::move(name);
  spec.op.kind = OpKind::memory;
  spec.op.duration = memory_pass(*scenario_.profile, scenario_.stack, Bytes(bytes)).time.value * straggler_;
  spec.op.bytes = bytes;
  return spec;
}

int OpPricer::traffic_id(const Traffic& t) {
  for (size_t i = 0; i < traffic_.size(); ++i) {
    const auto& have = traffic_[i];
    if (have.axis == t.axis && have.what == t.what && have.op == t.op && have.group_size == t.group_size &&
        have.bytes_per_call == t.bytes_per_call && have.scalar == t.scalar && have.dtype == t.dtype)
      return int(i);
  }
  traffic_.push_back(t);
  return int(traffic_.size()) - 1;
}

OpSpec OpPricer::tp_collective(const std::string& what, CollectiveOp op, double bytes, DType dtype,
                               const GroupShape& shape) {
  const int n = scenario_.layout.tp;
  OpSpec spec;
  spec.op.name = nccl_kernel_name(op, dtype, Bytes(bytes));
  spec.op.kind = OpKind::collective;
  spec.op.part = Part::exposed_tp;
  spec.op.stream = Stream::tp;
  spec.op.traffic =
      traffic_id({Axis::tp, what, op, n, bytes, bytes_sent_per_rank(op, n, bytes), false, dtype});
  spec.wire = shape.nodes > 1;
  if (spec.wire) {
    const int nics = std::min(shape.per_node, scenario_.cluster.nics_per_node);
    spec.wire_cost =
        across_nodes(*scenario_.profile, scenario_.stack, op, shape, Bytes(bytes), scenario_.cluster.nvlink,
                     scenario_.cluster.nic * nics * scenario_.stack.network_efficiency.value,
                     scenario_.cluster.nic_latency);
  } else {
    const auto time = in_node_collective(*scenario_.profile, scenario_.stack, op, n, Bytes(bytes),
                                         scenario_.cluster.nvlink);
    spec.op.duration = time.time.value;
    spec.op.outside = time.outside;
  }
  return spec;
}

std::vector<OpSpec> forward_ops(OpPricer& pricer, const ChunkPlan& chunk, const GroupShape& tp_shape) {
  return ChunkOps(pricer, chunk, tp_shape).forward();
}

std::vector<OpSpec> backward_ops(OpPricer& pricer, const ChunkPlan& chunk, const GroupShape& tp_shape) {
  return ChunkOps(pricer, chunk, tp_shape).backward();
}

std::vector<OpSpec> split_backward(const std::vector<OpSpec>& backward, bool weight) {
  std::vector<OpSpec> part;
  for (const auto& spec : backward)
    if (spec.weight_gradient == weight) {
      part.push_back(spec);
      part.back().beside_previous = false;
    }
  return part;
}

}  // namespace rehearse
