#include <algorithm>

#include "sim/schedule/schedule.hpp"

namespace rehearse {

std::vector<int> peak_live(const Schedule& schedule) {
  std::vector<int> peaks;
  for (const auto& order : schedule.stages) {
    int live = 0, peak = 0;
    for (const Action& a : order) {
      if (a.kind == ActionKind::forward) peak = std::max(peak, ++live);
      if (a.kind == ActionKind::backward || a.kind == ActionKind::weight_gradient) --live;
    }
    peaks.push_back(peak);
  }
  return peaks;
}

}  // namespace rehearse
