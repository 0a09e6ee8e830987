// Transfers between two GPUs.
#pragma once
#include "sim/cost/collective.hpp"

namespace rehearse {

// Share of PCIe's line rate that peer copies reach: 26.3 of 31 GB/s (A100, gen 4), 51 of 63 (H100, gen 5),
// measured host to device (Azure AI benchmarking guide).
inline constexpr double kPcieEfficiency = 0.84;

// What joins two GPUs.
enum class Medium : uint8_t { nvlink, pcie, network };

// A message from one GPU to another. Over NVLink, which no other message takes from it, `time`: the send_recv
// table of two ranks where there is one, with the difference between the cluster's latency and the profile's
// added; else software and link latency + bytes / rate. Else what goes over links: software's latency
// (profile) + `hop_latency` of the path, all bytes, and the most at which one message moves.
CollectiveCost transfer_cost(const Scenario& scenario, Bytes bytes, Medium medium,
                             Seconds hop_latency = Seconds(0));

}  // namespace rehearse
