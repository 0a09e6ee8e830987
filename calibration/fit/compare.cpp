#include "calibration/fit/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibration/fit/tables.hpp"
#include "sim/spec/names.hpp"

namespace rehearse::calibration {
namespace {

constexpr size_t kShown = 20;

std::string group_name(const GemmCall& c) {
  return fmt::format("{} {} {}", c.shape.batch > 1 ? "batched_gemm" : "gemm", word(c.dtype),
                     name_of(kRoleNames, c.role));
}
std::string group_name(const AttentionCall& c) {
  return fmt::format("attention {} {}", word(c.dtype), c.backward ? "backward" : "forward");
}
std::string group_name(const MemoryCall& c) { return fmt::format("{} {}", name_of(c.kernel), word(c.dtype)); }
std::string group_name(const CollectiveCall& c) {
  return fmt::format("{} {}x{}", name_of(kOpNames, c.op), c.group.nodes, c.group.per_node);
}
std::string group_name(const LaunchCall&) { return "launch"; }
std::string group_name(const OverlapCall&) { return "overlap"; }

// Of collectives neither the type nor the place of the result counts: times follow the bytes.
void put(TimedPoints& points, Work work, double seconds) {
  if (auto* call = std::get_if<CollectiveCall>(&work)) call->dtype = DType::fp32, call->in_place = false;
  const std::string group = std::visit([](const auto& call) { return group_name(call); }, work);
  points.emplace(point_of(work), Timed{group, seconds});
}

double nearest_rank(const std::vector<double>& sorted, double share) {
  return sorted[std::min(sorted.size() - 1, static_cast<size_t>(share * static_cast<double>(sorted.size())))];
}

}  // namespace

TimedPoints points_of(const SampleFile& samples) {
  TimedPoints points;
  for (const auto& s : samples.samples)
    if (s.status == Status::ok)
      if (const double seconds = s.alone > 0 ? s.beside : seconds_of(s); seconds > 0)
        put(points, s.work, seconds);
  return points;
}

TimedPoints points_of(const DeviceProfile& p) {
  TimedPoints points;
  for (const auto& t : p.gemm)
    for (const auto& r : t.rows)
      put(points, GemmCall{t.dtype, t.role.value_or(GemmRole::forward), {r.m, r.n, r.k}}, r.seconds);
  for (const auto& t : p.batched_gemm)
    for (const auto& r : t.rows) put(points, GemmCall{t.dtype, GemmRole::forward, r.shape}, r.seconds);
  for (const auto& t : p.memory)
    for (const auto& r : t.rows) put(points, MemoryCall{t.dtype, t.kernel, r.shape}, r.seconds);
  for (const auto& t : p.attention)
    for (const auto& r : t.rows)
      put(points,
          AttentionCall{
              t.dtype, t.backward, {r.batch, r.sequence, r.heads, r.kv_heads, r.head_dim, r.causal}},
          r.seconds);
  for (const auto& t : p.collectives)
    for (size_t i = 0; i < t.bytes.size(); ++i) {
      const Group group{t.nodes * t.per_node, 1, false, t.nodes, t.per_node};
      put(points, CollectiveCall{t.op, DType::fp32, t.bytes[i], group}, t.seconds[i]);
    }
  return points;
}

Comparison compare(const TimedPoints& first, const TimedPoints& second) {
  Comparison result;
  std::map<std::string, std::vector<double>> ratios;
  for (const auto& [point, a] : first) {
    const auto at = second.find(point);
    if (at == second.end()) {
      ++result.only_first;
      continue;
    }
    ratios[a.group].push_back(at->second.seconds / a.seconds);
    result.largest.push_back({point, a.seconds, at->second.seconds});
  }
  result.only_second = second.size() - result.largest.size();
  for (auto& [name, values] : ratios) {
    std::sort(values.begin(), values.end());
    result.groups.push_back({name, static_cast<int>(values.size()), nearest_rank(values, 0.1),
                             nearest_rank(values, 0.5), nearest_rank(values, 0.9)});
  }
  std::stable_sort(result.largest.begin(), result.largest.end(), [](const Ratio& a, const Ratio& b) {
    return std::abs(std::log(a.second / a.first)) > std::abs(std::log(b.second / b.first));
  });
  if (result.largest.size() > kShown) result.largest.resize(kShown);
  return result;
}

}  // namespace rehearse::calibration
