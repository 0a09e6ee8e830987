#include "sim/cluster/fabric.hpp"

namespace rehearse {

Fabric::Fabric(const Cluster& cluster) : cluster_(cluster) {}

int Fabric::nic_of(GpuId g) const {
  const int local = g.value % cluster_.gpus_per_node;
  return node_of(g) * cluster_.nics_per_node + local * cluster_.nics_per_node / cluster_.gpus_per_node;
}

std::vector<LinkId> Fabric::route(GpuId src, GpuId dst) const {
  if (same_node(src, dst)) return {};
  return {up(src), down(dst)};
}

std::string Fabric::link_name(LinkId l) const {
  const int nic = l.value / 2;
  return "node" + std::to_string(nic / cluster_.nics_per_node) + ".nic" +
         std::to_string(nic % cluster_.nics_per_node) + (l.value % 2 ? ".down" : ".up");
}

}  // namespace rehearse
