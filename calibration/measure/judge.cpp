#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibration/measure/measure.hpp"
#include "sim/spec/bus_factor.hpp"

namespace rehearse::calibration {
namespace {

constexpr double kSlack = 1.02;  // clocks and data sheets are rounded
// Small operands may come from the L2 although they were rotated past it: caches do not forget in order.
constexpr double kFromCache = 3;

std::optional<DType> dtype_of(const Work& work) {
  if (const auto* gemm = std::get_if<GemmCall>(&work)) return gemm->dtype;
  if (const auto* attention = std::get_if<AttentionCall>(&work)) return attention->dtype;
  const auto* overlap = std::get_if<OverlapCall>(&work);
  if (!overlap) return std::nullopt;
  return std::visit([](const auto& kernel) { return dtype_of(Work(kernel)); }, overlap->kernel);
}

bool has(const Sample& sample, std::string_view flag) {
  return std::find(sample.flags.begin(), sample.flags.end(), flag) != sample.flags.end();
}

Verdict rejected(const char* code, std::string reason) { return {Status::rejected, code, std::move(reason)}; }

// The peak moves with the clock.
Verdict judge_peak(const Sample& sample, double seconds, const Limits& limits) {
  const auto type = dtype_of(sample.work);
  double peak = type ? limits.peak(*type) : 0;
  if (peak <= 0) return {};
  const double clock = std::max(sample.clock_before_mhz, sample.clock_after_mhz);
  if (clock > 0 && limits.clock_mhz > 0) peak *= clock / limits.clock_mhz;
  const double reached = flops_of(sample.work) / seconds;
  if (reached <= kSlack * peak) return {};
  return rejected("above-peak", fmt::format("{:.4g} TFLOP/s, the peak at this clock is {:.4g}",
                                            reached / 1e12, peak / 1e12));
}

Verdict judge_memory(const Sample& sample, double seconds, const Limits& limits) {
  if (limits.memory_bytes_per_s <= 0 || has(sample, "warm-l2")) return {};
  const double bytes = bytes_of(sample.work), reached = bytes / seconds;
  const bool past_cache = bytes > 2 * limits.l2_bytes;
  const double bound = limits.memory_bytes_per_s * (past_cache ? kSlack : kFromCache);
  if (reached <= bound) return {};
  return rejected("above-memory", fmt::format("{:.4g} GB/s, the memory moves {:.4g}{}", reached / 1e9,
                                              limits.memory_bytes_per_s / 1e9,
                                              past_cache ? "" : " and the cache not thrice that"));
}

Verdict judge_wire(const CollectiveCall& call, double seconds, const Limits& limits) {
  const double reached = call.bytes / seconds * bus_factor(call.op, call.group.size);
  const double bound = bus_bound(call, limits);
  if (bound <= 0 || reached <= kSlack * bound) return {};
  return rejected("above-wire", fmt::format("bus bandwidth {:.4g} GB/s, the wires and the best algorithm "
                                            "allow {:.4g}",
                                            reached / 1e9, bound / 1e9));
}

const CollectiveCall* as_collective(const Work& work) {
  if (const auto* overlap = std::get_if<OverlapCall>(&work)) return &overlap->collective;
  return std::get_if<CollectiveCall>(&work);
}

Verdict judge_spread(const Sample& sample, const Rules& rules) {
  const Quantiles& q = sample.device;
  const double spread = (q.p90 - q.p10) / q.median;
  if (!has(sample, "unsettled") || spread <= rules.unstable) return {};
  return rejected("unstable", fmt::format("the middle 80 % of {} timings spread over {:.0f} % of the median, "
                                          "and the median did not settle",
                                          q.n, 100 * spread));
}

// Least of the times that a sample holds for its kernel and its collective; 0: none.
struct Times {
  double kernel = 0, collective = 0;
  bool good = true;
};
Times times_of(const Sample& sample) {
  const auto good = [](double t) { return std::isfinite(t) && t > 0; };
  if (!std::holds_alternative<OverlapCall>(sample.work)) {
    const double t = sample.device.median;
    const bool wire = std::holds_alternative<CollectiveCall>(sample.work);
    return {wire ? 0 : t, wire ? t : 0, good(t) && sample.device.n > 0};
  }
  return {std::min(sample.alone, sample.beside), std::min(sample.collective_alone, sample.collective_beside),
          good(sample.alone) && good(sample.beside) && good(sample.collective_alone) &&
              good(sample.collective_beside)};
}

}  // namespace

double bus_bound(const CollectiveCall& call, const Limits& limits) {
  const Group& g = call.group;
  const double n = g.size, nodes = g.nodes, each = g.per_node;
  const auto least = [](double a, double b) { return a <= 0 ? b : b <= 0 ? a : std::min(a, b); };
  // A switch that reduces, or a tree, moves the vector once: busbw counts it 2 (n-1)/n times.
  const double once = call.op == CollectiveOp::all_reduce ? std::max(1.0, 2 * (n - 1) / n) : 1;
  double bound = g.per_node > 1 ? once * limits.link_bytes_per_s : 0;
  if (g.nodes == 1 || limits.network_bytes_per_s <= 0 || !g.concurrent) return bound;
  // All ranks of the job take part, so that each has its own share of the node's NICs.
  const double node = limits.network_bytes_per_s * each;
  switch (call.op) {
    case CollectiveOp::all_reduce:
      return least(bound, once * node);
    case CollectiveOp::broadcast:
      return least(bound, node);
    case CollectiveOp::all_gather:
    case CollectiveOp::reduce_scatter:  // (nodes-1)/nodes of the whole passes each node's NICs
      return least(bound, node * (n - 1) / n * nodes / (nodes - 1));
    case CollectiveOp::all_to_all:  // ... of every rank's data; in a node only 1/nodes of it
      if (each > 1) bound = limits.link_bytes_per_s * (n - 1) / (each - 1);
      return least(bound, limits.network_bytes_per_s * (n - 1) / n * nodes / (nodes - 1));
    case CollectiveOp::send_recv:
      return least(bound, node);
  }
  return bound;
}

Verdict judge(const Sample& sample, const Limits& limits, const Rules& rules) {
  const Times times = times_of(sample);
  if (!times.good) return rejected("zero-time", "a time is zero, negative or missing");
  const CollectiveCall* collective = as_collective(sample.work);
  Verdict verdict;
  if (times.kernel > 0) {
    verdict = judge_peak(sample, times.kernel, limits);
    if (verdict.status == Status::ok) verdict = judge_memory(sample, times.kernel, limits);
  }
  if (verdict.status != Status::ok) return verdict;
  if (collective && collective->group.size < 2)
    return {Status::unfit, "one-rank", "a collective of one rank moves nothing over wires"};
  if (collective) verdict = judge_wire(*collective, times.collective, limits);
  if (verdict.status == Status::ok && sample.device.median > 0) verdict = judge_spread(sample, rules);
  return verdict;
}

void note_health(Sample& sample, const Health& before, const Health& after) {
  sample.clock_before_mhz = before.clock_mhz;
  sample.clock_after_mhz = after.clock_mhz;
  constexpr double fallen = 0.95;
  if (!after.throttled.empty() || !before.throttled.empty()) sample.flags.emplace_back("throttled");
  if (before.clock_mhz > 0 && after.clock_mhz > 0 && after.clock_mhz < fallen * before.clock_mhz)
    sample.flags.emplace_back("clock-fell");
}

}  // namespace rehearse::calibration
