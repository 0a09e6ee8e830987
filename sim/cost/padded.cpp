#include "sim/cost/padded.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace rehearse {
namespace {

Prediction at_size(const DeviceProfile& profile, CollectiveCase c, double bytes, const NcclFilter& filter) {
  c.bytes = bytes;
  return predict_collective(profile, c, filter);
}

// No algorithm is faster.
Seconds least_time(CollectiveCase c, double bytes) {
  c.bytes = bytes;
  if (c.nodes == 1) return Seconds(bytes * (c.ranks - 1) / c.ranks / c.nvlink.value);
  const double sent = std::min(wire_bytes(c, "ring", "simple"), wire_bytes(c, "nvls", "simple"));
  return Seconds(sent / c.node_network.value);
}

// Ascending: the last one at `bytes` or below, then all above it that a call could be padded to.
std::vector<double> sizes_from(const DeviceProfile& profile, const CollectiveCase& c) {
  constexpr int kMostDoublings = 40;
  const double octave = std::exp2(std::floor(std::log2(std::max(c.bytes, 1.0))));
  std::vector<double> sizes;
  sizes.reserve(kMostDoublings);
  for (int i = 0; i < kMostDoublings; ++i) sizes.push_back(std::ldexp(octave, i));
  const double most = sizes.back();
  for (const auto& t : profile.collectives)
    if (t.op == c.op && t.nodes == c.nodes && t.per_node == c.per_node)
      for (const double size : t.bytes)
        if (size > octave && size < most) sizes.push_back(size);
  std::sort(sizes.begin(), sizes.end());
  const auto above = std::upper_bound(sizes.begin(), sizes.end(), std::max(c.bytes, 1.0));
  sizes.erase(sizes.begin(), above - 1);
  return sizes;
}

}  // namespace

Prediction padded_collective(const DeviceProfile& profile, const CollectiveCase& c,
                             const NcclFilter& filter) {
  Prediction here = at_size(profile, c, c.bytes, filter);
  const std::vector<double> sizes = sizes_from(profile, c);
  Seconds below = here.time;
  if (sizes.front() != c.bytes) below = at_size(profile, c, sizes[0], filter).time;
  Seconds above = at_size(profile, c, sizes[1], filter).time;
  for (size_t i = 2; i < sizes.size() && least_time(c, sizes[i]) < above; ++i)
    above = std::min(above, at_size(profile, c, sizes[i], filter).time);
  below = std::min(below, above);
  const double share = std::max(0.0, c.bytes - sizes[0]) / (sizes[1] - sizes[0]);
  here.time = below + (above - below) * share;
  here.latency = std::min(here.latency, here.time);
  return here;
}

}  // namespace rehearse
