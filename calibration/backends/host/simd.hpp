// What the loops of the kernels share: function multiversioning, so that a binary built for any x86-64 uses
// the vectors of the machine that it runs on, and an exponential that vectorises.
#pragma once
#include <bit>
#include <cstdint>

// Compiled once for each instruction set; the loader picks the version, before ThreadSanitizer is there to
// watch the code that picks.
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_THREAD__)
#define REHEARSE_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define REHEARSE_CLONES
#endif

namespace rehearse::calibration::host {

// e^x within 2e-7 relative for x in [-87.3, 88.3], clamped outside; no NaN. x = n ln 2 + r with |r| <=
// ln 2 / 2: ln 2 in two parts (Cody and Waite 1980), minimax polynomial of expf in Cephes (Moshier 1992).
[[gnu::always_inline]] inline float fast_exp(float x) {
  x = x < -87.3f ? -87.3f : x;
  x = x > 88.3f ? 88.3f : x;
  // Added to 1.5 x 2^23 a number is rounded to an integer, which stands in the last bits of the sum.
  constexpr float kShift = 12582912.0f;
  const float shifted = x * 1.44269504088896341f + kShift;
  const float whole = shifted - kShift;
  const float r = (x - whole * 0.693359375f) + whole * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  // 2^n: n + 127 as the exponent's bits
  const uint32_t power = (std::bit_cast<uint32_t>(shifted) << 23) + (127u << 23);
  return p * std::bit_cast<float>(power);
}

[[gnu::always_inline]] inline float sigmoid(float x) { return 1.0f / (1.0f + fast_exp(-x)); }

}  // namespace rehearse::calibration::host
