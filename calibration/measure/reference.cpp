#include "calibration/measure/reference.hpp"

#include <cmath>
#include <set>

#include "calibration/work/rounding.hpp"
#include "calibration/work/values.hpp"

namespace rehearse::calibration {

double content_at(const OperandSpec& spec, int64_t element) {
  const auto index = uint64_t(element);
  switch (spec.content) {
    case Content::normal:
      return round_to(spec.dtype, value_at(spec.seed, index) * spec.scale);
    case Content::mask:
      return mask_at(spec.seed, index);
    case Content::tokens:
      return token_at(spec.seed, index, spec.bound);
    case Content::zero:
      break;
  }
  return 0;
}

void Reference::expect(size_t operand, int64_t element, double value, double magnitude) {
  constexpr double least = 1e-7;  // half of fp16's least subnormal number is 3e-8
  const double rounding = 2 * unit_roundoff(operands_[operand].dtype) * std::fabs(value);
  expect_within(operand, element, value, rounding + 0x1p-14 * std::fabs(magnitude) + least);
}

std::vector<int64_t> sampled(int64_t count, int wanted, uint64_t seed) {
  std::set<int64_t> chosen;
  if (count > 0) chosen = {0, count - 1};
  for (uint64_t i = 0; int64_t(chosen.size()) < std::min<int64_t>(wanted, count); ++i)
    chosen.insert(int64_t(mixed(seed, i) % uint64_t(count)));
  return {chosen.begin(), chosen.end()};
}

}  // namespace rehearse::calibration
