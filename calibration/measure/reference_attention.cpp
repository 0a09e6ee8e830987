#include <algorithm>
#include <cmath>

#include "calibration/measure/reference.hpp"
#include "calibration/work/rounding.hpp"

namespace rehearse::calibration {
namespace {

enum Operand : size_t { kQ, kK, kV, kO, kLse, kDO, kDQ, kDK, kDV };
constexpr double kArithmetic = 0x1p-14;  // of fp32 sums and exponentials

using Row = std::vector<double>;

double dot(const Row& a, const Row& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Elements of [batch][sequence][heads][head_dim] and of [batch][heads][sequence].
struct Layout {
  int64_t sequence, heads, kv_heads, head_dim;
  bool causal;
  int64_t query(int64_t batch, int64_t i, int64_t head) const {
    return ((batch * sequence + i) * heads + head) * head_dim;
  }
  int64_t key(int64_t batch, int64_t j, int64_t kv_head) const {
    return ((batch * sequence + j) * kv_heads + kv_head) * head_dim;
  }
  int64_t line(int64_t batch, int64_t i, int64_t head) const { return (batch * heads + head) * sequence + i; }
  int64_t kv_of(int64_t head) const { return head / (heads / kv_heads); }
  int64_t keys_of(int64_t i) const { return causal ? i + 1 : sequence; }
  double scale() const { return 1 / std::sqrt(double(head_dim)); }
};

Row contents(const Reference& reference, size_t operand, int64_t first, int64_t count) {
  Row row;
  for (int64_t i = 0; i < count; ++i) row.push_back(reference.in(operand, first + i));
  return row;
}

// One row of O and its log-sum-exp.
void expect_row(const Layout& at, DType type, int64_t batch, int64_t i, int64_t head, Reference& reference) {
  const Row q = contents(reference, kQ, at.query(batch, i, head), at.head_dim);
  Row scores;
  for (int64_t j = 0; j < at.keys_of(i); ++j)
    scores.push_back(at.scale() *
                     dot(q, contents(reference, kK, at.key(batch, j, at.kv_of(head)), at.head_dim)));
  const double most = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double s : scores) sum += std::exp(s - most);
  const double lse = most + std::log(sum);
  reference.expect_within(kLse, at.line(batch, i, head), lse, 1e-3 * std::max(1.0, std::fabs(lse)));
  Row o(size_t(at.head_dim)), magnitude(size_t(at.head_dim));
  for (size_t j = 0; j < scores.size(); ++j) {
    const double p = std::exp(scores[j] - lse);
    const Row v = contents(reference, kV, at.key(batch, int64_t(j), at.kv_of(head)), at.head_dim);
    for (size_t d = 0; d < v.size(); ++d) {
      o[d] += p * v[d];
      magnitude[d] += p * std::fabs(v[d]);
    }
  }
  const double rounding = 4 * unit_roundoff(type) + kArithmetic;  // probabilities are rounded too
  for (int64_t d : sampled(at.head_dim, 4, 3))
    reference.expect_within(kO, at.query(batch, i, head) + d, o[size_t(d)],
                            rounding * magnitude[size_t(d)] + 1e-6);
}

// What a pair of query and key contributes, from O and log-sum-exp as given.
struct Pair {
  double p, ds, ds_magnitude;
};
struct Query {
  Row q, d_out;
  double lse, delta;
};
Query query_of(const Layout& at, const ReadOperand& read, const Reference& reference, int64_t batch,
               int64_t i, int64_t head) {
  const int64_t first = at.query(batch, i, head);
  Query row{contents(reference, kQ, first, at.head_dim), contents(reference, kDO, first, at.head_dim),
            read(kLse, at.line(batch, i, head), 1)[0], 0};
  row.delta = dot(row.d_out, read(kO, first, at.head_dim));
  return row;
}
Pair pair_of(const Layout& at, const Query& query, const Row& k, const Row& v) {
  const double p = std::exp(at.scale() * dot(query.q, k) - query.lse), dp = dot(query.d_out, v);
  return {p, p * (dp - query.delta), p * (std::fabs(dp) + std::fabs(query.delta))};
}

void expect_dq(const Layout& at, DType type, const ReadOperand& read, int64_t batch, int64_t i, int64_t head,
               Reference& reference) {
  const Query query = query_of(at, read, reference, batch, i, head);
  Row dq(size_t(at.head_dim)), magnitude(size_t(at.head_dim));
  for (int64_t j = 0; j < at.keys_of(i); ++j) {
    const int64_t key = at.key(batch, j, at.kv_of(head));
    const Row k = contents(reference, kK, key, at.head_dim);
    const Pair pair = pair_of(at, query, k, contents(reference, kV, key, at.head_dim));
    for (size_t d = 0; d < k.size(); ++d) {
      dq[d] += at.scale() * pair.ds * k[d];
      magnitude[d] += at.scale() * pair.ds_magnitude * std::fabs(k[d]);
    }
  }
  const double rounding = 4 * unit_roundoff(type) + kArithmetic;
  for (int64_t d : sampled(at.head_dim, 4, 3))
    reference.expect_within(kDQ, at.query(batch, i, head) + d, dq[size_t(d)],
                            rounding * magnitude[size_t(d)] + 1e-6);
}

void expect_dk_dv(const Layout& at, DType type, const ReadOperand& read, int64_t batch, int64_t j,
                  int64_t kv_head, Reference& reference) {
  const int64_t key = at.key(batch, j, kv_head), share = at.heads / at.kv_heads;
  const auto width = size_t(at.head_dim);
  const Row k = contents(reference, kK, key, at.head_dim), v = contents(reference, kV, key, at.head_dim);
  Row dk(width), dv(width), dk_magnitude(width), dv_magnitude(width);
  for (int64_t head = kv_head * share; head < (kv_head + 1) * share; ++head)
    for (int64_t i = at.causal ? j : 0; i < at.sequence; ++i) {
      const Query query = query_of(at, read, reference, batch, i, head);
      const Pair pair = pair_of(at, query, k, v);
      for (size_t d = 0; d < width; ++d) {
        dk[d] += at.scale() * pair.ds * query.q[d];
        dk_magnitude[d] += at.scale() * pair.ds_magnitude * std::fabs(query.q[d]);
        dv[d] += pair.p * query.d_out[d];
        dv_magnitude[d] += pair.p * std::fabs(query.d_out[d]);
      }
    }
  const double rounding = 4 * unit_roundoff(type) + kArithmetic;
  for (int64_t at_d : sampled(at.head_dim, 4, 3)) {
    const auto d = size_t(at_d);
    reference.expect_within(kDK, key + at_d, dk[d], rounding * dk_magnitude[d] + 1e-6);
    reference.expect_within(kDV, key + at_d, dv[d], rounding * dv_magnitude[d] + 1e-6);
  }
}

}  // namespace

void expect_attention(const AttentionCall& call, const ReadOperand& read, Reference& reference) {
  const auto& s = call.shape;
  const Layout at{int64_t(s.sequence), int64_t(s.heads), int64_t(s.kv_heads), int64_t(s.head_dim), s.causal};
  const auto rows = int64_t(s.batch * s.heads * s.sequence);
  for (int64_t row : sampled(rows, 6, 5)) {
    const int64_t batch = row / (at.heads * at.sequence), head = row / at.sequence % at.heads,
                  i = row % at.sequence;
    if (call.backward)
      expect_dq(at, call.dtype, read, batch, i, head, reference);
    else
      expect_row(at, call.dtype, batch, i, head, reference);
  }
  if (!call.backward) return;
  // A key's gradient is a sum over all queries that see it, each read from the device: a late key is seen by
  // few.
  constexpr int64_t late = 256, is_long = 2048;
  const int64_t first = at.causal ? std::max<int64_t>(0, at.sequence - late) : 0;
  const int wanted = !at.causal && at.sequence > is_long ? 1 : 3;
  const auto columns = int64_t(s.batch * s.kv_heads);
  for (int64_t key : sampled(columns * (at.sequence - first), wanted, 7)) {
    const int64_t column = key / (at.sequence - first), j = first + key % (at.sequence - first);
    expect_dk_dv(at, call.dtype, read, column / at.kv_heads, j, column % at.kv_heads, reference);
  }
}

}  // namespace rehearse::calibration
