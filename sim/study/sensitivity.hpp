// How a scenario's step follows single quantities, and where another layout overtakes it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/spec/scenario.hpp"
#include "sim/view/text.hpp"

namespace rehearse {

struct CurvePoint {
  double factor = 1;
  double step_time_s = 0, tokens_per_s_per_gpu = 0, peak_bytes = 0;
  bool fits = false;
  std::string refused, why;  // code and message; empty where it ran
};
struct Curve {
  std::string knob;
  std::vector<CurvePoint> points;  // by ascending factor
  // Relative change of tokens/s/GPU from the lowest to the highest factor that ran; 0 where fewer than two
  // ran.
  double swing = 0;
  // d ln(step) / d ln(factor) at 1, from the factors next to it; nothing where one of them did not run.
  std::optional<double> elasticity;
  // Factors from which the other layout's step is shorter, or longer, than this one's, ascending.
  std::vector<double> break_even;
};

// Curves of all knobs over the factors, which hold 1; the widest swing first. With `other`, break-even points
// between the two scenarios, to 0.1 % of the factor where it may be any number.
std::vector<Curve> sensitivity(const Scenario& scenario, const std::vector<double>& factors, Engine engine,
                               const Scenario* other = nullptr);

// {schema, name, sensitivity: [{knob, factor, step_time_s, tokens_per_s_per_gpu, peak_bytes, fits} or {knob,
// factor, refused, why}], knobs: [{knob, swing, elasticity, break_even}]}.
std::string to_sensitivity_json(const std::string& name, const std::vector<Curve>& curves);
std::string to_sensitivity_table(const std::vector<Curve>& curves, TableStyle style);

}  // namespace rehearse
