// Numbers as the narrow types hold them: round to nearest, ties to even, subnormals kept. Overflow becomes
// infinity, but fp8 (e4m3) saturates at 448, as conversions on GPUs do.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "sim/spec/kernel.hpp"

namespace rehearse::calibration {

// A binary format: stored bits of the significand, least exponent of a normal number, largest finite value.
struct Format {
  int stored_bits, least_exponent;
  double largest;
};
inline constexpr Format kFp16{10, -14, 65504.0};
inline constexpr Format kBf16{7, -126, 3.3895313892515355e38};
inline constexpr Format kFp8{3, -6, 448.0};
inline constexpr Format kTf32{10, -126, 3.4011621342146535e38};

// x as the format holds it.
inline double rounded(double x, const Format& format) {
  if (!std::isfinite(x) || x == 0) return x;
  const double magnitude = std::fabs(x);
  double y = 0;
  if (magnitude >=
      std::ldexp(1.0, format.least_exponent)) {  // half below the cut is added, and the rest dropped
    const int dropped = 52 - format.stored_bits;
    auto bits = std::bit_cast<uint64_t>(x);
    bits += (uint64_t(1) << (dropped - 1)) - 1 + (bits >> dropped & 1);
    y = std::bit_cast<double>(bits >> dropped << dropped);
  } else {
    const double unit = std::ldexp(1.0, format.least_exponent - format.stored_bits);
    y = std::nearbyint(x / unit) * unit;
  }
  if (std::fabs(y) <= format.largest) return y;
  return std::copysign(format.stored_bits == kFp8.stored_bits ? format.largest : HUGE_VAL, x);
}

inline double round_to(DType type, double x) {
  switch (type) {
    case DType::fp32:
      return double(float(x));
    case DType::tf32:
      return rounded(x, kTf32);
    case DType::fp16:
      return rounded(x, kFp16);
    case DType::bf16:
      return rounded(x, kBf16);
    case DType::fp8:
      return rounded(x, kFp8);
  }
  return x;
}

// Half a unit in the last place, relative: what one rounding may change.
constexpr double unit_roundoff(DType type) {
  switch (type) {
    case DType::fp32:
      return 1.0 / (1 << 24);
    case DType::tf32:
    case DType::fp16:
      return 1.0 / (1 << 11);
    case DType::bf16:
      return 1.0 / (1 << 8);
    case DType::fp8:
      return 1.0 / (1 << 4);
  }
  return 0;
}

// Bits of the 16-bit types. bf16 is the upper half of a float; rounding is by adding half below the cut.
inline uint16_t bf16_bits(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
inline float from_bf16(uint16_t bits) {
  const uint32_t wide = uint32_t(bits) << 16;
  float x;
  std::memcpy(&x, &wide, 4);
  return x;
}
inline uint16_t fp16_bits(double x) {
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  if (std::isnan(x)) return uint16_t(sign | 0x7e00);
  const double y = std::fabs(rounded(x, kFp16));
  if (y > kFp16.largest) return uint16_t(sign | 0x7c00);
  if (y < 0x1p-14) return uint16_t(sign | uint16_t(y * 0x1p24));
  const int exponent = std::ilogb(y);
  return uint16_t(sign | (exponent + 15) << 10 | (int(std::ldexp(y, 10 - exponent)) & 0x3ff));
}
inline double from_fp16(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 31) return fraction ? NAN : sign * HUGE_VAL;
  return sign * (exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24));
}
inline uint8_t fp8_bits(double x) {
  const uint8_t sign = std::signbit(x) ? 0x80 : 0;
  if (std::isnan(x)) return uint8_t(sign | 0x7f);
  const double y = std::fabs(rounded(std::isinf(x) ? std::copysign(448.0, x) : x, kFp8));
  if (y < 0x1p-6) return uint8_t(sign | uint8_t(y * 0x1p9));
  const int exponent = std::ilogb(y);
  return uint8_t(sign | (exponent + 7) << 3 | (int(std::ldexp(y, 3 - exponent)) & 7));
}
inline double from_fp8(uint8_t bits) {
  const int exponent = bits >> 3 & 15, fraction = bits & 7;
  const double sign = bits & 0x80 ? -1 : 1;
  if (exponent == 15 && fraction == 7) return NAN;
  return sign * (exponent ? std::ldexp(8 + fraction, exponent - 10) : std::ldexp(fraction, -9));
}

}  // namespace rehearse::calibration
