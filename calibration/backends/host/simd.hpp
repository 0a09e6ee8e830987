// What the loops of the kernels share: function multiversioning, so that a binary built for any x86-64 uses
// the vectors of the machine that it runs on, and an exponential that vectorises.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>

// Compiled once for each instruction set; the loader picks the version.
#if defined(__x86_64__) && defined(__gnu_linux__)
#define REHEARSE_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define REHEARSE_CLONES
#endif

namespace rehearse::calibration::host {

// e^x within 2e-7 relative for x in [-86.6, 88.7], clamped outside; no NaN. x = n ln 2 + r with |r| <=
// ln 2 / 2: ln 2 in two parts (Cody and Waite 1980), minimax polynomial of expf in Cephes (Moshier 1992).
[[gnu::always_inline]] inline float fast_exp(float x) {
  x = std::min(std::max(x, -86.6f), 88.7f);
  const float scaled = x * 1.44269504088896341f;
  const auto n = static_cast<int32_t>(scaled + (scaled < 0 ? -0.5f : 0.5f));
  const auto whole = static_cast<float>(n);
  const float r = (x - whole * 0.693359375f) + whole * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  // 2^128 does not exist: the last doubling is apart.
  return p * std::bit_cast<float>((n - 1 + 127) << 23) * 2.0f;
}

[[gnu::always_inline]] inline float sigmoid(float x) { return 1.0f / (1.0f + fast_exp(-x)); }

}  // namespace rehearse::calibration::host
