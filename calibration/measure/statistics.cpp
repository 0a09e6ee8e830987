#include "sim/base/statistics.hpp"

#include <algorithm>
#include <cmath>

#include "calibration/measure/measure.hpp"

namespace rehearse::calibration {

Quantiles quantiles(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  Quantiles q{quantile(values, 0.5), 0, quantile(values, 0.1), quantile(values, 0.9), int(values.size())};
  for (double& v : values) v = std::fabs(v - q.median);
  std::sort(values.begin(), values.end());
  q.mad = quantile(values, 0.5);
  return q;
}

double median_of(std::vector<double> values) { return quantiles(std::move(values)).median; }

std::pair<double, double> median_interval(std::vector<double> values) {
  if (values.empty()) return {0, 0};
  std::sort(values.begin(), values.end());
  // Rank l so that at most 2.5 % of samples have fewer than l values below the median.
  const auto n = double(values.size());
  double below = 0;
  size_t l = 0;
  while (l < values.size() / 2) {
    const auto k = double(l);
    below += std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) - n * std::log(2));
    if (below > 0.025) break;
    ++l;
  }
  const size_t rank = std::max<size_t>(l, 1) - 1;
  return {values[rank], values[values.size() - 1 - rank]};
}

}  // namespace rehearse::calibration
