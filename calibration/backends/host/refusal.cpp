#include "calibration/backends/host/refusal.hpp"

#include <climits>
#include <map>

#include "calibration/work/operands.hpp"

namespace rehearse::calibration::host {
namespace {

using Reason = std::optional<std::string>;

struct Job {
  int ranks, per_node, cores;
};

Reason refuse_type(DType type) {
  if (type == DType::fp32) return std::nullopt;
  return "the host backend computes in fp32 alone";
}

bool below(double count, double bound) { return count >= 1 && count <= bound; }

Reason refuse(const GemmCall& call, const Job&) {
  if (auto why = refuse_type(call.dtype)) return why;
  const auto& s = call.shape;
  if (!below(s.m, INT_MAX) || !below(s.n, INT_MAX) || !below(s.k, INT_MAX) || s.batch < 1)
    return "OpenBLAS takes dimensions from 1 to 2^31 - 1";
  return std::nullopt;
}

Reason refuse(const AttentionCall& call, const Job&) {
  if (auto why = refuse_type(call.dtype)) return why;
  const auto& s = call.shape;
  if (!below(s.sequence, INT_MAX) || !below(s.heads * s.head_dim, INT_MAX) || s.kv_heads < 1 || s.batch < 1)
    return "OpenBLAS takes dimensions from 1 to 2^31 - 1";
  if (int64_t(s.heads) % int64_t(s.kv_heads) != 0)
    return "query heads do not divide into groups of key-value heads";
  return std::nullopt;
}

Reason refuse(const MemoryCall& call, const Job&) {
  if (call.kernel == MemoryKernel::rope && int64_t(call.shape.width) % 2 != 0)
    return "rope rotates pairs: the width is odd";
  return refuse_type(call.dtype);
}

// per_node members on each of the nodes that hold any
bool lies_as_said(const Group& g, const std::vector<int>& members, int per_node) {
  std::map<int, int> on_node;
  for (int rank : members) ++on_node[rank / per_node];
  for (const auto& [node, count] : on_node)
    if (count != g.per_node) return false;
  return int(on_node.size()) == g.nodes;
}

Reason refuse(const CollectiveCall& call, const Job& job) {
  if (auto why = refuse_type(call.dtype)) return why;
  const Group& g = call.group;
  if (call.bytes / 4 > INT_MAX - g.size) return "MPI counts elements in 31 bits: at most 8 GiB";
  if (g.size < 1 || g.stride < 1 || g.nodes * g.per_node != g.size) return "a group of no such shape";
  const int block = g.size * g.stride;
  if (block > job.ranks) return "the group needs more ranks than the job has";
  if (g.concurrent && job.ranks % block != 0) return "groups of this shape do not tile the ranks of the job";
  for (int first = 0; first < (g.concurrent ? job.ranks : 1); ++first)
    if (!lies_as_said(g, members_of(g, first, job.ranks), job.per_node))
      return "groups of this shape lie otherwise on the nodes of the job";
  return std::nullopt;
}

Reason refuse(const LaunchCall&, const Job&) { return std::nullopt; }

Reason refuse(const OverlapCall& call, const Job& job) {
  if (call.channels != 0) return "the host has no channels to limit";
  if (job.cores < 2) return "a kernel beside a collective takes two cores a rank";
  if (auto why = std::visit([&](const auto& kernel) { return refuse(kernel, job); }, call.kernel)) return why;
  return refuse(call.collective, job);
}

}  // namespace

std::optional<std::string> refusal(const Work& work, int ranks, int per_node, int cores) {
  return std::visit([&](const auto& call) { return refuse(call, Job{ranks, per_node, cores}); }, work);
}

}  // namespace rehearse::calibration::host
