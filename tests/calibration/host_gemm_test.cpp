// GEMM and attention of the host backend against triple loops in double precision.
#include <gtest/gtest.h>

#include "tests/calibration/host_fixture.hpp"

namespace rehearse::calibration {
namespace {

using std::size_t;

// C of a call from its operands' contents.
void multiply(const GemmCall& call, Values& x) {
  const auto m = size_t(call.shape.m), n = size_t(call.shape.n), k = size_t(call.shape.k);
  for (size_t b = 0; b < size_t(call.shape.batch); ++b)
    for (size_t i = 0; i < m; ++i)
      for (size_t j = 0; j < n; ++j) {
        double sum = call.accumulate ? x[2][(b * m + i) * n + j] : 0;
        for (size_t l = 0; l < k; ++l) {
          const size_t left = call.role == GemmRole::weight_gradient ? l * m + i : i * k + l;
          const size_t right = call.role == GemmRole::forward ? j * k + l : l * n + j;
          sum += x[0][b * m * k + left] * x[1][b * k * n + right];
        }
        x[2][(b * m + i) * n + j] = sum;
      }
}

// One query head of one sequence. Indices of rows into [batch][sequence][heads][head_dim].
struct Head {
  const AttentionShape& s;
  size_t b, h;
  size_t query(size_t row, size_t d) const {
    return ((b * size_t(s.sequence) + row) * size_t(s.heads) + h) * size_t(s.head_dim) + d;
  }
  size_t key(size_t row, size_t d) const {
    const auto group = size_t(s.heads / s.kv_heads);
    return ((b * size_t(s.sequence) + row) * size_t(s.kv_heads) + h / group) * size_t(s.head_dim) + d;
  }
  size_t line(size_t row) const { return (b * size_t(s.heads) + h) * size_t(s.sequence) + row; }
  size_t seen(size_t row) const { return s.causal ? row + 1 : size_t(s.sequence); }
  double score(const Values& x, size_t i, size_t j) const {
    double sum = 0;
    for (size_t d = 0; d < size_t(s.head_dim); ++d) sum += x[0][query(i, d)] * x[1][key(j, d)];
    return sum / std::sqrt(s.head_dim);
  }
};

void attend(const Head& a, Values& x, size_t i) {
  double sum = 0;
  for (size_t j = 0; j < a.seen(i); ++j) sum += std::exp(a.score(x, i, j));
  x[4][a.line(i)] = std::log(sum);
  for (size_t d = 0; d < size_t(a.s.head_dim); ++d) {
    double out = 0;
    for (size_t j = 0; j < a.seen(i); ++j) out += std::exp(a.score(x, i, j)) / sum * x[2][a.key(j, d)];
    x[3][a.query(i, d)] = out;
  }
}

void attend_backward(const Head& a, Values& x, size_t i) {
  const auto width = size_t(a.s.head_dim);
  double delta = 0;
  for (size_t d = 0; d < width; ++d) delta += x[5][a.query(i, d)] * x[3][a.query(i, d)];
  for (size_t j = 0; j < a.seen(i); ++j) {
    const double p = std::exp(a.score(x, i, j) - x[4][a.line(i)]);
    double dp = 0;
    for (size_t d = 0; d < width; ++d) dp += x[5][a.query(i, d)] * x[2][a.key(j, d)];
    const double ds = p * (dp - delta) / std::sqrt(a.s.head_dim);
    for (size_t d = 0; d < width; ++d) {
      x[8][a.key(j, d)] += p * x[5][a.query(i, d)];
      x[6][a.query(i, d)] += ds * x[1][a.key(j, d)];
      x[7][a.key(j, d)] += ds * x[0][a.query(i, d)];
    }
  }
}

template <class Row>
void each_row(const AttentionShape& s, Row row) {
  for (size_t b = 0; b < size_t(s.batch); ++b)
    for (size_t h = 0; h < size_t(s.heads); ++h)
      for (size_t i = 0; i < size_t(s.sequence); ++i) row(Head{s, b, h}, i);
}

const AttentionShape kAttention[] = {
    {1, 1, 1, 1, 1, true},  {2, 5, 2, 2, 3, false},  {2, 5, 4, 2, 3, true},
    {1, 7, 3, 1, 8, false}, {1, 131, 2, 1, 8, true}, {1, 256, 1, 1, 16, true},
};

using HostGemm = HostTest;
using HostAttention = HostTest;

TEST_F(HostGemm, EveryRoleIsTheTripleLoop) {
  const GemmShape shapes[] = {{1, 1, 1, 1},  {1, 7, 5, 1},    {3, 1, 4, 1},
                              {17, 5, 1, 1}, {33, 19, 65, 1}, {5, 7, 3, 4}};
  for (auto role : {GemmRole::forward, GemmRole::input_gradient, GemmRole::weight_gradient})
    for (bool accumulate : {false, true})
      for (const auto& shape : shapes) {
        const GemmCall call{DType::fp32, role, shape, accumulate};
        SCOPED_TRACE(point_of(call));
        const Operands list = operands(call);
        soil(list);
        Values expected = read(list);
        multiply(call, expected);
        run(call, list);
        expect_near(read(list), expected, 1e-6);
      }
}

TEST_F(HostAttention, ForwardIsTheFormula) {
  for (const auto& shape : kAttention) {
    const AttentionCall call{DType::fp32, false, shape};
    SCOPED_TRACE(point_of(call));
    const Operands list = operands(call);
    soil(list);
    Values expected = read(list);
    each_row(shape, [&](const Head& head, size_t i) { attend(head, expected, i); });
    run(call, list);
    expect_near(read(list), expected, 2e-6);
  }
}

TEST_F(HostAttention, BackwardIsTheFormula) {
  for (const auto& shape : kAttention) {
    const AttentionCall call{DType::fp32, true, shape};
    SCOPED_TRACE(point_of(call));
    const Operands list = operands(call);
    const Operands forward(list.begin(), list.begin() + 5);
    run(AttentionCall{DType::fp32, false, shape}, forward);
    // Twice: gradients are overwritten, not added to.
    run(call, list);
    Values expected = read(list);
    for (size_t t = 6; t < 9; ++t) std::fill(expected[t].begin(), expected[t].end(), 0);
    each_row(shape, [&](const Head& head, size_t i) { attend_backward(head, expected, i); });
    run(call, list);
    expect_near(read(list), expected, 5e-6);
  }
}

}  // namespace
}  // namespace rehearse::calibration
