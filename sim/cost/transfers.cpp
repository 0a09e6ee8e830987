#include "sim/cost/transfers.hpp"

#include <algorithm>

#include "sim/cost/moved_bytes.hpp"
#include "sim/cost/strategies.hpp"

namespace rehearse {

static CollectiveCost over_nvlink(const DeviceProfile& profile, const Cluster& cluster, Bytes bytes) {
  const auto tables = tables_for(profile, CollectiveOp::send_recv, 2);
  if (!tables.empty()) {
    CollectiveCost cost =
        from_tables(tables, bytes.value, profile.nvlink_bytes_per_s.value / cluster.nvlink.value);
    CollectiveQuery q{.op = CollectiveOp::send_recv, .bytes = bytes.value, .in_node = cluster.nvlink};
    q.nvlink_more = cluster.nvlink_latency - Seconds(profile.nvlink_latency_s.value);
    cost.time = with_nvlink_latency(profile, q, cost.time, Algorithm::p2p, Protocol::simple);
    return cost;
  }
  CollectiveCost cost;
  const BytesPerSec rate = cluster.nvlink * profile.nvlink_efficiency.value;
  cost.time = Seconds(profile.p2p_nvlink_latency_s.value) + cluster.nvlink_latency + bytes / rate;
  cost.basis = profile.p2p_nvlink_latency_s.basis;
  return cost;
}

static CollectiveCost over_links(const Constant& software, Seconds hop_latency, Bytes bytes,
                                 BytesPerSec rate_cap) {
  CollectiveCost cost;
  cost.latency = Seconds(software.value) + hop_latency;
  cost.link_bytes = bytes.value;
  cost.rate_cap = rate_cap;
  cost.time = cost.latency + bytes / rate_cap;
  cost.basis = software.basis;
  return cost;
}

static CollectiveCost cost_over(const Scenario& s, Bytes bytes, Medium medium, Seconds hop_latency) {
  const DeviceProfile& p = *s.profile;
  switch (medium) {
    case Medium::nvlink:
      return over_nvlink(p, s.cluster, bytes);
    case Medium::pcie:  // software as over NVLink
      return over_links(p.p2p_nvlink_latency_s, hop_latency, bytes, s.cluster.pcie * kPcieEfficiency);
    case Medium::network:
      break;
  }
  CollectiveCost cost = over_links(p.p2p_network_latency_s, hop_latency, bytes,
                                   s.cluster.port() * s.stack.p2p_efficiency.value);
  cost.basis = std::max(cost.basis, s.stack.p2p_efficiency.basis);
  return cost;
}

CollectiveCost transfer_cost(const Scenario& scenario, Bytes bytes, Medium medium, Seconds hop_latency) {
  CollectiveCost cost = cost_over(scenario, bytes, medium, hop_latency);
  cost.algorithm = Algorithm::p2p;
  return cost;
}

}  // namespace rehearse
