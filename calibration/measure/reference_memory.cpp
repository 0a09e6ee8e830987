#include <algorithm>
#include <cmath>
#include <numeric>

#include "calibration/measure/reference.hpp"

namespace rehearse::calibration {
namespace {

using Row = std::vector<double>;
constexpr double kKeep = 0.9;
const double kRootTwoOverPi = std::sqrt(2 / M_PI);

// Rows and columns that are looked at, and values by (row, column).
struct Grid {
  const MemoryCall& call;
  Reference& reference;
  int64_t rows, width;
  double in(size_t operand, int64_t r, int64_t c) const { return reference.in(operand, r * width + c); }
  Row row(size_t operand, int64_t r) const {
    Row values;
    for (int64_t c = 0; c < width; ++c) values.push_back(in(operand, r, c));
    return values;
  }
  void expect(size_t operand, int64_t r, int64_t c, double value, double magnitude) const {
    reference.expect(operand, r * width + c, value, magnitude);
  }
  std::vector<int64_t> some_rows() const { return sampled(rows, 4, 11); }
  std::vector<int64_t> some_columns() const { return sampled(width, 16, 13); }
  template <class F>
  void each(F visit) const {
    for (int64_t r : some_rows())
      for (int64_t c : some_columns()) visit(r, c);
  }
};

struct Activation {
  double value, slope;
};
Activation gelu(double x) {
  const double t = std::tanh(kRootTwoOverPi * (x + 0.044715 * x * x * x));
  return {x * (1 + t) / 2, (1 + t + x * (1 - t * t) * kRootTwoOverPi * (1 + 3 * 0.044715 * x * x)) / 2};
}
Activation silu(double a) {
  const double s = 1 / (1 + std::exp(-a));
  return {a * s, s * (1 + a * (1 - s))};
}

void expect_elementwise(const Grid& g, int64_t r, int64_t c) {
  const auto in = [&](size_t operand) { return g.in(operand, r, c); };
  const auto expect = [&](size_t operand, double value, double magnitude) {
    g.expect(operand, r, c, value, magnitude);
  };
  switch (g.call.kernel) {
    case MemoryKernel::copy:
      return expect(1, in(0), 0);
    case MemoryKernel::add:
      return expect(2, in(0) + in(1), 0);
    case MemoryKernel::dropout:
    case MemoryKernel::dropout_backward:
      return expect(2, in(0) * in(1) / kKeep, std::fabs(in(0)));
    case MemoryKernel::dropout_add:
      return expect(3, in(0) + in(1) * in(2) / kKeep, std::fabs(in(0)) + std::fabs(in(1)));
    case MemoryKernel::gelu:
      return expect(1, gelu(in(0)).value, std::fabs(in(0)));
    case MemoryKernel::gelu_backward:
      return expect(2, gelu(in(0)).slope * in(1), 2 * std::fabs(in(1)));
    case MemoryKernel::swiglu:
      return expect(2, silu(in(0)).value * in(1), std::fabs(in(0) * in(1)));
    case MemoryKernel::swiglu_backward:
      expect(3, in(2) * in(1) * silu(in(0)).slope, 2 * std::fabs(in(1) * in(2)));
      return expect(4, in(2) * silu(in(0)).value, std::fabs(in(0) * in(2)));
    case MemoryKernel::accumulate:
      return expect(1, in(1) + in(0), std::fabs(in(0)) + std::fabs(in(1)));
    default:
      return;
  }
}

void expect_adam(const Grid& g, int64_t r, int64_t c) {
  const double gradient = g.in(0, r, c), master = g.in(1, r, c);
  const double first = 0.9 * g.in(2, r, c) + 0.1 * gradient;
  const double second = 0.95 * std::fabs(g.in(3, r, c)) + 0.05 * gradient * gradient;
  const double ratio = first / (std::sqrt(second) + 1e-8);
  const double updated = master - 1e-3 * (ratio + 0.1 * master);
  g.expect(1, r, c, updated, std::fabs(master) + std::fabs(1e-3 * ratio));
  g.expect(2, r, c, first, std::fabs(g.in(2, r, c)) + std::fabs(gradient));
  g.expect(3, r, c, second, second);
  g.expect(4, r, c, updated, std::fabs(master) + std::fabs(1e-3 * ratio));
}

double average(const Row& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
}

void expect_norm(const Grid& g) {
  for (int64_t r : g.some_rows()) {
    const Row x = g.row(0, r);
    const double mean = average(x);
    double variance = 0;
    for (double v : x) variance += (v - mean) * (v - mean) / double(x.size());
    const double rstd = 1 / std::sqrt(variance + 1e-5);
    g.reference.expect(4, r, mean, 1);
    g.reference.expect(5, r, rstd, rstd);
    for (int64_t c : g.some_columns()) {
      const double h = (x[size_t(c)] - mean) * rstd, gain = g.reference.in(1, c), bias = g.reference.in(2, c);
      g.expect(3, r, c, h * gain + bias,
               (std::fabs(x[size_t(c)]) + 1) * rstd * std::fabs(gain) + std::fabs(bias));
    }
  }
}

void expect_norm_backward(const Grid& g) {
  const auto& reference = g.reference;
  const auto normed = [&](int64_t r, int64_t c) {
    return (g.in(0, r, c) - reference.in(3, r)) * reference.in(4, r);
  };
  for (int64_t r : g.some_rows()) {
    const double rstd = reference.in(4, r);
    double mean_g = 0, mean_gh = 0, magnitude = 0;
    for (int64_t c = 0; c < g.width; ++c) {
      const double gc = g.in(1, r, c) * reference.in(2, c);
      mean_g += gc / double(g.width);
      mean_gh += gc * normed(r, c) / double(g.width);
      magnitude += std::fabs(gc * normed(r, c)) / double(g.width);
    }
    for (int64_t c : g.some_columns()) {
      const double gc = g.in(1, r, c) * reference.in(2, c), h = normed(r, c);
      g.expect(5, r, c, rstd * (gc - mean_g - h * mean_gh),
               std::fabs(rstd) * (std::fabs(gc) + 1 + std::fabs(h) * magnitude));
    }
  }
  for (int64_t c : sampled(g.width, 4, 17)) {
    double gain = 0, bias = 0, gain_magnitude = 0, bias_magnitude = 0;
    for (int64_t r = 0; r < g.rows; ++r) {
      const double dy = g.in(1, r, c), h = normed(r, c);
      gain += dy * h;
      bias += dy;
      gain_magnitude += std::fabs(dy * h);
      bias_magnitude += std::fabs(dy);
    }
    g.reference.expect(6, c, gain, gain_magnitude);
    g.reference.expect(7, c, bias, bias_magnitude);
  }
}

// Largest value and sum of exponentials of the first `count` columns.
struct Normaliser {
  double most = -HUGE_VAL, sum = 0;
  Normaliser(const Row& x, int64_t count) {
    for (int64_t c = 0; c < count; ++c) most = std::max(most, x[size_t(c)]);
    for (int64_t c = 0; c < count; ++c) sum += std::exp(x[size_t(c)] - most);
  }
  double share(double x) const { return std::exp(x - most) / sum; }
  double log() const { return most + std::log(sum); }
};

void expect_softmax(const Grid& g) {
  for (int64_t r : g.some_rows()) {
    const Row x = g.row(0, r);
    const int64_t kept = r % g.width + 1;
    const Normaliser all(x, kept);
    for (int64_t c : g.some_columns()) {
      const double y = c < kept ? all.share(x[size_t(c)]) : 0;
      g.expect(1, r, c, y, y);
    }
    const double y = all.share(x[size_t(r % g.width)]);  // the last that takes part
    g.expect(1, r, r % g.width, y, y);
  }
}

void expect_softmax_backward(const Grid& g) {
  for (int64_t r : g.some_rows()) {
    double sum = 0, magnitude = 0;
    for (int64_t c = 0; c < g.width; ++c) {
      sum += g.in(0, r, c) * g.in(1, r, c);
      magnitude += std::fabs(g.in(0, r, c) * g.in(1, r, c));
    }
    for (int64_t c : g.some_columns()) {
      const double y = g.in(0, r, c), dy = g.in(1, r, c);
      g.expect(2, r, c, y * (dy - sum), std::fabs(y) * (std::fabs(dy) + magnitude));
    }
  }
}

void expect_rope(const Grid& g) {
  const int64_t head = rope_head(g.width), positions = rope_positions(g.rows);
  for (int64_t r : g.some_rows())
    for (int64_t at : g.some_columns()) {
      const int64_t c = at / 2 * 2, angle = r % positions * (head / 2) + c % head / 2;
      const double x = g.in(0, r, c), y = g.in(0, r, c + 1);
      const double cosine = g.reference.in(1, angle), sine = g.reference.in(2, angle);
      g.expect(3, r, c, x * cosine - y * sine, std::fabs(x * cosine) + std::fabs(y * sine));
      g.expect(3, r, c + 1, x * sine + y * cosine, std::fabs(x * sine) + std::fabs(y * cosine));
    }
}

void expect_embedding(const Grid& g) {
  g.each([&](int64_t r, int64_t c) { g.expect(2, r, c, g.in(0, int64_t(g.reference.in(1, r)), c), 0); });
}

void expect_embedding_backward(const Grid& g) {
  for (int64_t at : g.some_rows()) {
    const double token = g.reference.in(0, at);
    const auto columns = g.some_columns();
    Row sums, magnitudes;
    for (int64_t c : columns) {
      sums.push_back(g.in(2, int64_t(token), c));
      magnitudes.push_back(std::fabs(sums.back()));
    }
    for (int64_t r = 0; r < g.rows; ++r) {
      if (g.reference.in(0, r) != token) continue;
      for (size_t i = 0; i < columns.size(); ++i) {
        sums[i] += g.in(1, r, columns[i]);
        magnitudes[i] += std::fabs(g.in(1, r, columns[i]));
      }
    }
    for (size_t i = 0; i < columns.size(); ++i)
      g.expect(2, int64_t(token), columns[i], sums[i], magnitudes[i]);
  }
}

void expect_cross_entropy(const Grid& g, bool backward) {
  for (int64_t r : g.some_rows()) {
    const Row x = g.row(0, r);
    const Normaliser all(x, g.width);
    const auto target = int64_t(g.reference.in(1, r));
    if (!backward) {
      g.reference.expect(2, r, all.log() - x[size_t(target)], std::fabs(all.log()) + 4);
      continue;
    }
    auto columns = g.some_columns();
    columns.push_back(target);
    for (int64_t c : columns) {
      const double y = all.share(x[size_t(c)]);
      g.expect(0, r, c, y - (c == target), y + (c == target));
    }
  }
}

// Of very long vectors the sum is known by its distribution: squares of the contents have mean 1 and
// variance 1.7 (Irwin-Hall of 4: kurtosis 2.7).
void expect_square_sum(const Grid& g) {
  constexpr int64_t longest = int64_t(1) << 22;
  const int64_t n = g.rows * g.width;
  if (n > longest) {
    g.reference.expect_within(1, 0, double(n), 6 * std::sqrt(1.7 * double(n)) + 1e-3 * double(n));
    return;
  }
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += g.reference.in(0, i) * g.reference.in(0, i);
  g.reference.expect_within(1, 0, sum, 1e-3 * sum);
}

}  // namespace

void expect_memory(const MemoryCall& call, Reference& reference) {
  const Grid g{call, reference, int64_t(call.shape.rows), int64_t(call.shape.width)};
  switch (call.kernel) {
    case MemoryKernel::norm:
      return expect_norm(g);
    case MemoryKernel::norm_backward:
      return expect_norm_backward(g);
    case MemoryKernel::softmax:
      return expect_softmax(g);
    case MemoryKernel::softmax_backward:
      return expect_softmax_backward(g);
    case MemoryKernel::rope:
      return expect_rope(g);
    case MemoryKernel::embedding:
      return expect_embedding(g);
    case MemoryKernel::embedding_backward:
      return expect_embedding_backward(g);
    case MemoryKernel::cross_entropy:
      return expect_cross_entropy(g, false);
    case MemoryKernel::cross_entropy_backward:
      return expect_cross_entropy(g, true);
    case MemoryKernel::square_sum:
      return expect_square_sum(g);
    case MemoryKernel::adam:
      return g.each([&](int64_t r, int64_t c) { expect_adam(g, r, c); });
    default:
      return g.each([&](int64_t r, int64_t c) { expect_elementwise(g, r, c); });
  }
}

}  // namespace rehearse::calibration
