// The k nearest of a set of candidates, and the mean of a quantity over them weighted by 1 / distance.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

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

 private:
  struct Found {
    double squared;
    T what;
  };
  std::array<Found, K> found_{};
  int count_ = 0;
};

}  // namespace rehearse
