#include "sim/cost/pcie.hpp"

#include <limits>

#include "sim/cost/nccl_predict.hpp"

namespace rehearse {

static double pci_hop(const std::string& algorithm) {
  if (algorithm.ends_with("ll128")) return 2.5e-6;
  return algorithm.ends_with("simple") ? 5.7e-6 : 1.0e-6;
}

static WireCollective nccl_over_pcie(const DeviceProfile& profile, const Stack& stack, CollectiveOp op,
                                     int ranks, Bytes bytes, BytesPerSec pcie, Seconds pcie_latency) {
  CollectiveCase c;
  c.op = op;
  c.ranks = c.per_node = ranks;
  c.bytes = bytes.value;
  c.nvlink = pcie;
  c.pcie = true;
  const Prediction p = nccl_prediction(profile, c, stack.nccl);
  const double flags = p.protocol == "ll" ? 2 : p.protocol == "ll128" ? 128. / 120 : 1;
  double sent = op == CollectiveOp::broadcast ? bytes.value : bytes_sent_per_rank(op, ranks, bytes.value);
  if (p.algorithm == "tree") sent = tree_bytes(ranks, bytes.value);
  WireCollective w;
  w.bytes_per_node = sent * flags;
  w.latency = p.latency + pcie_latency;
  w.in_node_cap = BytesPerSec(std::numeric_limits<double>::infinity());
  w.basis = Basis::guess;
  w.outside = true;
  w.algorithm = p.algorithm, w.protocol = p.protocol;
  return w;
}

WireCollective over_pcie(const DeviceProfile& profile, const Stack& stack, CollectiveOp op, int ranks,
                         Bytes bytes, BytesPerSec pcie, Seconds pcie_latency) {
  if (profile.architecture) return nccl_over_pcie(profile, stack, op, ranks, bytes, pcie, pcie_latency);
  double steps = ranks - 1;
  if (op == CollectiveOp::all_reduce) steps *= 2;
  if (op == CollectiveOp::send_recv || op == CollectiveOp::all_to_all) steps = 1;
  const double sent =
      op == CollectiveOp::broadcast ? bytes.value : bytes_sent_per_rank(op, ranks, bytes.value);
  WireCollective best;
  double least = std::numeric_limits<double>::infinity();
  for (const auto& a : profile.algorithms) {
    if (a.tree) continue;
    WireCollective w;
    w.latency = Seconds(a.base_s.value + steps * (pci_hop(a.name) + pcie_latency.value));
    w.bytes_per_node = sent / a.payload.value;
    w.in_node_cap = BytesPerSec(std::numeric_limits<double>::infinity());
    w.basis = Basis::guess;
    w.protocol = std::string_view(a.name).substr(a.name.find('-') + 1);
    const double time = w.latency.value + w.bytes_per_node / (pcie.value * kPcieEfficiency);
    if (time < least) least = time, best = w;
  }
  return best;
}

Seconds p2p_pcie_latency(const DeviceProfile& profile, Seconds pcie_latency) {
  return Seconds(profile.p2p_nvlink_latency_s.value) + pcie_latency;
}

}  // namespace rehearse
