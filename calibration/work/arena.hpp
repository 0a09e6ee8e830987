// How operands lie in memory while calls are measured: side by side, as a framework's allocator lays them,
// and in so many copies taken in turn that no call finds its own in the cache.
#pragma once
#include <cmath>

namespace rehearse::calibration {

inline constexpr double kRotation = 3;     // x the last cache
inline constexpr double kAlignment = 512;  // bytes

inline double aligned(double bytes) { return std::ceil(bytes / kAlignment) * kAlignment; }

}  // namespace rehearse::calibration
