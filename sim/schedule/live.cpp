#include <algorithm>

#include "sim/schedule/list_schedule.hpp"

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

double held_by(ActionKind kind, double weight_hold) {
  switch (kind) {
    case ActionKind::forward:
      return 1;
    case ActionKind::backward:
      return -1;
    case ActionKind::input_gradient:
      return weight_hold - 1;
    case ActionKind::weight_gradient:
      return -weight_hold;
  }
  return 0;
}

double peak_held(const Schedule& schedule, double weight_hold) {
  double peak = 0;
  for (const auto& order : schedule.stages) {
    double held = 0;
    for (const Action& a : order) peak = std::max(peak, held += held_by(a.kind, weight_hold));
  }
  return peak;
}

}  // namespace rehearse
