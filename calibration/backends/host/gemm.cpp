#include <cblas.h>

#include <cstdint>

#include "calibration/backends/host/kernels.hpp"

namespace rehearse::calibration::host {

void run_gemm(const GemmCall& call, Tensors operands) {
  const auto m = blasint(call.shape.m), n = blasint(call.shape.n), k = blasint(call.shape.k);
  const bool a_transposed = call.role == GemmRole::weight_gradient;
  const bool b_transposed = call.role == GemmRole::forward;
  const float beta = call.accumulate ? 1.0f : 0.0f;
  const float *a = floats(operands[0]), *b = floats(operands[1]);
  float* c = floats(operands[2]);
  for (auto left = int64_t(call.shape.batch); left > 0; --left) {
    cblas_sgemm(CblasRowMajor, a_transposed ? CblasTrans : CblasNoTrans,
                b_transposed ? CblasTrans : CblasNoTrans, m, n, k, 1.0f, a, a_transposed ? m : k, b,
                b_transposed ? k : n, beta, c, n);
    a += int64_t(m) * k;
    b += int64_t(k) * n;
    c += int64_t(m) * n;
  }
}

}  // namespace rehearse::calibration::host
