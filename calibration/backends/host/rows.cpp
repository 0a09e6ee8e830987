#include <algorithm>
#include <cmath>
#include <cstring>

#include "calibration/backends/host/memory.hpp"
#include "calibration/backends/host/simd.hpp"

namespace rehearse::calibration::host {
namespace {

struct Moments {
  float mean, rstd;
};

REHEARSE_CLONES Moments moments(const float* x, int64_t w) {
  float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < w; ++i) sum += x[i];
  const float mean = sum / float(w);
#pragma omp simd reduction(+ : squares)
  for (int64_t i = 0; i < w; ++i) squares += (x[i] - mean) * (x[i] - mean);
  return {mean, 1 / std::sqrt(squares / float(w) + 1e-5f)};
}

REHEARSE_CLONES void normalise(const float* x, const float* gain, const float* bias, Moments m, float* y,
                               int64_t w) {
#pragma omp simd
  for (int64_t i = 0; i < w; ++i) y[i] = (x[i] - m.mean) * m.rstd * gain[i] + bias[i];
}

REHEARSE_CLONES void norm_backward_row(const float* x, const float* dy, const float* gain, Moments m,
                                       float* dx, float* dgain, float* dbias, int64_t w) {
  float sum_g = 0, sum_gh = 0;
#pragma omp simd reduction(+ : sum_g, sum_gh)
  for (int64_t i = 0; i < w; ++i) {
    const float h = (x[i] - m.mean) * m.rstd, g = dy[i] * gain[i];
    sum_g += g;
    sum_gh += g * h;
    dgain[i] += dy[i] * h;
    dbias[i] += dy[i];
  }
  const float mean_g = sum_g / float(w), mean_gh = sum_gh / float(w);
#pragma omp simd
  for (int64_t i = 0; i < w; ++i) {
    const float h = (x[i] - m.mean) * m.rstd;
    dx[i] = m.rstd * (dy[i] * gain[i] - mean_g - h * mean_gh);
  }
}

REHEARSE_CLONES float maximum(const float* x, int64_t w) {
  float top = x[0];
#pragma omp simd reduction(max : top)
  for (int64_t i = 0; i < w; ++i) top = x[i] > top ? x[i] : top;
  return top;
}

// y = e^(x - top); the sum of them
REHEARSE_CLONES float exponentials(const float* x, float top, float* y, int64_t w) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < w; ++i) {
    const float e = fast_exp(x[i] - top);
    y[i] = e;
    sum += e;
  }
  return sum;
}

REHEARSE_CLONES float exponential_sum(const float* x, float top, int64_t w) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < w; ++i) sum += fast_exp(x[i] - top);
  return sum;
}

REHEARSE_CLONES void scale(float* x, float factor, int64_t w) {
#pragma omp simd
  for (int64_t i = 0; i < w; ++i) x[i] *= factor;
}

REHEARSE_CLONES void softmax_backward_row(const float* y, const float* dy, float* dx, int64_t w) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < w; ++i) sum += y[i] * dy[i];
#pragma omp simd
  for (int64_t i = 0; i < w; ++i) dx[i] = y[i] * (dy[i] - sum);
}

// Neighbouring columns are a pair.
REHEARSE_CLONES void rotate(const float* x, const float* cosine, const float* sine, float* y, int64_t pairs) {
#pragma omp simd
  for (int64_t j = 0; j < pairs; ++j) {
    const float even = x[2 * j], odd = x[2 * j + 1];
    y[2 * j] = even * cosine[j] - odd * sine[j];
    y[2 * j + 1] = even * sine[j] + odd * cosine[j];
  }
}

REHEARSE_CLONES void add_row(const float* x, float* sum, int64_t w) {
#pragma omp simd
  for (int64_t i = 0; i < w; ++i) sum[i] += x[i];
}

}  // namespace

void norm(Tensors x, int64_t r, int64_t w) {
  const float* in = floats(x[0]);
  for (int64_t row = 0; row < r; ++row) {
    const Moments m = moments(in + row * w, w);
    normalise(in + row * w, floats(x[1]), floats(x[2]), m, floats(x[3]) + row * w, w);
    floats(x[4])[row] = m.mean;
    floats(x[5])[row] = m.rstd;
  }
}

void norm_backward(Tensors x, int64_t r, int64_t w) {
  float *dgain = floats(x[6]), *dbias = floats(x[7]);
  std::fill(dgain, dgain + w, 0.0f);
  std::fill(dbias, dbias + w, 0.0f);
  for (int64_t row = 0; row < r; ++row)
    norm_backward_row(floats(x[0]) + row * w, floats(x[1]) + row * w, floats(x[2]),
                      {floats(x[3])[row], floats(x[4])[row]}, floats(x[5]) + row * w, dgain, dbias, w);
}

// Causal: rows are the queries of squares, one square after the other.
void softmax(Tensors x, int64_t r, int64_t w) {
  for (int64_t row = 0; row < r; ++row) {
    const float* in = floats(x[0]) + row * w;
    float* out = floats(x[1]) + row * w;
    const int64_t seen = row % w + 1;
    const float sum = exponentials(in, maximum(in, seen), out, seen);
    scale(out, 1 / sum, seen);
    std::fill(out + seen, out + w, 0.0f);
  }
}

void softmax_backward(Tensors x, int64_t r, int64_t w) {
  for (int64_t row = 0; row < r; ++row)
    softmax_backward_row(floats(x[0]) + row * w, floats(x[1]) + row * w, floats(x[2]) + row * w, w);
}

void cross_entropy(Tensors x, int64_t r, int64_t w) {
  for (int64_t row = 0; row < r; ++row) {
    const float* logits = floats(x[0]) + row * w;
    const float top = maximum(logits, w);
    floats(x[2])[row] = std::log(exponential_sum(logits, top, w)) + top - logits[tokens(x[1])[row]];
  }
}

void cross_entropy_backward(Tensors x, int64_t r, int64_t w) {
  for (int64_t row = 0; row < r; ++row) {
    float* logits = floats(x[0]) + row * w;
    const float sum = exponentials(logits, maximum(logits, w), logits, w);
    scale(logits, 1 / sum, w);
    logits[tokens(x[1])[row]] -= 1;
  }
}

void rope(Tensors x, int64_t r, int64_t w) {
  const int64_t head = rope_head(w), pairs = head / 2, positions = rope_positions(r);
  for (int64_t row = 0; row < r; ++row) {
    const int64_t angle = row % positions * pairs;
    for (int64_t at = row * w; at < (row + 1) * w; at += head)
      rotate(floats(x[0]) + at, floats(x[1]) + angle, floats(x[2]) + angle, floats(x[3]) + at, pairs);
  }
}

void embedding(Tensors x, int64_t r, int64_t w) {
  for (int64_t row = 0; row < r; ++row)
    std::memcpy(floats(x[2]) + row * w, floats(x[0]) + tokens(x[1])[row] * w, size_t(w) * sizeof(float));
}

void embedding_backward(Tensors x, int64_t r, int64_t w) {
  for (int64_t row = 0; row < r; ++row)
    add_row(floats(x[1]) + row * w, floats(x[2]) + tokens(x[0])[row] * w, w);
}

}  // namespace rehearse::calibration::host
