// The k nearest of a set of candidates, and what a quantity is at the point asked for: its mean over them
// weighted by 1 / distance, or a plane through them.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace rehearse {

template <class T, int K = 6>
class Nearest {
 public:
  // Squared distance beyond which a candidate has no part; infinite until K are found.
  double worst() const {
    return count_ == K ? found_[K - 1].squared : std::numeric_limits<double>::infinity();
  }
  double nearest() const {
    return count_ ? std::sqrt(found_[0].squared) : std::numeric_limits<double>::infinity();
  }

  // Of equally distant candidates the one offered first stays.
  void offer(double squared, T what) {
    if (squared >= worst()) return;
    int i = count_ < K ? count_++ : K - 1;
    for (; i > 0 && found_[i - 1].squared > squared; --i) found_[i] = found_[i - 1];
    found_[i] = {squared, what};
  }

  template <class F>
  bool any(F f) const {
    return std::any_of(found_.begin(), found_.begin() + count_, [&](const Found& c) { return f(c.what); });
  }

  // Sum of f(candidate) / distance over sum of 1 / distance; a distance is taken as 1e-6 at least.
  template <class F>
  double interpolate(F f) const {
    double sum = 0, weights = 0;
    for (int i = 0; i < count_; ++i) {
      const double weight = 1 / std::sqrt(std::max(found_[i].squared, 1e-12));
      sum += weight * f(found_[i].what);
      weights += weight;
    }
    return sum / weights;
  }

  // f(candidate) is {value, offset from the point asked for}. The plane through the values at offset 0, by
  // least squares with the same weights; its slopes are drawn to 0 by `ridge` times the mean spread, and the
  // value stays within `margin` of those of the candidates.
  template <size_t N, class F>
  double plane(F f, double ridge, double margin) const {
    std::array<double, N> mean{}, slope{};
    std::array<std::array<double, N + 1>, N> normal{};  // the last column: right side
    double value = 0, weights = 0, spread = 0;
    double least = std::numeric_limits<double>::infinity(), most = -least;
    const auto each = [&](auto use) {
      for (int i = 0; i < count_; ++i)
        use(1 / std::sqrt(std::max(found_[i].squared, 1e-12)), f(found_[i].what));
    };
    each([&](double weight, const auto& at) {
      weights += weight;
      value += weight * at.first;
      least = std::min(least, at.first), most = std::max(most, at.first);
      for (size_t i = 0; i < N; ++i) mean[i] += weight * at.second[i];
    });
    value /= weights;
    for (auto& m : mean) m /= weights;
    each([&](double weight, const auto& at) {
      for (size_t i = 0; i < N; ++i) {
        const double offset = weight / weights * (at.second[i] - mean[i]);
        for (size_t j = 0; j < N; ++j) normal[i][j] += offset * (at.second[j] - mean[j]);
        normal[i][N] += offset * (at.first - value);
      }
    });
    for (size_t i = 0; i < N; ++i) spread += normal[i][i] / N;
    for (size_t i = 0; i < N; ++i) normal[i][i] += ridge * spread + 1e-9;
    solve<N>(normal, slope);
    for (size_t i = 0; i < N; ++i) value -= slope[i] * mean[i];
    return std::clamp(value, least - margin, most + margin);
  }

 private:
  // Gauss-Jordan; the matrix is positive definite.
  template <size_t N>
  static void solve(std::array<std::array<double, N + 1>, N>& m, std::array<double, N>& x) {
    for (size_t i = 0; i < N; ++i)
      for (size_t k = 0; k < N; ++k) {
        const double factor = k == i ? 0 : m[k][i] / m[i][i];
        for (size_t j = i; j <= N && factor != 0; ++j) m[k][j] -= factor * m[i][j];
      }
    for (size_t i = 0; i < N; ++i) x[i] = m[i][N] / m[i][i];
  }

  struct Found {
    double squared;
    T what;
  };
  std::array<Found, K> found_{};
  int count_ = 0;
};

}  // namespace rehearse
