// Every memory-bound kernel of the host backend against the formulas of calibration/work/operands.hpp in
// double precision, written out once more, plainly.
#include <gtest/gtest.h>

#include "tests/calibration/host_fixture.hpp"

namespace rehearse::calibration {
namespace {

using std::size_t;

struct Extent {
  size_t r, w;
};
using Formula = void (*)(Values& x, Extent s);

double gelu_tanh(double x) { return std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)); }
double logistic(double x) { return 1 / (1 + std::exp(-x)); }

template <class F>
void each(Extent s, F f) {
  for (size_t i = 0; i < s.r * s.w; ++i) f(i);
}

void copied(Values& x, Extent) { x[1] = x[0]; }
void added(Values& x, Extent s) {
  each(s, [&](size_t i) { x[2][i] = x[0][i] + x[1][i]; });
}
void dropped(Values& x, Extent s) {
  each(s, [&](size_t i) { x[2][i] = x[0][i] * x[1][i] / 0.9; });
}
void dropped_added(Values& x, Extent s) {
  each(s, [&](size_t i) { x[3][i] = x[0][i] + x[1][i] * x[2][i] / 0.9; });
}
void gelu(Values& x, Extent s) {
  each(s, [&](size_t i) { x[1][i] = x[0][i] * (1 + gelu_tanh(x[0][i])) / 2; });
}
void gelu_backward(Values& x, Extent s) {
  each(s, [&](size_t i) {
    const double v = x[0][i], t = gelu_tanh(v);
    x[2][i] = x[1][i] * (1 + t + v * (1 - t * t) * std::sqrt(2 / M_PI) * (1 + 3 * 0.044715 * v * v)) / 2;
  });
}
void swiglu(Values& x, Extent s) {
  each(s, [&](size_t i) { x[2][i] = x[0][i] * logistic(x[0][i]) * x[1][i]; });
}
void swiglu_backward(Values& x, Extent s) {
  each(s, [&](size_t i) {
    const double a = x[0][i], l = logistic(a);
    x[3][i] = x[2][i] * x[1][i] * l * (1 + a * (1 - l));
    x[4][i] = x[2][i] * a * l;
  });
}
void accumulated(Values& x, Extent s) {
  each(s, [&](size_t i) { x[1][i] += x[0][i]; });
}
void squared(Values& x, Extent s) {
  x[1][0] = 0;
  each(s, [&](size_t i) { x[1][0] += x[0][i] * x[0][i]; });
}
void adam(Values& x, Extent s) {
  each(s, [&](size_t i) {
    const double g = x[0][i];
    x[2][i] = 0.9 * x[2][i] + 0.1 * g;
    x[3][i] = 0.95 * std::abs(x[3][i]) + 0.05 * g * g;
    x[1][i] -= 1e-3 * (x[2][i] / (std::sqrt(x[3][i]) + 1e-8) + 0.1 * x[1][i]);
    x[4][i] = x[1][i];
  });
}

void norm(Values& x, Extent s) {
  for (size_t r = 0; r < s.r; ++r) {
    const double* in = &x[0][r * s.w];
    double mean = 0, variance = 0;
    for (size_t c = 0; c < s.w; ++c) mean += in[c] / double(s.w);
    for (size_t c = 0; c < s.w; ++c) variance += (in[c] - mean) * (in[c] - mean) / double(s.w);
    x[4][r] = mean;
    x[5][r] = 1 / std::sqrt(variance + 1e-5);
    for (size_t c = 0; c < s.w; ++c) x[3][r * s.w + c] = (in[c] - mean) * x[5][r] * x[1][c] + x[2][c];
  }
}
void norm_backward(Values& x, Extent s) {
  x[6].assign(s.w, 0);
  x[7].assign(s.w, 0);
  for (size_t r = 0; r < s.r; ++r) {
    double g_mean = 0, gh_mean = 0;
    const auto h = [&](size_t c) { return (x[0][r * s.w + c] - x[3][r]) * x[4][r]; };
    for (size_t c = 0; c < s.w; ++c) {
      const double dy = x[1][r * s.w + c];
      g_mean += dy * x[2][c] / double(s.w);
      gh_mean += dy * x[2][c] * h(c) / double(s.w);
      x[6][c] += dy * h(c);
      x[7][c] += dy;
    }
    for (size_t c = 0; c < s.w; ++c)
      x[5][r * s.w + c] = x[4][r] * (x[1][r * s.w + c] * x[2][c] - g_mean - h(c) * gh_mean);
  }
}
void softmax(Values& x, Extent s) {
  for (size_t r = 0; r < s.r; ++r) {
    double sum = 0;
    for (size_t c = 0; c <= r % s.w; ++c) sum += std::exp(x[0][r * s.w + c]);
    for (size_t c = 0; c < s.w; ++c) x[1][r * s.w + c] = c <= r % s.w ? std::exp(x[0][r * s.w + c]) / sum : 0;
  }
}
void softmax_backward(Values& x, Extent s) {
  for (size_t r = 0; r < s.r; ++r) {
    double sum = 0;
    for (size_t i = r * s.w; i < (r + 1) * s.w; ++i) sum += x[0][i] * x[1][i];
    for (size_t i = r * s.w; i < (r + 1) * s.w; ++i) x[2][i] = x[0][i] * (x[1][i] - sum);
  }
}
double exponential_sum(const std::vector<double>& logits, size_t first, size_t w) {
  double sum = 0;
  for (size_t i = first; i < first + w; ++i) sum += std::exp(logits[i]);
  return sum;
}
void cross_entropy(Values& x, Extent s) {
  for (size_t r = 0; r < s.r; ++r)
    x[2][r] = std::log(exponential_sum(x[0], r * s.w, s.w)) - x[0][r * s.w + size_t(x[1][r])];
}
void cross_entropy_backward(Values& x, Extent s) {
  for (size_t r = 0; r < s.r; ++r) {
    const double sum = exponential_sum(x[0], r * s.w, s.w);
    for (size_t c = 0; c < s.w; ++c)
      x[0][r * s.w + c] = std::exp(x[0][r * s.w + c]) / sum - (size_t(x[1][r]) == c ? 1 : 0);
  }
}
void rope(Values& x, Extent s) {
  const auto head = size_t(rope_head(int64_t(s.w))), positions = size_t(rope_positions(int64_t(s.r)));
  each(s, [&](size_t i) {
    if (i % 2) return;
    const size_t angle = i / s.w % positions * (head / 2) + i % s.w % head / 2;
    const double cosine = x[1][angle], sine = x[2][angle];
    x[3][i] = x[0][i] * cosine - x[0][i + 1] * sine;
    x[3][i + 1] = x[0][i] * sine + x[0][i + 1] * cosine;
  });
}
void embedding(Values& x, Extent s) {
  each(s, [&](size_t i) { x[2][i] = x[0][size_t(x[1][i / s.w]) * s.w + i % s.w]; });
}
void embedding_backward(Values& x, Extent s) {
  each(s, [&](size_t i) { x[2][size_t(x[0][i / s.w]) * s.w + i % s.w] += x[1][i]; });
}

