#include <cblas.h>

#include <algorithm>
#include <cmath>

#include "calibration/backends/host/kernels.hpp"
#include "calibration/backends/host/simd.hpp"

namespace rehearse::calibration::host {
namespace {

constexpr int64_t kTileRows = 128;

struct Geometry {
  int64_t batch, sequence, heads, kv_heads, head_dim;
  bool causal;
  float scale;

  explicit Geometry(const AttentionShape& s)
      : batch(int64_t(s.batch)),
        sequence(int64_t(s.sequence)),
        heads(int64_t(s.heads)),
        kv_heads(int64_t(s.kv_heads)),
        head_dim(int64_t(s.head_dim)),
        causal(s.causal),
        scale(float(1 / std::sqrt(s.head_dim))) {}
  int64_t query_at(int64_t b, int64_t row, int64_t head) const {
    return ((b * sequence + row) * heads + head) * head_dim;
  }
  // K and V of a query head; heads share them in groups.
  int64_t key_at(int64_t b, int64_t head) const {
    return (b * sequence * kv_heads + head / (heads / kv_heads)) * head_dim;
  }
  int64_t line_at(int64_t b, int64_t head, int64_t row) const { return (b * heads + head) * sequence + row; }
  blasint query_stride() const { return blasint(heads * head_dim); }
  blasint key_stride() const { return blasint(kv_heads * head_dim); }
};

// Query rows [first, first + rows) of one head of one sequence; they see keys [0, columns).
struct Tile {
  int64_t batch, head, first, rows, columns;
};

template <class Visit>
void for_each_tile(const Geometry& g, Visit visit) {
  for (int64_t b = 0; b < g.batch; ++b)
    for (int64_t h = 0; h < g.heads; ++h)
      for (int64_t first = 0; first < g.sequence; first += kTileRows) {
        const int64_t rows = std::min(kTileRows, g.sequence - first);
        visit(Tile{b, h, first, rows, g.causal ? first + rows : g.sequence});
      }
}

// out[rows, columns] = scale x (rows of a, stride lda) (rows of b, stride ldb)^T
void rows_by_rows(const Tile& t, const Geometry& g, float scale, const float* a, const float* b, float* out) {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, blasint(t.rows), blasint(t.columns),
              blasint(g.head_dim), scale, a, g.query_stride(), b, g.key_stride(), 0.0f, out,
              blasint(t.columns));
}

// out[rows, head_dim] = p[rows, columns] b[columns, head_dim]
void weighted_rows(const Tile& t, const Geometry& g, const float* p, const float* b, float* out) {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, blasint(t.rows), blasint(g.head_dim),
              blasint(t.columns), 1.0f, p, blasint(t.columns), b, g.key_stride(), 0.0f, out,
              g.query_stride());
}

// out[columns, head_dim] += p[rows, columns]^T a[rows, head_dim]
void add_to_keys(const Tile& t, const Geometry& g, const float* p, const float* a, float* out) {
  cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, blasint(t.columns), blasint(g.head_dim),
              blasint(t.rows), 1.0f, p, blasint(t.columns), a, g.query_stride(), 1.0f, out, g.key_stride());
}

int64_t seen(const Tile& t, const Geometry& g, int64_t row) {
  return g.causal ? t.first + row + 1 : t.columns;
}

// The row becomes its softmax over the first `count`, zero beyond; returns the log-sum-exp.
REHEARSE_CLONES float softmax_row(float* row, int64_t count, int64_t width) {
  float top = row[0], sum = 0;
#pragma omp simd reduction(max : top)
  for (int64_t i = 0; i < count; ++i) top = row[i] > top ? row[i] : top;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) {
    row[i] = fast_exp(row[i] - top);
    sum += row[i];
  }
  const float inverse = 1 / sum;
  for (int64_t i = 0; i < count; ++i) row[i] *= inverse;
  std::fill(row + count, row + width, 0.0f);
  return top + std::log(sum);
}

// scores: e^(score - lse), zero beyond `count`; gradient: that times (dP - delta) scale.
REHEARSE_CLONES void backward_row(float* scores, float* gradient, float lse, float delta, float scale,
                                  int64_t count, int64_t width) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const float p = fast_exp(scores[i] - lse);
    scores[i] = p;
    gradient[i] = p * (gradient[i] - delta) * scale;
  }
  std::fill(scores + count, scores + width, 0.0f);
  std::fill(gradient + count, gradient + width, 0.0f);
}

REHEARSE_CLONES float dot(const float* a, const float* b, int64_t count) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

void forward(const Geometry& g, Tensors x, float* scores) {
  const float *q = floats(x[0]), *k = floats(x[1]), *v = floats(x[2]);
  float *o = floats(x[3]), *lse = floats(x[4]);
  for_each_tile(g, [&](const Tile& t) {
    const int64_t at = g.query_at(t.batch, t.first, t.head), key = g.key_at(t.batch, t.head);
    rows_by_rows(t, g, g.scale, q + at, k + key, scores);
    for (int64_t r = 0; r < t.rows; ++r)
      lse[g.line_at(t.batch, t.head, t.first + r)] =
          softmax_row(scores + r * t.columns, seen(t, g, r), t.columns);
    weighted_rows(t, g, scores, v + key, o + at);
  });
}

void backward(const Geometry& g, Tensors x, float* scores, float* gradient) {
  const float *q = floats(x[0]), *k = floats(x[1]), *v = floats(x[2]), *o = floats(x[3]), *lse = floats(x[4]);
  const float* d_o = floats(x[5]);
  float *d_q = floats(x[6]), *d_k = floats(x[7]), *d_v = floats(x[8]);
  const int64_t keys = g.batch * g.sequence * g.kv_heads * g.head_dim;
  std::fill(d_k, d_k + keys, 0.0f);
  std::fill(d_v, d_v + keys, 0.0f);
  for_each_tile(g, [&](const Tile& t) {
    const int64_t at = g.query_at(t.batch, t.first, t.head), key = g.key_at(t.batch, t.head);
    rows_by_rows(t, g, g.scale, q + at, k + key, scores);
    rows_by_rows(t, g, 1, d_o + at, v + key, gradient);
    for (int64_t r = 0; r < t.rows; ++r) {
      const int64_t row = at + r * g.query_stride();
      backward_row(scores + r * t.columns, gradient + r * t.columns,
                   lse[g.line_at(t.batch, t.head, t.first + r)], dot(d_o + row, o + row, g.head_dim), g.scale,
                   seen(t, g, r), t.columns);
    }
    add_to_keys(t, g, scores, d_o + at, d_v + key);
    weighted_rows(t, g, gradient, k + key, d_q + at);
    add_to_keys(t, g, gradient, q + at, d_k + key);
  });
}

}  // namespace

void run_attention(const AttentionCall& call, Tensors operands, Scratch& scratch) {
  const Geometry g(call.shape);
  const auto tile = size_t(std::min(kTileRows, g.sequence) * g.sequence);
  if (scratch.size() < 2 * tile) scratch.resize(2 * tile);
  if (call.backward)
    backward(g, operands, scratch.data(), scratch.data() + tile);
  else
    forward(g, operands, scratch.data());
}

}  // namespace rehearse::calibration::host
