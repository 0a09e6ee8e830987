#include "calibration/backends/cuda/attention_graph.hpp"

#include <cmath>
#include <limits>

namespace rehearse::calibration::cuda {

namespace {

using Id = CudnnGraph::Id;

// Sizes of a call, and the shapes that both directions share.
struct Sizes {
  explicit Sizes(const AttentionCall& call)
      : b(int64_t(call.shape.batch)),
        s(int64_t(call.shape.sequence)),
        h(int64_t(call.shape.heads)),
        kv(int64_t(call.shape.kv_heads)),
        d(int64_t(call.shape.head_dim)),
        io(call.dtype == DType::bf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_HALF) {}
  int64_t b, s, h, kv, d;
  cudnnDataType_t io;

  Extents tokens(int64_t heads) const { return {b, heads, s, d}; }
  // [batch][sequence][heads][head_dim] in memory
  Extents token_strides(int64_t heads) const { return {s * heads * d, d, heads * d, 1}; }
  Extents transposed(int64_t heads) const { return {b, heads, d, s}; }
  Extents transposed_strides(int64_t heads) const { return {s * heads * d, d, 1, heads * d}; }
  Extents scores() const { return {b, h, s, s}; }
  Extents rows() const { return {b, h, s, 1}; }
  Extents row_strides() const { return {h * s, s, 1, 1}; }
};

Id tokens(CudnnGraph& g, const Sizes& z, int64_t heads) {
  return g.tensor(z.io, z.tokens(heads), z.token_strides(heads));
}
Id transposed_tokens(CudnnGraph& g, const Sizes& z, int64_t heads) {
  return g.tensor(z.io, z.transposed(heads), z.transposed_strides(heads));
}
Id score(CudnnGraph& g, const Sizes& z) { return g.between(CUDNN_DATA_FLOAT, z.scores()); }
Id row(CudnnGraph& g, const Sizes& z) { return g.between(CUDNN_DATA_FLOAT, z.rows(), z.row_strides()); }

// y = mode(x, b) on scores
Id on_scores(CudnnGraph& g, const Sizes& z, cudnnPointwiseMode_t mode, std::initializer_list<Id> inputs) {
  const Id y = score(g, z);
  g.pointwise(mode, inputs, y);
  return y;
}

// Keeps what stands on or below the diagonal.
Id causal(CudnnGraph& g, const Sizes& z, Id x) {
  const Id lines = g.between(CUDNN_DATA_INT32, z.scores()), columns = g.between(CUDNN_DATA_INT32, z.scores());
  const Id seen = g.between(CUDNN_DATA_BOOLEAN, z.scores());
  g.index(2, x, lines);
  g.index(3, x, columns);
  g.pointwise(CUDNN_POINTWISE_CMP_GE, {lines, columns}, seen, CUDNN_DATA_BOOLEAN);
  const Id lowest = g.scalar(std::numeric_limits<float>::lowest());
  return on_scores(g, z, CUDNN_POINTWISE_BINARY_SELECT, {x, lowest, seen});
}

Id scale_of(CudnnGraph& g, const Sizes& z) { return g.scalar(float(1 / std::sqrt(double(z.d)))); }

// Sums over the query heads that share a key head, where they do.
void shared_heads(CudnnGraph& g, const Sizes& z, Id a, Id b, Id result) {
  if (z.h == z.kv) return g.matmul(a, b, result);
  const Id full = g.between(z.io, z.tokens(z.h));
  g.matmul(a, b, full);
  g.reduce(CUDNN_REDUCE_TENSOR_ADD, full, result);
}

// x[b,h,i,j] seen as [b,h,j,i], in the operands' type
Id transposed_scores(CudnnGraph& g, const Sizes& z, Id x) {
  const Id y = g.between(z.io, z.scores(), {z.h * z.s * z.s, z.s * z.s, 1, z.s});
  g.reshape(x, y);
  return y;
}

}  // namespace

AttentionGraph attention_forward(const AttentionCall& call) {
  AttentionGraph a;
  CudnnGraph& g = a.graph;
  const Sizes z(call);
  const Id q = tokens(g, z, z.h), kt = transposed_tokens(g, z, z.kv), v = tokens(g, z, z.kv);
  const Id o = tokens(g, z, z.h), lse = g.tensor(CUDNN_DATA_FLOAT, z.rows(), z.row_strides());
  a.operands = {q, kt, v, o, lse};

  Id s = score(g, z);
  g.matmul(q, kt, s);
  s = on_scores(g, z, CUDNN_POINTWISE_MUL, {s, scale_of(g, z)});
  if (call.shape.causal) s = causal(g, z, s);

  const Id most = row(g, z), sum = row(g, z), log = row(g, z);
  g.reduce(CUDNN_REDUCE_TENSOR_MAX, s, most);
  const Id below = on_scores(g, z, CUDNN_POINTWISE_SUB, {s, most});
  const Id exp = on_scores(g, z, CUDNN_POINTWISE_EXP, {below});
  g.reduce(CUDNN_REDUCE_TENSOR_ADD, exp, sum);
  g.pointwise(CUDNN_POINTWISE_LOG, {sum}, log);
  g.pointwise(CUDNN_POINTWISE_ADD, {most, log}, lse);
  const Id p = g.between(z.io, z.scores());
  g.pointwise(CUDNN_POINTWISE_DIV, {exp, sum}, p);
  g.matmul(p, v, o);
  return a;
}

AttentionGraph attention_backward(const AttentionCall& call) {
  AttentionGraph a;
  CudnnGraph& g = a.graph;
  const Sizes z(call);
  const Id q = tokens(g, z, z.h), kt = transposed_tokens(g, z, z.kv), vt = transposed_tokens(g, z, z.kv);
  const Id o = tokens(g, z, z.h), lse = g.tensor(CUDNN_DATA_FLOAT, z.rows(), z.row_strides());
  const Id d_o = tokens(g, z, z.h), dq = tokens(g, z, z.h), dk = tokens(g, z, z.kv), dv = tokens(g, z, z.kv);
  a.operands = {q, kt, vt, o, lse, d_o, dq, dk, dv};
  const Id scale = scale_of(g, z);

  // Row sums of dO O. The engines know the chain by its multiplication with the inverse of the dropout's
  // scale, here 1.
  const Id product = g.between(CUDNN_DATA_FLOAT, z.tokens(z.h)), product_sum = row(g, z);
  const Id delta = g.tensor(CUDNN_DATA_FLOAT, z.rows(), z.row_strides());
  a.scratch.emplace_back(delta, z.b * z.h * z.s * 4);
  g.pointwise(CUDNN_POINTWISE_MUL, {d_o, o}, product);
  g.reduce(CUDNN_REDUCE_TENSOR_ADD, product, product_sum);
  g.pointwise(CUDNN_POINTWISE_MUL, {product_sum, g.scalar(1)}, delta);

  // P again from the log-sum-exp; dV = P^T dO
  Id s = score(g, z);
  g.matmul(q, kt, s);
  s = on_scores(g, z, CUDNN_POINTWISE_MUL, {s, scale});
  s = on_scores(g, z, CUDNN_POINTWISE_SUB, {s, lse});
  if (call.shape.causal) s = causal(g, z, s);
  const Id p = on_scores(g, z, CUDNN_POINTWISE_EXP, {s});
  shared_heads(g, z, transposed_scores(g, z, p), d_o, dv);

  // dS = scale P (dO V^T - delta); dK = dS^T Q
  Id ds = score(g, z);
  g.matmul(d_o, vt, ds);
  ds = on_scores(g, z, CUDNN_POINTWISE_SUB, {ds, delta});
  ds = on_scores(g, z, CUDNN_POINTWISE_MUL, {ds, p});
  ds = on_scores(g, z, CUDNN_POINTWISE_MUL, {ds, scale});
  shared_heads(g, z, transposed_scores(g, z, ds), q, dk);

  // dQ = dS K, summed in fp32 by the blocks of keys
  const Id k = g.between(z.io, z.tokens(z.kv), z.token_strides(z.kv));
  g.reshape(kt, k);
  const Extents dims = z.tokens(z.h);
  const Id sums = g.tensor(CUDNN_DATA_FLOAT, dims, {z.h * z.s * z.d, z.s * z.d, z.d, 1});
  a.scratch.emplace_back(sums, z.b * z.h * z.s * z.d * 4);
  g.matmul(ds, k, sums);
  g.pointwise(CUDNN_POINTWISE_IDENTITY, {sums}, dq);
  return a;
}

}  // namespace rehearse::calibration::cuda
