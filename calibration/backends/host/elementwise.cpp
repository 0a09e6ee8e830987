#include <algorithm>
#include <cmath>
#include <cstring>

#include "calibration/backends/host/memory.hpp"
#include "calibration/backends/host/simd.hpp"

namespace rehearse::calibration::host {
namespace {

constexpr float kInverseKeep = 1 / 0.9f;
constexpr float kGeluInner = 0.7978845608028654f;  // sqrt(2 / pi)
constexpr float kGeluCubic = 0.044715f;

// tanh form: x (1 + tanh u) / 2 = x / (1 + e^-2u)
[[gnu::always_inline]] inline float gelu_gate(float x) {
  return sigmoid(2 * kGeluInner * (x + kGeluCubic * x * x * x));
}

REHEARSE_CLONES void add_loop(const float* a, const float* b, float* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = a[i] + b[i];
}

REHEARSE_CLONES void dropout_loop(const float* x, const uint8_t* mask, float* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * float(mask[i]) * kInverseKeep;
}

REHEARSE_CLONES void dropout_add_loop(const float* residual, const float* x, const uint8_t* mask, float* y,
                                      int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = residual[i] + x[i] * float(mask[i]) * kInverseKeep;
}

REHEARSE_CLONES void gelu_loop(const float* x, float* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * gelu_gate(x[i]);
}

REHEARSE_CLONES void gelu_backward_loop(const float* x, const float* dy, float* dx, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float gate = gelu_gate(x[i]);
    const float slope = 2 * kGeluInner * (1 + 3 * kGeluCubic * x[i] * x[i]);
    dx[i] = dy[i] * (gate + x[i] * gate * (1 - gate) * slope);
  }
}

REHEARSE_CLONES void swiglu_loop(const float* a, const float* b, float* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = a[i] * sigmoid(a[i]) * b[i];
}

REHEARSE_CLONES void swiglu_backward_loop(const float* a, const float* b, const float* dy, float* da,
                                          float* db, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float s = sigmoid(a[i]), out = dy[i];
    da[i] = out * b[i] * s * (1 + a[i] * (1 - s));
    db[i] = out * a[i] * s;
  }
}

REHEARSE_CLONES void accumulate_loop(const float* gradient, float* sum, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) sum[i] += gradient[i];
}

// One block in single precision.
REHEARSE_CLONES float square_sum_loop(const float* x, int64_t n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += x[i] * x[i];
  return sum;
}

REHEARSE_CLONES void adam_loop(const float* gradient, float* master, float* first, float* second,
                               float* weights, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float g = gradient[i];
    const float m = 0.9f * first[i] + 0.1f * g;
    const float v = 0.95f * std::fabs(second[i]) + 0.05f * g * g;
    const float w = master[i] - 1e-3f * (m / (std::sqrt(v) + 1e-8f) + 0.1f * master[i]);
    first[i] = m;
    second[i] = v;
    master[i] = w;
    weights[i] = w;
  }
}

}  // namespace

void copy(Tensors x, int64_t r, int64_t w) {
  std::memcpy(x[1].data, x[0].data, size_t(r * w) * sizeof(float));
}
void add(Tensors x, int64_t r, int64_t w) { add_loop(floats(x[0]), floats(x[1]), floats(x[2]), r * w); }
void dropout(Tensors x, int64_t r, int64_t w) {
  dropout_loop(floats(x[0]), bytes(x[1]), floats(x[2]), r * w);
}
void dropout_add(Tensors x, int64_t r, int64_t w) {
  dropout_add_loop(floats(x[0]), floats(x[1]), bytes(x[2]), floats(x[3]), r * w);
}
void gelu(Tensors x, int64_t r, int64_t w) { gelu_loop(floats(x[0]), floats(x[1]), r * w); }
void gelu_backward(Tensors x, int64_t r, int64_t w) {
  gelu_backward_loop(floats(x[0]), floats(x[1]), floats(x[2]), r * w);
}
void swiglu(Tensors x, int64_t r, int64_t w) { swiglu_loop(floats(x[0]), floats(x[1]), floats(x[2]), r * w); }
void swiglu_backward(Tensors x, int64_t r, int64_t w) {
  swiglu_backward_loop(floats(x[0]), floats(x[1]), floats(x[2]), floats(x[3]), floats(x[4]), r * w);
}
void accumulate(Tensors x, int64_t r, int64_t w) { accumulate_loop(floats(x[0]), floats(x[1]), r * w); }

// Blocks are added in double precision: a sum over millions of floats keeps its digits.
void square_sum(Tensors x, int64_t r, int64_t w) {
  constexpr int64_t kBlock = 4096;
  const float* gradient = floats(x[0]);
  double sum = 0;
  for (int64_t at = 0; at < r * w; at += kBlock)
    sum += double(square_sum_loop(gradient + at, std::min(kBlock, r * w - at)));
  *floats(x[1]) = float(sum);
}

void adam(Tensors x, int64_t r, int64_t w) {
  adam_loop(floats(x[0]), floats(x[1]), floats(x[2]), floats(x[3]), floats(x[4]), r * w);
}

}  // namespace rehearse::calibration::host
