// A kernel beside a collective that runs all the time, and the reverse: the time of each alone and beside, by
// the channels that the collective may take.
#include <algorithm>
#include <cmath>

#include "calibration/probes/attempt.hpp"
#include "calibration/probes/grid.hpp"

namespace rehearse::calibration {
namespace {

using Kernel = std::variant<GemmCall, AttentionCall, MemoryCall>;

std::vector<Kernel> kernels_of(const Wanted& wanted) {
  const DType t = main_type(wanted);
  const double n = is_small(wanted) ? 512 : 8192, s = is_small(wanted) ? 256 : 4096;
  return {GemmCall{t, GemmRole::forward, {n, n, n}},
          MemoryCall{t, MemoryKernel::copy, {n, is_small(wanted) ? 2048 : 4 * n}},
          AttentionCall{
              t, false, {1, s, is_small(wanted) ? 4.0 : 32.0, is_small(wanted) ? 4.0 : 32.0, 128, true}},
          GemmCall{t, GemmRole::weight_gradient, {n, n, n / 2}, true},
          MemoryCall{t, MemoryKernel::norm, {n, is_small(wanted) ? 1024 : n}}};
}

std::vector<Point> overlap_points(const Wanted& wanted) {
  std::vector<Point> points;
  if (wanted.ranks < 2) return points;
  const Group group = group_of(wanted.ranks, 1, true, wanted.per_node);
  const double bytes = (is_small(wanted) ? 1 << 20 : 1 << 27) * double(wanted.ranks);
  double kernel_worth = 1;
  for (const Kernel& kernel : kernels_of(wanted)) {
    double op_worth = 1;
    for (const CollectiveOp op : {CollectiveOp::all_gather, CollectiveOp::reduce_scatter,
                                  CollectiveOp::all_reduce, CollectiveOp::all_to_all}) {
      const CollectiveCall call{op, main_type(wanted), bytes, group,
                                op == CollectiveOp::all_gather || op == CollectiveOp::all_reduce};
      for (const int channels : {0, 16, 8, 4, 32, 1, 24}) {
        if (channels > 0 && is_small(wanted)) continue;  // a library's channels are those of a GPU
        add(points, wanted, OverlapCall{kernel, call, channels},
            kernel_worth * op_worth *
                (channels == 0   ? 1
                 : channels == 1 ? 0.1
                                 : 0.4));
      }
      op_worth *= 0.8;
    }
    kernel_worth *= 0.8;
  }
  return ranked(std::move(points), 0.05);
}

// Calls of one kind, their buffers in turn.
struct Side {
  Work work;
  std::vector<Operands> sets;
  size_t next = 0;
  std::vector<Call> calls(int count) {
    std::vector<Call> list;
    for (int i = 0; i < count; ++i, next = (next + 1) % sets.size()) list.push_back({&work, &sets[next]});
    return list;
  }
};

std::pair<Side, Side> sides_of(const OverlapCall& call, const OperandSets& sets) {
  std::pair<Side, Side> sides{{std::visit([](const auto& k) { return Work(k); }, call.kernel), {}},
                              {Work(call.collective), {}}};
  const auto middle = std::ptrdiff_t(operands_of(sides.first.work).size());
  for (const Operands& set : sets.all()) {
    sides.first.sets.emplace_back(set.begin(), set.begin() + middle);
    sides.second.sets.emplace_back(set.begin() + middle, set.end());
  }
  return sides;
}

// Calls of the other side that last beyond `seconds`, should both be slowed down.
int enough(double seconds, double each) {
  constexpr double slowed = 3;
  return int(std::min(1e4, std::ceil(slowed * seconds / std::max(each, 1e-7)))) + 1;
}

void time_overlap(Bench& bench, const Work& work, OperandSets& sets, Sample& sample) {
  const auto& call = std::get<OverlapCall>(work);
  auto sides = sides_of(call, sets);
  Side &kernel = sides.first, &collective = sides.second;
  const Health before = bench.backend.health();
  const auto alone = measure([&](int n) { return bench.backend.time(kernel.calls(n), Clocking::stream); },
                             bench.rules, bench.ranks);
  const auto collective_alone =
      measure([&](int n) { return bench.backend.time_beside({}, collective.calls(n), call.channels).second; },
              bench.rules, bench.ranks);
  int uncovered = 0, timings = 0;
  const auto beside = measure(
      [&](int n) {
        const auto others = collective.calls(enough(n * alone.device.median, collective_alone.device.median));
        const auto both = bench.backend.time_beside(kernel.calls(n), others, call.channels);
        ++timings;
        uncovered += both.second.device_s < both.first.device_s;
        return both.first;
      },
      bench.rules, bench.ranks);
  const auto collective_beside = measure(
      [&](int n) {
        const auto others = kernel.calls(enough(n * collective_alone.device.median, alone.device.median));
        const auto both = bench.backend.time_beside(others, collective.calls(n), call.channels);
        ++timings;
        uncovered += both.first.device_s < both.second.device_s;
        return both.second;
      },
      bench.rules, bench.ranks);
  take(sample, beside);
  sample.alone = alone.device.median;
  sample.beside = beside.device.median;
  sample.collective_alone = collective_alone.device.median;
  sample.collective_beside = collective_beside.device.median;
  // What ran beside ended first, so that part of the time was alone.
  if (bench.ranks.any(uncovered > timings / 10)) sample.flags.emplace_back("uncovered");
  conclude(sample, bench, before, bench.backend.health());
}

Sample run(Bench& bench, const Work& work) { return attempt(bench, work, time_overlap); }

}  // namespace

const Probe kOverlapProbe{"overlap", "a kernel beside a collective: the slowdown of both", overlap_points,
                          cannot_run, run};

}  // namespace rehearse::calibration
