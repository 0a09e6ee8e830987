#include <cmath>

#include "calibration/measure/reference.hpp"
#include "calibration/work/rounding.hpp"

namespace rehearse::calibration {
namespace {

// What accumulation may lose of the sum of absolute products: fp32 adds, the truncating adders of tensor
// cores, the 14-bit ones of fp8 on Hopper.
double accumulation_loss(DType type) {
  return type == DType::fp32 ? 0x1p-21 : type == DType::fp8 ? 0x1p-12 : 0x1p-17;
}

}  // namespace

void expect_gemm(const GemmCall& call, Reference& reference) {
  const auto m = int64_t(call.shape.m), n = int64_t(call.shape.n), k = int64_t(call.shape.k);
  const auto count = m * n * int64_t(call.shape.batch);
  const bool a_by_k = call.role == GemmRole::weight_gradient, b_by_n = call.role == GemmRole::forward;
  const double rounding = 2 * unit_roundoff(reference.operands()[2].dtype);
  for (int64_t element : sampled(count, 32, 1)) {
    const int64_t matrix = element / (m * n), i = element / n % m, j = element % n;
    double sum = call.accumulate ? reference.in(2, element) : 0, magnitude = std::fabs(sum);
    for (int64_t p = 0; p < k; ++p) {
      const double a = reference.in(0, matrix * m * k + (a_by_k ? p * m + i : i * k + p));
      const double b = reference.in(1, matrix * k * n + (b_by_n ? j * k + p : p * n + j));
      sum += a * b;
      magnitude += std::fabs(a * b);
    }
    reference.expect_within(2, element, sum,
                            rounding * std::fabs(sum) + accumulation_loss(call.dtype) * magnitude + 1e-7);
  }
}

}  // namespace rehearse::calibration
