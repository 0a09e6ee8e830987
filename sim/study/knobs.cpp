#include "sim/study/knobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rehearse {

namespace {

void scale(Constant& constant, double factor) { constant.value *= factor; }

// Shared by many scenarios, so that a changed one is a copy.
template <class F>
void change_profile(Scenario& scenario, const F& change) {
  auto profile = std::make_shared<DeviceProfile>(*scenario.profile);
  change(*profile);
  scenario.profile = std::move(profile);
}

int whole(int count, double factor, const char* key) {
  const double scaled = count * factor;
  if (scaled < 1 || scaled != std::floor(scaled) || scaled > 1e9)
    throw InputErrors({{},
                       key,
                       "E-KNOB-WHOLE",
                       fmt::format("{} {} x {:g} is no whole number", key, count, factor),
                       "choose factors that divide it"});
  return int(scaled);
}

void nvlink(Scenario& s, double factor) { s.cluster.nvlink = BytesPerSec(s.cluster.nvlink.value * factor); }

// All rates between nodes: of the NICs, and of links that a fabric gives on its own.
void nic(Scenario& s, double factor) {
  for (BytesPerSec* rate : {&s.cluster.nic, &s.cluster.wire, &s.cluster.local, &s.cluster.global})
    *rate *= factor;
  for (Wire& wire : s.cluster.wires) wire.rate *= factor;
}

void latency(Scenario& s, double factor) {
  s.cluster.nvlink_latency = Seconds(s.cluster.nvlink_latency.value * factor);
  s.cluster.nic_latency = Seconds(s.cluster.nic_latency.value * factor);
  change_profile(s, [&](DeviceProfile& profile) {
    for (Constant* c :
         {&profile.nvlink_latency_s, &profile.p2p_nvlink_latency_s, &profile.p2p_network_latency_s})
      scale(*c, factor);
    profile.nccl_latency_scale *= factor;
    for (auto& a : profile.algorithms)
      for (Constant* c : {&a.base_s, &a.hop_nvlink_s, &a.hop_network_s}) scale(*c, factor);
    for (auto& table : profile.collectives) {
      const double more = table.seconds.empty() ? 0 : (factor - 1) * table.seconds.front();
      for (double& seconds : table.seconds) seconds += more;
    }
  });
}

void hbm(Scenario& s, double factor) {
  change_profile(s, [&](DeviceProfile& profile) {
    scale(profile.hbm_bytes_per_s, factor);
    for (auto& table : profile.memory)
      for (auto& row : table.rows) row.seconds /= factor;
  });
}

void flops(Scenario& s, double factor) {
  const double floor = s.stack.kernel_floor_s.value;
  const auto faster = [&](double& seconds) {
    seconds = std::max(seconds / factor, std::min(seconds, floor));
  };
  change_profile(s, [&](DeviceProfile& profile) {
    for (auto& [dtype, peak] : profile.peak_flops) scale(peak, factor);
    scale(profile.odd_head_flops, factor);
    for (auto& table : profile.gemm)
      for (auto& row : table.rows) faster(row.seconds);
    for (auto& table : profile.batched_gemm)
      for (auto& row : table.rows) faster(row.seconds);
    for (auto& table : profile.attention)
      for (auto& row : table.rows) faster(row.seconds);
  });
}

void launch(Scenario& s, double factor) {
  scale(s.stack.kernel_floor_s, factor);
  scale(s.stack.host_per_kernel_s, factor);
  scale(s.stack.host_per_exchange_s, factor);
}

void batch(Scenario& s, double factor) { s.batch.global = whole(s.batch.global, factor, "batch.global"); }

void sequence(Scenario& s, double factor) {
  s.batch.sequence = whole(s.batch.sequence, factor, "batch.sequence");
  s.model.sequence = std::max(s.model.sequence, s.batch.sequence);
}

// Where something names single nodes or ranks, another number of them would be another cluster.
void refuse_fixed_nodes(const Cluster& c) {
  const char* by = !c.placement.empty()             ? "the placement of its ranks"
                   : !c.overrides.empty()           ? "its overrides"
                   : c.fabric == FabricShape::torus ? "the dimensions of its torus"
                   : c.fabric == FabricShape::links ? "its list of links"
                                                    : nullptr;
  if (by)
    throw InputErrors({{},
                       "cluster.nodes",
                       "E-KNOB-NODES",
                       fmt::format("the number of the cluster's nodes is fixed by {}", by),
                       ""});
}

void gpus(Scenario& s, double factor) {
  refuse_fixed_nodes(s.cluster);
  s.cluster.nodes = whole(s.cluster.nodes, factor, "cluster.nodes");
  s.layout.dp = whole(s.layout.dp, factor, "layout.dp");
}

constexpr Named<Knob> kKnobs[] = {
    {"nvlink", "rate of NVLink", nvlink},
    {"nic", "rate of the NICs and of links between nodes", nic},
    {"latency", "of links, NICs and collectives", latency},
    {"hbm", "memory bandwidth", hbm},
    {"flops", "FLOP rate", flops},
    {"launch", "kernel floor and host time a kernel", launch},
    {"batch", "sequences a step", batch},
    {"sequence", "tokens a sequence", sequence},
    {"gpus", "nodes and data-parallel replicas", gpus},
};

}  // namespace

std::span<const Named<Knob>> knob_table() { return kKnobs; }

}  // namespace rehearse
