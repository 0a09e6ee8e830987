// Contents of buffers as pure functions of (seed, index), the same bits on the host and on a GPU: the
// reference needs no copy of what a device was given.
#pragma once
#include <cstdint>

#ifdef __CUDACC__
#define REHEARSE_BOTH __host__ __device__
#else
#define REHEARSE_BOTH
#endif

namespace rehearse::calibration {

// splitmix64 (Steele, Lea, Flood 2014), finalised index.
REHEARSE_BOTH constexpr uint64_t mixed(uint64_t seed, uint64_t index) {
  uint64_t z = seed * 0x9e3779b97f4a7c15u + (index + 1) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Mean 0, variance 1, nearly normal: sum of four uniforms (Irwin-Hall), exact in a double.
REHEARSE_BOTH constexpr double value_at(uint64_t seed, uint64_t index) {
  const uint64_t z = mixed(seed, index);
  const int64_t sum =
      int64_t(z & 0xffff) + int64_t(z >> 16 & 0xffff) + int64_t(z >> 32 & 0xffff) + int64_t(z >> 48) - 131070;
  return double(sum) * (1.7320508075688772 / 65535.0);
}

// One in ten is 0.
REHEARSE_BOTH constexpr uint8_t mask_at(uint64_t seed, uint64_t index) {
  return mixed(seed, index) % 10 != 0;
}

REHEARSE_BOTH constexpr int32_t token_at(uint64_t seed, uint64_t index, int64_t bound) {
  return int32_t(mixed(seed, index) % uint64_t(bound));
}

}  // namespace rehearse::calibration
