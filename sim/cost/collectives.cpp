#include "sim/cost/collectives.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "sim/cost/padded.hpp"
#include "sim/cost/plain_collectives.hpp"
#include "sim/spec/names.hpp"

namespace rehearse {
namespace {

std::string_view dtype_word(DType t) {
  switch (t) {
    case DType::fp16:
      return "f16";
    case DType::bf16:
      return "bf16";
    case DType::fp8:
      return "f8e4m3";
    default:
      return "f32";
  }
}

}  // namespace

// Where NCCL changes the protocol of a ring on one node of 8 A100.
static std::string_view ring_protocol(Bytes bytes) {
  return bytes.value <= 2 * kMebi ? "ll" : bytes.value <= 16 * kMebi ? "ll128" : "simple";
}

static CollectiveCase case_of(CollectiveOp op, const GroupShape& shape, Bytes bytes, BytesPerSec nvlink,
                              const CollectiveContext& context) {
  CollectiveCase c;
  c.op = op;
  c.ranks = shape.ranks, c.nodes = shape.nodes, c.per_node = shape.per_node;
  c.bytes = bytes.value;
  c.nvlink = nvlink;
  c.network = context.network;
  c.sharp = context.sharp;
  c.pcie = context.pcie;
  c.nics = context.nics;
  c.nvlink_more = context.nvlink_more;
  return c;
}

CollectiveTime in_node_collective(const DeviceProfile& profile, const Stack& stack, CollectiveOp op,
                                  int ranks, Bytes bytes, BytesPerSec nvlink,
                                  const CollectiveContext& context) {
  if (ranks <= 1) return {Seconds(0), Basis::measured, false};
  if (!profile.architecture) {
    CollectiveTime t = plain_in_node(profile, op, ranks, bytes, nvlink, context.nvlink_more);
    t.protocol = ring_protocol(bytes);
    return t;
  }
  const auto p =
      padded_collective(profile, case_of(op, {ranks, 1, ranks, true}, bytes, nvlink, context), stack.nccl);
  return {p.time, p.basis, p.outside, p.algorithm, p.protocol};
}

WireCollective across_nodes(const DeviceProfile& profile, const Stack& stack, CollectiveOp op,
                            const GroupShape& shape, Bytes bytes, BytesPerSec nvlink,
                            BytesPerSec node_network, Seconds nic_latency, const CollectiveContext& context) {
  if (shape.nodes < 2) throw std::invalid_argument("a collective across nodes needs two nodes");
  if (!profile.architecture)
    return plain_across(profile, stack, op, shape, bytes, nvlink, node_network, nic_latency,
                        context.nvlink_more);
  CollectiveCase c = case_of(op, shape, bytes, nvlink, context);
  c.node_network = node_network * (1 / stack.network_efficiency.value);
  c.network_share = stack.network_efficiency.value;
  c.nic_latency = nic_latency;
  const Prediction p = padded_collective(profile, c, stack.nccl);
  WireCollective w;
  // Alone on links of node_network the flow ends at the predicted time: what a table or a larger call shows
  // to take less than these bytes do there moves no more than fits.
  w.bytes_per_node =
      std::min(wire_bytes(c, p.algorithm, p.protocol), p.time.value * node_network.value * (1 - 1e-9));
  const double on_links = w.bytes_per_node / node_network.value;
  w.latency = std::max(Seconds(0), std::min(p.latency, p.time - Seconds(on_links)));
  w.in_node_cap = Bytes(w.bytes_per_node) / (p.time - w.latency);
  w.basis = p.basis;
  w.time = p.time;
  w.outside = p.outside;
  w.algorithm = p.algorithm, w.protocol = p.protocol;
  return w;
}

CollectiveTime p2p_in_node(const DeviceProfile& profile, Bytes bytes, BytesPerSec nvlink,
                           Seconds nvlink_latency) {
  const auto tables = tables_for(profile, CollectiveOp::send_recv, 2);
  if (!tables.empty()) {
    CollectiveTime t = from_tables(tables, bytes.value, profile.nvlink_bytes_per_s.value / nvlink.value);
    t.time += nvlink_latency - Seconds(profile.nvlink_latency_s.value);
    return t;
  }
  const BytesPerSec rate = nvlink * profile.nvlink_efficiency.value;
  const Seconds latency = Seconds(profile.p2p_nvlink_latency_s.value) + nvlink_latency;
  return {latency + bytes / rate, profile.p2p_nvlink_latency_s.basis, false};
}

Seconds p2p_network_latency(const DeviceProfile& profile, Seconds nic_latency) {
  return Seconds(profile.p2p_network_latency_s.value) + nic_latency;
}

static std::string upper(std::string_view word) {
  std::string text;
  for (const char c : word) text += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return text;
}

std::string nccl_kernel_name(CollectiveOp op, DType dtype, std::string_view algorithm,
                             std::string_view protocol) {
  const std::string type(dtype_word(dtype)), how = upper(algorithm) + "_" + upper(protocol);
  switch (op) {
    case CollectiveOp::all_reduce:
      return "ncclDevKernel_AllReduce_Sum_" + type + "_" + how;
    case CollectiveOp::all_gather:
      return "ncclDevKernel_AllGather_" + how;
    case CollectiveOp::reduce_scatter:
      return "ncclDevKernel_ReduceScatter_Sum_" + type + "_" + how;
    case CollectiveOp::broadcast:
      return "ncclDevKernel_Broadcast_" + how;
    default:
      return "ncclDevKernel_SendRecv";
  }
}

std::string nccl_kernel_name(CollectiveOp op, DType dtype, Bytes bytes) {
  return nccl_kernel_name(op, dtype, "ring", ring_protocol(bytes));
}

}  // namespace rehearse
