#include "calibration/probes/grid.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "sim/spec/bus_factor.hpp"

namespace rehearse::calibration {
namespace {

std::vector<DType> types_of(const Work& work) {
  if (const auto* gemm = std::get_if<GemmCall>(&work)) return {gemm->dtype};
  if (const auto* attention = std::get_if<AttentionCall>(&work)) return {attention->dtype};
  if (const auto* memory = std::get_if<MemoryCall>(&work)) return {memory->dtype};
  if (const auto* collective = std::get_if<CollectiveCall>(&work)) return {collective->dtype};
  const auto* overlap = std::get_if<OverlapCall>(&work);
  if (!overlap) return {};
  auto types = std::visit([](const auto& kernel) { return types_of(Work(kernel)); }, overlap->kernel);
  types.push_back(overlap->collective.dtype);
  return types;
}

bool knows(const Wanted& wanted, DType type) {
  return std::find(wanted.dtypes.begin(), wanted.dtypes.end(), type) != wanted.dtypes.end();
}

double memory_of(const Work& work) {
  double bytes = 0;
  for (const auto& spec : operands_of(work)) bytes += spec.bytes();
  return bytes;
}

double collective_time(const CollectiveCall& call, const Wanted& wanted) {
  double rate = bus_bound(call, wanted.limits);
  if (rate <= 0) rate = is_small(wanted) ? 2e9 : 20e9;
  const double steps = 5e-6 * call.group.size;
  return steps + call.bytes * bus_factor(call.op, call.group.size) / (0.6 * rate);
}

}  // namespace

std::vector<Size> sizes(int64_t least, int64_t most) {
  std::vector<Size> list;
  int power = 0;
  for (int64_t size = 1; size <= most; size *= 2, ++power) {
    if (size >= least) list.push_back({size, power % 2 ? 1.0 : 0.6});
    const int64_t between = size + size / 2;
    if (size > 1 && between >= least && between <= most) list.push_back({between, 0.15});
  }
  const double span = std::log2(double(most) / double(least));
  for (Size& s : list) {  // the middle before the ends
    const double from_middle = std::fabs(2 * std::log2(double(s.size) / double(least)) / span - 1);
    s.worth *= 1 - 0.2 * from_middle;
  }
  return list;
}

bool is_small(const Wanted& wanted) {
  double peak = 0;
  for (const auto& [type, flops] : wanted.limits.peak_flops) peak = std::max(peak, flops);
  return peak < 5e12;
}

double estimated(const Work& work, const Wanted& wanted) {
  if (const auto* collective = std::get_if<CollectiveCall>(&work))
    return collective_time(*collective, wanted);
  const auto types = types_of(work);
  double peak = types.empty() ? 0 : wanted.limits.peak(types.front());
  if (peak <= 0) peak = 20e9;
  const double memory = wanted.limits.memory_bytes_per_s > 0 ? wanted.limits.memory_bytes_per_s : 10e9;
  // Fused attention and batched GEMMs of a CPU are far from its peak, exponentials far from its memory.
  const double efficiency = is_small(wanted) ? 0.3 : 0.5;
  const double kernel =
      std::max(flops_of(work) / (efficiency * peak), bytes_of(work) / (efficiency * memory));
  const auto* overlap = std::get_if<OverlapCall>(&work);
  return overlap ? std::max(kernel, collective_time(overlap->collective, wanted)) : kernel;
}

void add(std::vector<Point>& points, const Wanted& wanted, const Work& work, double worth) {
  const auto types = types_of(work);
  if (!std::all_of(types.begin(), types.end(), [&](DType t) { return knows(wanted, t); })) return;
  const double memory = wanted.memory_bytes > 0 ? wanted.memory_bytes : 1 << 30;
  const double longest = is_small(wanted) ? 0.02 : 0.1;
  const double call = estimated(work, wanted);
  if (memory_of(work) > 0.8 * memory || call > longest) return;
  // Warm-up and timings, some forty in all; making operands and checking the result.
  const double lasts = std::max(200e-6, call);
  const double seconds =
      (is_small(wanted) ? 0.2 : 0.05) + (std::holds_alternative<OverlapCall>(work) ? 4 : 1) * 40 * lasts;
  points.push_back({work, worth, std::min(seconds, 4.0)});
}

std::vector<Point> ranked(std::vector<Point> points, double share, size_t most) {
  std::stable_sort(points.begin(), points.end(),
                   [](const Point& a, const Point& b) { return a.value > b.value; });
  std::set<std::string> seen;  // grids meet, and rounding makes sizes alike
  std::vector<Point> best;
  for (Point& point : points) {
    if (best.size() == most) break;
    if (!seen.insert(point_of(point.work)).second) continue;
    point.value = share / double(best.size() + 1);
    best.push_back(point);
  }
  return best;
}

Group group_of(int size, int stride, bool concurrent, int per_node) {
  std::set<int> nodes;
  for (int i = 0; i < size; ++i) nodes.insert(i * stride / std::max(1, per_node));
  const auto count = int(nodes.size());
  return {size, stride, concurrent, count, size / count};
}

DType main_type(const Wanted& wanted) {
  for (const DType type : {DType::bf16, DType::fp16})
    if (knows(wanted, type)) return type;
  return DType::fp32;
}

}  // namespace rehearse::calibration
