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
    wait_for_exchange();
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
    wait_for_exchange();
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
  void wait_for_exchange() {
    const double seconds = s_.stack.host_per_exchange_s.value;
    if (seconds <= 0 || s_.layout.pp == 1 || s_.overlap.p2p) return;
    OpSpec wait;
    wait.op.name = "wait of the host";
    wait.op.kind = OpKind::gap;
    wait.op.part = Part::overhead;
    wait.op.duration = seconds;
    wait.op.basis = s_.stack.host_per_exchange_s.basis;
    push(std::move(wait));
  }
  OpSpec& push(OpSpec spec) {
    spec.op.layer = layer_;
    if (recomputing_ && spec.op.kind != OpKind::collective) spec.op.part = Part::recompute;
    ops_.push_back(std::move(spec));
    return ops_.back();
  }
  // `bytes` an element of 16 bit; the type is that of activations.
  void memory(const char* name, MemoryKernel kernel, double bytes, double rows, double width) {
    const MemoryCall call{s_.precision.params, kernel, {rows, width}};
    push(pricer_.memory(name, call, bytes * d_.width / 2 * rows * width));
  }
  void residual(const char* name) {
    memory(name, m_.dropout ? MemoryKernel::dropout_add : MemoryKernel::add, residual_bytes(), d_.norm_tokens,
           d_.hidden);
  }
  void residual_backward() {
    memory("dropout add backward", m_.dropout ? MemoryKernel::dropout_backward : MemoryKernel::add,
           residual_bytes(), d_.norm_tokens, d_.hidden);
  }
  // Over the hidden states that norms see.
  void pass(const char* name, MemoryKernel kernel, double bytes) {
    memory(name, kernel, bytes, d_.norm_tokens, d_.hidden);
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
    const double rows = d_.batch_heads * d_.sequence;
    push(pricer_.gemm("scores gemm", {d_.sequence, d_.sequence, d_.head_dim, d_.batch_heads},
                      GemmRole::forward, wide()));
    memory("softmax", MemoryKernel::softmax, kSoftmax, rows, d_.sequence);
    if (m_.dropout) memory("attention dropout", MemoryKernel::dropout, kScoreDropout, rows, d_.sequence);
    push(pricer_.gemm("context gemm", {d_.sequence, d_.head_dim, d_.sequence, d_.batch_heads},
                      GemmRole::forward, wide()));
  }

  void core_backward() {
    if (m_.attention == Attention::fused) {
      push(pricer_.attention("flash attention backward", true));
      return;
    }
    const double rows = d_.batch_heads * d_.sequence;
    const GemmShape to_scores{d_.sequence, d_.sequence, d_.head_dim, d_.batch_heads};
    const GemmShape to_heads{d_.sequence, d_.head_dim, d_.sequence, d_.batch_heads};
    push(pricer_.gemm("context gemm dgrad", to_scores, GemmRole::input_gradient, wide()));
    push(pricer_.gemm("value gemm dgrad", to_heads, GemmRole::input_gradient, wide()));
    if (m_.dropout)
      memory("attention dropout backward", MemoryKernel::dropout_backward, kScoreDropout, rows, d_.sequence);
    memory("softmax backward", MemoryKernel::softmax_backward, kSoftmaxBackward, rows, d_.sequence);
    push(pricer_.gemm("query gemm dgrad", to_heads, GemmRole::input_gradient, wide()));
    push(pricer_.gemm("key gemm dgrad", to_heads, GemmRole::input_gradient, wide()));
  }

  void rope(const char* name) { memory(name, MemoryKernel::rope, kRope, d_.tokens, d_.q + d_.kv); }
  double qkv_width() const { return d_.q + 2 * d_.kv; }
  double fc1_width() const { return m_.mlp == Mlp::swiglu ? 2 * d_.ffn : d_.ffn; }

  void block_forward(const char* what) {
    pass("norm", MemoryKernel::norm, kNormForward);
    enter_region(what);
    matmul("qkv gemm", d_.tokens, qkv_width(), d_.hidden, d_.hidden * qkv_width());
    if (m_.position == PositionEmbedding::rope) rope("rope");
    core_forward();
    matmul("proj gemm", d_.tokens, d_.hidden, d_.q, d_.hidden * d_.q);
    leave_region(what);
    residual("dropout add");
    pass("norm", MemoryKernel::norm, kNormForward);
    enter_region(what);
    matmul("fc1 gemm", d_.tokens, fc1_width(), d_.hidden, d_.hidden * fc1_width());
    if (m_.mlp == Mlp::swiglu)
      memory("swiglu", MemoryKernel::swiglu, kGated, d_.tokens, d_.ffn);
    else
      memory("gelu", MemoryKernel::gelu, kGelu, d_.tokens, d_.ffn);
    matmul("fc2 gemm", d_.tokens, d_.hidden, d_.ffn, d_.hidden * d_.ffn);
    leave_region(what);
    residual("dropout add");
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
    const MemoryCall call{s_.precision.params, MemoryKernel::accumulate, {1, parameters}};
    auto& add = push(pricer_.memory("accumulate gradient", call, bytes));
    add.weight_gradient = true;
    add.parameters = parameters;
  }

  void block_backward() {
    const char* what = "block backward";
    residual_backward();
    enter_region(what);
    linear_backward("fc2 gemm", d_.hidden, d_.ffn, false, what);
    if (m_.mlp == Mlp::swiglu)
      memory("swiglu backward", MemoryKernel::swiglu_backward, kGatedBackward, d_.tokens, d_.ffn);
    else
      memory("gelu backward", MemoryKernel::gelu_backward, kGeluBackward, d_.tokens, d_.ffn);
    linear_backward("fc1 gemm", fc1_width(), d_.hidden, true, what);
    pass("norm backward", MemoryKernel::norm_backward, kNormBackward);
    pass("gradient add", MemoryKernel::add, kGradientAdd);
    residual_backward();
    enter_region(what);
    linear_backward("proj gemm", d_.hidden, d_.q, false, what);
    if (s_.recompute.kind == RecomputeKind::selective) recompute([&] { core_forward(); });
    core_backward();
    if (m_.position == PositionEmbedding::rope) rope("rope backward");
    linear_backward("qkv gemm", qkv_width(), d_.hidden, true, what);
    pass("norm backward", MemoryKernel::norm_backward, kNormBackward);
    pass("gradient add", MemoryKernel::add, kGradientAdd);
  }

  double embedding_weights() const { return d_.vocab * d_.hidden; }
  void embedding_forward() {
    const MemoryCall call{s_.precision.params, MemoryKernel::embedding, {d_.tokens, d_.hidden}};
    auto& lookup = push(pricer_.memory("embedding lookup", call, 2 * d_.width * call.shape.elements()));
    lookup.parameters = embedding_weights() +
                        (m_.position == PositionEmbedding::learned ? double(m_.sequence) * m_.hidden : 0);
    leave_region("embedding forward");
    if (m_.position == PositionEmbedding::learned) pass("position add", MemoryKernel::add, kResidual);
    if (m_.dropout) pass("embedding dropout", MemoryKernel::dropout, kScoreDropout);
  }
  void embedding_backward() {
    if (m_.dropout) pass("embedding dropout backward", MemoryKernel::dropout_backward, kScoreDropout);
    enter_region("embedding backward");
    const MemoryCall call{s_.precision.params, MemoryKernel::embedding_backward, {d_.tokens, d_.hidden}};
    push(pricer_.memory("embedding scatter", call, 2 * d_.width * call.shape.elements())).weight_gradient =
        true;
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
  // Half of the loss's bytes each way.
  void loss(const char* name, MemoryKernel kernel) {
    const MemoryCall call{s_.precision.params, kernel, {d_.tokens, d_.vocab}};
    push(pricer_.memory(name, call, s_.stack.loss_bytes_per_logit.value / 2 * call.shape.elements()));
  }
  void head_forward() {
    pass("final norm", MemoryKernel::norm, kNormForward);
    enter_region("head forward");
    push(pricer_.gemm("head gemm", {d_.tokens, d_.vocab, d_.hidden}, GemmRole::forward, wide())).parameters =
        embedding_weights();
    loss("loss", MemoryKernel::cross_entropy);
    loss_collectives();
  }
  void head_backward() {
    loss("loss backward", MemoryKernel::cross_entropy_backward);
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
    pass("final norm backward", MemoryKernel::norm_backward, kNormBackward);
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
