#include "sim/cost/size_curve.hpp"

#include <algorithm>
#include <cmath>

namespace rehearse {

CurveValue size_curve(const CollectiveTable& table, double bytes) {
  const auto& x = table.bytes;
  const auto& y = table.seconds;
  const auto at = std::lower_bound(x.begin(), x.end(), bytes);
  if (at != x.end()) {
    const auto i = static_cast<size_t>(at - x.begin());
    if (x[i] == bytes) return {y[i], table.basis, false};
    if (i == 0) return {y[0], Basis::fitted, bytes < x[0] / 4};
    const double share = (bytes - x[i - 1]) / (x[i] - x[i - 1]);
    return {y[i - 1] + share * (y[i] - y[i - 1]), Basis::fitted, false};
  }
  const double last = x.back();
  double slope = y.back() / last;  // a table of one size knows no latency
  if (x.size() > 1) {
    const auto from = std::upper_bound(x.begin(), x.end() - 1, last / 4 * (1 - 1e-12));
    const auto i = static_cast<size_t>((from == x.end() - 1 ? x.end() - 2 : from) - x.begin());
    slope = std::max(0.0, (y.back() - y[i]) / (last - x[i]));
  }
  return {y.back() + slope * (bytes - last), Basis::fitted, bytes > 4 * last};
}

static bool reaches_down_to(const CollectiveTable& table, double bytes) {
  return table.bytes.front() <= std::max(bytes, 8192.0);
}

bool covers(const std::vector<const CollectiveTable*>& tables, double bytes) {
  return std::any_of(tables.begin(), tables.end(),
                     [&](const auto* table) { return reaches_down_to(*table, bytes); });
}

CurveValue chained_curve(const std::vector<const CollectiveTable*>& tables, double bytes) {
  const CollectiveTable* current = tables.front();
  double scale = 1;
  if (!reaches_down_to(*current, bytes)) {
    const auto lower = std::find_if(tables.begin(), tables.end(),
                                    [&](const auto* table) { return reaches_down_to(*table, bytes); });
    if (lower != tables.end()) {
      const double start = current->bytes.front();
      const double low = size_curve(**lower, start).seconds;
      CurveValue value = size_curve(**lower, bytes);
      return {value.seconds * size_curve(*current, start).seconds / low, Basis::fitted, value.outside};
    }
  }
  for (const CollectiveTable* next : tables) {
    const double end = current->bytes.back();
    if (bytes <= end) break;
    if (next->bytes.back() <= end || next->bytes.front() > end) continue;
    scale *= size_curve(*current, end).seconds / size_curve(*next, end).seconds;
    current = next;
  }
  CurveValue value = size_curve(*current, bytes);
  value.seconds *= scale;
  if (scale != 1) value.basis = Basis::fitted;
  return value;
}

}  // namespace rehearse
