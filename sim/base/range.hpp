// What a number may be.
#pragma once
#include <limits>

namespace rehearse {

struct NumberRange {
  double min = -std::numeric_limits<double>::max(), max = std::numeric_limits<double>::max();
  bool above = false;  // min itself is excluded
};
inline constexpr NumberRange kPositive{0, std::numeric_limits<double>::max(), true};
inline constexpr NumberRange kNotNegative{0, std::numeric_limits<double>::max(), false};
inline constexpr NumberRange kFraction{0, 1, true};  // (0, 1]

}  // namespace rehearse
