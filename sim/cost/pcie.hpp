// Collectives and transfers between GPUs of one node that NVLink does not join.
#pragma once
#include "sim/cost/collectives.hpp"

namespace rehearse {

// Share of PCIe's line rate that peer copies reach: 26.3 of 31 GB/s (A100, gen 4), 51 of 63 (H100, gen 5),
// measured host to device (Azure AI benchmarking guide).
inline constexpr double kPcieEfficiency = 0.84;

// A ring over all GPUs, every edge over PCIe: bytes_per_node are those of each edge. Latency as across nodes,
// with the hops of NCCL's tuning model over PCI (src/graph/tuning.cc: LL 1.0, LL128 2.5, Simple 5.7 us) and
// `pcie_latency` on each. Chooses the protocol of least latency + bytes / `pcie` on an idle node.
// By NCCL's cost model where the profile has an architecture; Stack::nccl as for in_node_collective().
WireCollective over_pcie(const DeviceProfile& profile, const Stack& stack, CollectiveOp op, int ranks,
                         Bytes bytes, BytesPerSec pcie, Seconds pcie_latency);

// Latency of a transfer between two GPUs over PCIe: software's share as over NVLink, and the link's.
Seconds p2p_pcie_latency(const DeviceProfile& profile, Seconds pcie_latency);

}  // namespace rehearse
