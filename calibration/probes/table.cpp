#include "calibration/probes/probe.hpp"

namespace rehearse::calibration {

std::span<const Probe> probe_table() {
  static const Probe table[] = {kGemmProbe,   kBatchedGemmProbe, kAttentionProbe,  kMemoryProbe,
                                kLaunchProbe, kBandwidthProbe,   kCollectiveProbe, kOverlapProbe};
  return table;
}

const Probe& probe_of(const Work& work) {
  if (std::holds_alternative<AttentionCall>(work)) return kAttentionProbe;
  if (std::holds_alternative<MemoryCall>(work)) return kMemoryProbe;
  if (std::holds_alternative<LaunchCall>(work)) return kLaunchProbe;
  if (std::holds_alternative<CollectiveCall>(work)) return kCollectiveProbe;
  if (std::holds_alternative<OverlapCall>(work)) return kOverlapProbe;
  return std::get<GemmCall>(work).shape.batch == 1 ? kGemmProbe : kBatchedGemmProbe;
}

}  // namespace rehearse::calibration