const std::pair<MemoryKernel, Formula> kFormulas[] = {
    {MemoryKernel::copy, copied},
    {MemoryKernel::add, added},
    {MemoryKernel::norm, norm},
    {MemoryKernel::norm_backward, norm_backward},
    {MemoryKernel::softmax, softmax},
    {MemoryKernel::softmax_backward, softmax_backward},
    {MemoryKernel::dropout, dropped},
    {MemoryKernel::dropout_backward, dropped},
    {MemoryKernel::dropout_add, dropped_added},
    {MemoryKernel::gelu, gelu},
    {MemoryKernel::gelu_backward, gelu_backward},
    {MemoryKernel::swiglu, swiglu},
    {MemoryKernel::swiglu_backward, swiglu_backward},
    {MemoryKernel::rope, rope},
    {MemoryKernel::embedding, embedding},
    {MemoryKernel::embedding_backward, embedding_backward},
    {MemoryKernel::cross_entropy, cross_entropy},
    {MemoryKernel::cross_entropy_backward, cross_entropy_backward},
    {MemoryKernel::accumulate, accumulated},
    {MemoryKernel::square_sum, squared},
    {MemoryKernel::adam, adam},
};

using HostMemory = HostTest;

TEST_F(HostMemory, EveryKernelIsItsFormula) {
  ASSERT_EQ(std::size(kFormulas), size_t(kMemoryKernelCount));
  for (const auto& [kernel, formula] : kFormulas)
    for (const Extent s : {Extent{1, 1}, Extent{1, 2}, Extent{3, 1}, Extent{5, 6}, Extent{7, 33},
                           Extent{37, 34}, Extent{9, 256}}) {
      const Work work = MemoryCall{DType::fp32, kernel, {double(s.r), double(s.w)}};
      if (backend_->refuses(work)) continue;
      SCOPED_TRACE(std::string(name_of(kernel)) + " of " + std::to_string(s.r) + " x " + std::to_string(s.w));
      const Operands list = operands(work);
      soil(list);
      Values expected = read(list);
      formula(expected, s);
      run(work, list);
      // A norm of one column divides rounding by sqrt(1e-5); a sum of 256 rounds as often.
      expect_near(read(list), expected, 3e-6);
    }
}

// The exponential is clamped below; what lies there is nothing beside the largest term.
TEST_F(HostMemory, LargeLogitsDoNotOverflow) {
  const Work work = MemoryCall{DType::fp32, MemoryKernel::cross_entropy, {2, 5}};
  const Operands list = operands(work);
  auto* logits = static_cast<float*>(list[0].data);
  for (int i = 0; i < 10; ++i) logits[i] = i < 5 ? 1000.0f * float(i) : -1000.0f * float(i);
  Values expected = read(list);
  const auto target = [&](size_t r) { return expected[1][r]; };
  run(work, list);
  const auto loss = backend_->read(list[2], 0, 2);
  EXPECT_NEAR(loss[0], 4000 - 1000 * target(0), 1e-3);
  EXPECT_NEAR(loss[1], -5000 + 1000 * (5 + target(1)), 1e-3);
}

TEST_F(HostMemory, SumsOfMillionsKeepTheirDigits) {
  const Work work = MemoryCall{DType::fp32, MemoryKernel::square_sum, {1024, 2049}};
  const Operands list = operands(work);
  Values expected = read(list);
  squared(expected, {1024, 2049});
  run(work, list);
  expect_near(read(list), expected, 1e-6);
}

}  // namespace
}  // namespace rehearse::calibration
