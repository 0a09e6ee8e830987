#include "calibration/fit/constants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "calibration/measure/measure.hpp"
#include "sim/spec/bus_factor.hpp"
#include "sim/spec/names.hpp"

namespace rehearse::calibration {
namespace {

std::string rate(double v) { return fmt::format("{:.5g} GB/s", v * 1e-9); }
std::string flops(double v) {
  return v >= 1e12 ? fmt::format("{:.5g} TFLOP/s", v * 1e-12) : fmt::format("{:.5g} GFLOP/s", v * 1e-9);
}
std::string micros(double v) { return fmt::format("{:.4g} us", v * 1e6); }

// Samples of this kind of work, not borrowed.
template <class Call, class F>
void each(const std::vector<Taken>& taken, F use) {
  for (const auto& t : taken)
    if (const auto* call = std::get_if<Call>(&t.sample->work); call && !t.borrowed)
      use(*call, *t.sample, *t.environment);
}

double best_rate(const std::vector<Taken>& taken, DType dtype) {
  double best = 0;
  const auto take = [&](const auto& c, const Sample& s, const Environment&) {
    if (c.dtype == dtype) best = std::max(best, flops_of(c) / seconds_of(s));
  };
  each<GemmCall>(taken, take);
  each<AttentionCall>(taken, take);
  return best;
}

double best_bus(const std::vector<Taken>& taken, std::initializer_list<CollectiveOp> ops) {
  double best = 0;
  each<CollectiveCall>(taken, [&](const CollectiveCall& c, const Sample& s, const Environment&) {
    if (c.group.nodes == 1 && std::find(ops.begin(), ops.end(), c.op) != ops.end())
      best = std::max(best, c.bytes / seconds_of(s) * bus_factor(c.op, c.group.size));
  });
  return best;
}

// Copies and sums that no cache holds.
std::vector<double> stream_rates(const std::vector<Taken>& taken) {
  std::vector<double> rates;
  each<MemoryCall>(taken, [&](const MemoryCall& c, const Sample& s, const Environment& e) {
    const double moved = bytes_of(Work(c));
    if ((c.kernel == MemoryKernel::copy || c.kernel == MemoryKernel::add) &&
        moved >= std::max(32e6, 3 * e.limits.l2_bytes))
      rates.push_back(moved / seconds_of(s));
  });
  return rates;
}

void add_peaks(const std::vector<Taken>& taken, std::vector<NamedConstant>& out) {
  std::map<DType, NamedConstant> peaks;
  for (const auto& row : kDTypeNames) {
    const std::string path = "device.peak." + std::string(row.name);
    for (const auto& t : taken)
      if (const double stated = t.environment->limits.peak(row.value); stated > 0 && !t.borrowed)
        peaks.emplace(row.value, NamedConstant{path, flops(stated), Basis::datasheet,
                                               "stated by the harness for " + t.environment->device});
    if (const double best = best_rate(taken, row.value); best > 0)
      peaks.emplace(row.value, NamedConstant{path, flops(1.05 * best), Basis::fitted,
                                             "1.05 of the fastest kernel of the samples"});
  }
  if (peaks.empty()) return;
  for (const auto& [dtype, peak] : peaks) out.push_back(peak);
  const auto scalar = peaks.find(DType::fp32);
  out.push_back({"device.odd_head", (scalar == peaks.end() ? peaks.begin() : scalar)->second.value,
                 Basis::guess, "without tensor cores"});
}

// Median over shapes of one time over another, where both were measured.
std::optional<double> ratio_of(const std::map<std::string, std::pair<double, double>>& pairs) {
  std::vector<double> ratios;
  for (const auto& [shape, times] : pairs)
    if (times.first > 0 && times.second > 0) ratios.push_back(times.first / times.second);
  return ratios.empty() ? std::nullopt : std::optional(median_of(ratios));
}

void add_ratios(const std::vector<Taken>& taken, std::vector<NamedConstant>& out) {
  std::map<std::string, std::pair<double, double>> gradients, backwards;
  each<GemmCall>(taken, [&](GemmCall c, const Sample& s, const Environment&) {
    if (c.role == GemmRole::input_gradient || c.shape.batch > 1) return;
    double& time = c.role == GemmRole::forward ? gradients[point_of(GemmCall{c.dtype, {}, c.shape})].second
                                               : gradients[point_of(GemmCall{c.dtype, {}, c.shape})].first;
    if (time == 0 || !c.accumulate) time = seconds_of(s);
  });
  each<AttentionCall>(taken, [&](AttentionCall c, const Sample& s, const Environment&) {
    auto& pair = backwards[point_of(AttentionCall{c.dtype, false, c.shape})];
    (c.backward ? pair.first : pair.second) = seconds_of(s);
  });
  if (const auto r = ratio_of(gradients))
    out.push_back({"stacks.wgrad_scale", fmt::format("{:.4g}", *r), Basis::fitted,
                   "weight gradient over forward, median of the shapes with both"});
  if (const auto r = ratio_of(backwards))
    out.push_back({"device.attention_backward", fmt::format("{:.4g}", *r), Basis::fitted,
                   "backward over forward, median of the shapes with both"});
}

void add_launches(const std::vector<Taken>& taken, std::vector<NamedConstant>& out) {
  std::optional<double> in_graph, in_stream, host;
  each<LaunchCall>(taken, [&](const LaunchCall& c, const Sample& s, const Environment&) {
    if (s.device.n) (c.graph ? in_graph : in_stream) = s.device.median;
    if (!c.graph && s.host.n) host = s.host.median;
  });
  if (!in_graph) in_graph = in_stream;
  if (!host) host = in_stream;
  if (in_graph)
    out.push_back(
        {"stacks.kernel_floor", micros(*in_graph), Basis::measured, "an empty kernel, back to back"});
  if (host)
    out.push_back(
        {"stacks.host_per_kernel", micros(*host), Basis::measured, "an empty kernel, issued one by one"});
}

void add_overlap(const std::vector<Taken>& taken, std::vector<NamedConstant>& out) {
  std::vector<double> slowdowns;
  each<OverlapCall>(taken, [&](const OverlapCall&, const Sample& s, const Environment&) {
    if (s.alone > 0 && s.beside > 0) slowdowns.push_back(std::max(0.0, s.beside / s.alone - 1));
  });
  if (!slowdowns.empty())
    out.push_back({"stacks.overlap_slowdown", fmt::format("{:.3g}", median_of(slowdowns)), Basis::fitted,
                   fmt::format("median of {} kernels beside a collective", slowdowns.size())});
}

// Latency of small collectives in a node = base + ring steps x hop, by least squares.
void add_latency(const std::vector<Taken>& taken, std::vector<NamedConstant>& out) {
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  each<CollectiveCall>(taken, [&](const CollectiveCall& c, const Sample& s, const Environment&) {
    const bool ring = c.op == CollectiveOp::all_reduce || c.op == CollectiveOp::all_gather ||
                      c.op == CollectiveOp::reduce_scatter;
    if (!ring || c.group.nodes > 1 || c.bytes > 4096) return;
    const double steps = (c.group.size - 1) * (c.op == CollectiveOp::all_reduce ? 2 : 1), t = seconds_of(s);
    n += 1, sx += steps, sy += t, sxx += steps * steps, sxy += steps * t;
  });
  if (n == 0) return;
  const double spread = n * sxx - sx * sx;
  const double hop = spread > 0 ? std::max(0.0, (n * sxy - sx * sy) / spread) : 0.3 * sy / sx;
  const double base = std::max((sy - hop * sx) / n, 0.05 * sy / n);
  // One number of steps says nothing of how they and the base share the latency.
  const Basis basis = spread > 0 ? Basis::fitted : Basis::guess;
  const std::string source = std::string("all_reduce, all_gather and reduce_scatter to 4 KiB in a node") +
                             (spread > 0 ? "" : ", of one number of ring steps: 0.3 of it put to them");
  out.push_back({"algorithms.ring-ll.base", micros(base), basis, source});
  out.push_back({"algorithms.ring-ll.hop_nvlink", micros(hop), basis, source});
  out.push_back({"algorithms.tree-ll.base", micros(base), Basis::guess, "as ring-ll"});
  out.push_back({"algorithms.tree-ll.hop_nvlink", micros(hop), Basis::guess, "as ring-ll"});
}

void add_transfers(const std::vector<Taken>& taken, std::vector<NamedConstant>& out) {
  double near = 0, near_bytes = 0, far = 0, far_bytes = 0, network = 0;
  each<CollectiveCall>(taken, [&](const CollectiveCall& c, const Sample& s, const Environment& e) {
    if (c.op == CollectiveOp::send_recv && c.group.size == 2) {
      double& bytes = c.group.nodes == 1 ? near_bytes : far_bytes;
      if (bytes == 0 || c.bytes < bytes) bytes = c.bytes, (c.group.nodes == 1 ? near : far) = seconds_of(s);
    }
    // Rings over several nodes use every NIC of a node; on two nodes a tree moves less than busbw says.
    const bool ring =
        c.op == CollectiveOp::all_gather || c.op == CollectiveOp::reduce_scatter || c.group.nodes > 2;
    const double share = e.limits.network_bytes_per_s;
    if (c.group.nodes > 1 && ring && share > 0 && c.op != CollectiveOp::all_to_all &&
        c.op != CollectiveOp::send_recv)
      network = std::max(
          network, c.bytes / seconds_of(s) * bus_factor(c.op, c.group.size) / (share * c.group.per_node));
  });
  if (near > 0)
    out.push_back({"device.p2p_nvlink_latency", micros(std::max(0.0, near - 0.6e-6)), Basis::fitted,
                   "smallest send_recv of two ranks of a node, less the link's 0.6 us"});
  if (far > 0)
    out.push_back({"device.p2p_network_latency", micros(std::max(0.0, far - 2.7e-6)), Basis::fitted,
                   "smallest send_recv of two nodes, less the link's 2.7 us"});
  if (network > 0)
    out.push_back({"stacks.network_efficiency", fmt::format("{:.3g}", std::min(1.0, network)), Basis::fitted,
                   "best bus bandwidth over nodes, of the NICs' rate"});
}

// On a host a kernel is a call of a function: no launch, no context, no wrapper.
void add_host(const std::vector<Taken>& taken, std::vector<NamedConstant>& out) {
  const bool host = std::all_of(taken.begin(), taken.end(),
                                [](const Taken& t) { return t.environment->backend == "host"; });
  if (!host) return;
  const char* source = "a kernel of the host is a call of a function";
  for (const auto& [path, value] : {std::pair{"stacks.kernel_floor", "0 us"},
                                    {"stacks.host_per_kernel", "0.1 us"},
                                    {"stacks.grad_accumulate_bytes", "12"},
                                    {"device.framework", "0.1 GiB"}})
    out.push_back({path, value, Basis::guess, source});
}

// What collectives reach of the links. Where nothing states the links' rate, what was reached stands for it,
// and says nothing of how far beyond it they go.
void add_efficiency(const std::vector<Taken>& taken, double nvlink, bool stated,
                    std::vector<NamedConstant>& out) {
  const bool halves = best_bus(taken, {CollectiveOp::all_gather, CollectiveOp::reduce_scatter}) > 0;
  const double bus = halves ? best_bus(taken, {CollectiveOp::all_gather, CollectiveOp::reduce_scatter})
                            : best_bus(taken, {CollectiveOp::all_reduce});
  if (bus == 0 || nvlink == 0) return;
  const std::string ops = halves ? "all_gather and reduce_scatter" : "all_reduce alone";
  out.push_back({"device.nvlink_efficiency", fmt::format("{:.3g}", std::min(1.0, bus / nvlink)),
                 !stated || !halves ? Basis::guess : Basis::fitted,
                 "best bus bandwidth of " + ops +
                     (stated ? "" : ", which stands for the links' rate too: nothing states that")});
}

}  // namespace

std::vector<NamedConstant> device_constants(const std::vector<Taken>& taken) {
  std::vector<NamedConstant> out;
  for (const auto& t : taken) {
    if (t.borrowed) continue;
    const Limits& l = t.environment->limits;
    const std::string source = "stated by the harness for " + t.environment->device;
    if (l.memory_bytes > 0)
      out.push_back(
          {"device.memory", fmt::format("{:.5g} GiB", l.memory_bytes / kGibi), Basis::datasheet, source});
    if (l.memory_bytes_per_s > 0)
      out.push_back({"device.hbm", rate(l.memory_bytes_per_s), Basis::datasheet, source});
    if (l.link_bytes_per_s > 0)
      out.push_back({"device.nvlink", rate(l.link_bytes_per_s), Basis::datasheet, source});
    if (l.sms > 0) out.push_back({"device.sms", fmt::format("{}", l.sms), Basis::datasheet, source});
    if (!out.empty()) break;
  }
  if (auto rates = stream_rates(taken); !rates.empty())
    out.push_back({"device.hbm", rate(*std::max_element(rates.begin(), rates.end())), Basis::fitted,
                   "fastest copy or sum of the samples"});
  if (const double bus = best_bus(taken, {CollectiveOp::all_reduce, CollectiveOp::all_gather,
                                          CollectiveOp::reduce_scatter, CollectiveOp::send_recv});
      bus > 0)
    out.push_back({"device.nvlink", rate(bus), Basis::fitted, "best bus bandwidth of the samples"});
  add_peaks(taken, out);
  return out;
}

std::vector<NamedConstant> software_constants(const std::vector<Taken>& taken, double hbm, double nvlink,
                                              bool nvlink_stated) {
  std::vector<NamedConstant> out;
  if (const auto rates = stream_rates(taken); !rates.empty() && hbm > 0)
    out.push_back({"stacks.memory_efficiency", fmt::format("{:.3g}", std::min(1.0, median_of(rates) / hbm)),
                   Basis::fitted, fmt::format("median of {} copies and sums", rates.size())});
  add_efficiency(taken, nvlink, nvlink_stated, out);
  add_ratios(taken, out);
  add_launches(taken, out);
  add_overlap(taken, out);
  add_latency(taken, out);
  add_transfers(taken, out);
  add_host(taken, out);
  return out;
}

}  // namespace rehearse::calibration
