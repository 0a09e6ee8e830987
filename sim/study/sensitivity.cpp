#include "sim/study/sensitivity.hpp"

#include <algorithm>
#include <cmath>

#include "sim/step/step.hpp"
#include "sim/study/knobs.hpp"

namespace rehearse {

namespace {

CurvePoint point_at(const Scenario& scenario, Knob knob, double factor, Engine engine) {
  CurvePoint point;
  point.factor = factor;
  try {
    Scenario changed = scenario;
    if (factor != 1) knob(changed, factor);
    const Report report = simulate(resolve(std::move(changed)), {.engine = engine, .links = false}).report;
    point.step_time_s = report.step_time_s;
    point.tokens_per_s_per_gpu = report.tokens_per_s_per_gpu;
    point.peak_bytes = report.memory.peak_bytes;
    point.fits = report.memory.fits;
  } catch (const InputErrors& found) {
    point.refused = found.errors.front().code;
    point.why = found.errors.front().message;
  }
  return point;
}

bool ran(const CurvePoint& point) { return point.refused.empty(); }

double swing_of(const std::vector<CurvePoint>& points) {
  const auto first = std::find_if(points.begin(), points.end(), ran);
  const auto last = std::find_if(points.rbegin(), points.rend(), ran);
  if (first == points.end()) return 0;
  return last->tokens_per_s_per_gpu / first->tokens_per_s_per_gpu - 1;
}

std::optional<double> elasticity_of(const std::vector<CurvePoint>& points) {
  for (size_t i = 1; i + 1 < points.size(); ++i) {
    if (points[i].factor != 1) continue;
    const CurvePoint &below = points[i - 1], &above = points[i + 1];
    if (!ran(below) || !ran(above)) return {};
    return std::log(above.step_time_s / below.step_time_s) / std::log(above.factor / below.factor);
  }
  return {};
}

// Between two factors at which the layouts rank otherwise.
double crossing(const Scenario& a, const Scenario& b, Knob knob, Engine engine, double low, double high,
                bool a_ahead_at_low) {
  while (high / low > 1.001) {
    const double middle = std::sqrt(low * high);
    const auto at_a = point_at(a, knob, middle, engine), at_b = point_at(b, knob, middle, engine);
    if (!ran(at_a) || !ran(at_b)) break;  // a count that is not whole there
    ((at_a.step_time_s < at_b.step_time_s) == a_ahead_at_low ? low : high) = middle;
  }
  return high;
}

std::vector<double> break_even(const Curve& curve, const Scenario& scenario, const Scenario& other, Knob knob,
                               Engine engine) {
  std::vector<double> factors;
  std::optional<bool> ahead;
  double before = 0;
  for (const auto& point : curve.points) {
    const auto theirs = ran(point) ? point_at(other, knob, point.factor, engine) : point;
    if (!ran(theirs)) {
      ahead.reset();
      continue;
    }
    const bool now = point.step_time_s < theirs.step_time_s;
    if (ahead && *ahead != now)
      factors.push_back(crossing(scenario, other, knob, engine, before, point.factor, *ahead));
    ahead = now;
    before = point.factor;
  }
  return factors;
}

}  // namespace

std::vector<Curve> sensitivity(const Scenario& scenario, const std::vector<double>& factors, Engine engine,
                               const Scenario* other) {
  std::vector<Curve> curves;
  for (const auto& knob : knob_table()) {
    Curve curve;
    curve.knob = knob.name;
    for (const double factor : factors)
      curve.points.push_back(point_at(scenario, knob.value, factor, engine));
    curve.swing = swing_of(curve.points);
    curve.elasticity = elasticity_of(curve.points);
    if (other) curve.break_even = break_even(curve, scenario, *other, knob.value, engine);
    curves.push_back(std::move(curve));
  }
  std::stable_sort(curves.begin(), curves.end(),
                   [](const Curve& a, const Curve& b) { return std::abs(a.swing) > std::abs(b.swing); });
  return curves;
}

}  // namespace rehearse
