// What lists of figures are summed up by.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

namespace rehearse {

// `sorted` ascending and not empty; share 0..1, linear between order statistics (Hyndman and Fan's type 7).
inline double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * double(sorted.size() - 1);
  const auto below = size_t(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - double(below)) * (sorted[above] - sorted[below]);
}

}  // namespace rehearse
