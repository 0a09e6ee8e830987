#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/study/sensitivity.hpp"

namespace rehearse {

using OrderedJson = nlohmann::ordered_json;

namespace {

void add_points(const Curve& curve, OrderedJson& points) {
  for (const auto& point : curve.points) {
    OrderedJson entry = {{"knob", curve.knob}, {"factor", point.factor}};
    if (!point.refused.empty()) {
      entry["refused"] = point.refused;
      entry["why"] = point.why;
    } else {
      entry["step_time_s"] = point.step_time_s;
      entry["tokens_per_s_per_gpu"] = point.tokens_per_s_per_gpu;
      entry["peak_bytes"] = point.peak_bytes;
      entry["fits"] = point.fits;
    }
    points.push_back(std::move(entry));
  }
}

OrderedJson summary_of(const Curve& curve) {
  OrderedJson entry = {{"knob", curve.knob}, {"swing", curve.swing}};
  entry["elasticity"] = curve.elasticity ? OrderedJson(*curve.elasticity) : OrderedJson();
  entry["break_even"] = curve.break_even;
  return entry;
}

// A bar of the swing, left of the middle where a larger factor makes it slower.
std::string bar(double swing, double widest, TableStyle style) {
  constexpr int half = 12;
  const int cells = widest > 0 ? int(std::lround(std::abs(swing) / widest * half)) : 0;
  std::string row;
  for (int i = -half; i <= half; ++i) {
    const bool inside = i != 0 && (swing < 0 ? i < 0 && -i <= cells : i > 0 && i <= cells);
    row += i == 0 ? (style.unicode ? "│" : "|") : inside ? (style.unicode ? "█" : "#") : " ";
  }
  return row;
}

std::string cell(const CurvePoint& point) {
  if (!point.refused.empty()) return "refused";
  return fmt::format("{:.4g}{}", point.step_time_s, point.fits ? "" : "*");
}

}  // namespace

std::string to_sensitivity_json(const std::string& name, const std::vector<Curve>& curves) {
  OrderedJson points = OrderedJson::array(), knobs = OrderedJson::array();
  for (const auto& curve : curves) {
    add_points(curve, points);
    knobs.push_back(summary_of(curve));
  }
  const OrderedJson json{
      {"schema", 1}, {"name", name}, {"sensitivity", std::move(points)}, {"knobs", std::move(knobs)}};
  return json.dump(2) + "\n";
}

std::string to_sensitivity_table(const std::vector<Curve>& curves, TableStyle style) {
  std::string text =
      "step in s, by factor on one quantity; swing: of tokens/s/GPU from the lowest to the highest\n\n";
  double widest = 0;
  bool crosses = false, unfit = false;
  for (const auto& curve : curves) {
    widest = std::max(widest, std::abs(curve.swing));
    crosses = crosses || !curve.break_even.empty();
  }
  text += fmt::format("  {:<9}", "");
  for (const auto& point : curves.front().points)
    text += fmt::format(" {:>8}", fmt::format("x{:g}", point.factor));
  text += fmt::format(" {:>9} {:>9}  {:<25}{}\n", "swing", "d ln/d ln", "slower   larger   faster",
                      crosses ? "  break-even" : "");
  for (const auto& curve : curves) {
    text += fmt::format("  {:<9}", curve.knob);
    for (const auto& point : curve.points) {
      text += fmt::format(" {:>8}", cell(point));
      unfit = unfit || (point.refused.empty() && !point.fits);
    }
    text += fmt::format(" {:>+8.1f} % {:>8}  {}", 100 * curve.swing,
                        curve.elasticity ? fmt::format("{:+.3f}", *curve.elasticity) : "-",
                        bar(curve.swing, widest, style));
    for (const double factor : curve.break_even) text += fmt::format("  x{:.3g}", factor);
    text += '\n';
  }
  if (unfit) text += "\n* does not fit in memory\n";
  for (const auto& curve : curves)
    for (const auto& point : curve.points)
      if (!point.refused.empty())
        text += fmt::format("{} x{:g}: {} [{}]\n", curve.knob, point.factor, point.why, point.refused);
  return text;
}

}  // namespace rehearse
