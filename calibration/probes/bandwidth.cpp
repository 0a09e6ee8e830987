// Bandwidth of the device's memory: a copy, a sum of two and a read of one long row.
#include <algorithm>

#include "calibration/probes/grid.hpp"

namespace rehearse::calibration {
namespace {

std::vector<Point> bandwidth_points(const Wanted& wanted) {
  std::vector<Point> points;
  for (const Size& n : is_small(wanted) ? sizes(1 << 14, 1 << 25) : sizes(1 << 18, int64_t(1) << 32)) {
    const MemoryShape line{1, double(n.size)};
    const double worth = n.worth * std::min(1.0, double(n.size) / (1 << 24));  // long ones show the memory
    add(points, wanted, MemoryCall{DType::fp32, MemoryKernel::copy, line}, worth);
    add(points, wanted, MemoryCall{DType::fp32, MemoryKernel::add, line}, 0.5 * worth);
    add(points, wanted, MemoryCall{DType::fp32, MemoryKernel::square_sum, line}, 0.4 * worth);
  }
  return ranked(std::move(points), 0.06);
}

}  // namespace

const Probe kBandwidthProbe{"bandwidth", "memory bandwidth: copy, add and read of one long row",
                            bandwidth_points, cannot_run, run_point};

}  // namespace rehearse::calibration
