#include "calibration/work/work.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "calibration/work/overloaded.hpp"
#include "sim/spec/names.hpp"

namespace rehearse::calibration {
namespace {

std::string point(const GemmCall& c) {
  std::string text = fmt::format("gemm {} {} m={} n={} k={}", name_of(kDTypeNames, c.dtype),
                                 name_of(kRoleNames, c.role), c.shape.m, c.shape.n, c.shape.k);
  if (c.shape.batch != 1) text += fmt::format(" batch={}", c.shape.batch);
  return c.accumulate ? text + " accumulate" : text;
}

std::string point(const AttentionCall& c) {
  const AttentionShape& s = c.shape;
  return fmt::format("attention {} {} batch={} sequence={} heads={} kv_heads={} head_dim={}{}",
                     name_of(kDTypeNames, c.dtype), c.backward ? "backward" : "forward", s.batch, s.sequence,
                     s.heads, s.kv_heads, s.head_dim, s.causal ? " causal" : "");
}

std::string point(const MemoryCall& c) {
  return fmt::format("{} {} rows={} width={}", name_of(c.kernel), name_of(kDTypeNames, c.dtype), c.shape.rows,
                     c.shape.width);
}

std::string point(const CollectiveCall& c) {
  const Group& g = c.group;
  std::string text = fmt::format("{} {} bytes={} ranks={} nodes={}x{}", name_of(kOpNames, c.op),
                                 name_of(kDTypeNames, c.dtype), c.bytes, g.size, g.nodes, g.per_node);
  if (g.stride != 1) text += fmt::format(" stride={}", g.stride);
  if (g.concurrent) text += " concurrent";
  return c.in_place ? text + " in-place" : text;
}

std::string point(const LaunchCall& c) { return c.graph ? "launch graph" : "launch stream"; }

std::string point(const OverlapCall& c) {
  const std::string kernel = std::visit([](const auto& k) { return point(k); }, c.kernel);
  return fmt::format("{} beside {} channels={}", kernel, point(c.collective), c.channels);
}

double flops(const GemmCall& c) { return 2 * c.shape.batch * c.shape.m * c.shape.n * c.shape.k; }
double flops(const AttentionCall& c) {
  const AttentionShape& s = c.shape;
  return 4 * s.batch * s.heads * s.sequence * s.sequence * s.head_dim * (s.causal ? 0.5 : 1) *
         (c.backward ? 2.5 : 1);
}
double flops(const MemoryCall&) { return 0; }

// C of a weight gradient is fp32; an accumulated one is read as well.
double moved(const GemmCall& c) {
  const GemmShape& s = c.shape;
  const double t = bytes_of(c.dtype), out = c.role == GemmRole::weight_gradient ? 4 : t;
  return s.batch * (t * s.m * s.k + t * s.k * s.n + out * s.m * s.n * (c.accumulate ? 2 : 1));
}

// Q and O have `heads`, K and V kv_heads; the log-sum-exp is fp32. The backward reads all of them and dO, and
// writes dQ, dK, dV.
double moved(const AttentionCall& c) {
  const AttentionShape& s = c.shape;
  const double tokens = s.batch * s.sequence, query = tokens * s.heads * s.head_dim,
               key = tokens * s.kv_heads * s.head_dim, lse = 4 * tokens * s.heads;
  return bytes_of(c.dtype) * (c.backward ? 4 * query + 4 * key : 2 * query + 2 * key) + lse;
}

// Bytes an element, t and 4 being the widths of the type and of fp32, and bytes a row. Half of a causal
// softmax is zero and need not be read; rows of an embedding table that tokens share need not be read twice.
struct MemoryTraffic {
  double an_element, a_row = 0;
};
MemoryTraffic traffic(MemoryKernel kernel, double t) {
  switch (kernel) {
    case MemoryKernel::copy:
    case MemoryKernel::norm:
    case MemoryKernel::gelu:
    case MemoryKernel::rope:
      return {2 * t};
    case MemoryKernel::add:
    case MemoryKernel::norm_backward:
    case MemoryKernel::gelu_backward:
    case MemoryKernel::swiglu:
      return {3 * t};
    case MemoryKernel::softmax:
      return {1.5 * t};
    case MemoryKernel::softmax_backward:
      return {2 * t};
    case MemoryKernel::dropout:
    case MemoryKernel::dropout_backward:
      return {2 * t + 1};
    case MemoryKernel::dropout_add:
      return {3 * t + 1};
    case MemoryKernel::swiglu_backward:
      return {5 * t};
    case MemoryKernel::embedding:
    case MemoryKernel::embedding_backward:
      return {t, 4};
    case MemoryKernel::cross_entropy:
      return {t, 8};
    case MemoryKernel::cross_entropy_backward:
      return {2 * t, 4};
    case MemoryKernel::accumulate:
      return {8 + t};
    case MemoryKernel::square_sum:
      return {4};
    case MemoryKernel::adam:
      return {28 + t};  // weight, two moments read and written, the gradient read; the weight in the type
  }
  throw std::invalid_argument("no such kernel");
}
double moved(const MemoryCall& c) {
  const MemoryTraffic each = traffic(c.kernel, bytes_of(c.dtype));
  return each.an_element * c.shape.elements() + each.a_row * c.shape.rows;
}

}  // namespace

std::string point_of(const Work& work) {
  return std::visit([](const auto& call) { return point(call); }, work);
}

double flops_of(const Work& work) {
  return std::visit(
      Overloaded{
          [](const CollectiveCall&) { return 0.0; }, [](const LaunchCall&) { return 0.0; },
          [](const OverlapCall& c) { return std::visit([](const auto& k) { return flops(k); }, c.kernel); },
          [](const auto& kernel) { return flops(kernel); }},
      work);
}

double bytes_of(const Work& work) {
  return std::visit(
      Overloaded{
          [](const CollectiveCall&) { return 0.0; }, [](const LaunchCall&) { return 0.0; },
          [](const OverlapCall& c) { return std::visit([](const auto& k) { return moved(k); }, c.kernel); },
          [](const auto& kernel) { return moved(kernel); }},
      work);
}

}  // namespace rehearse::calibration
