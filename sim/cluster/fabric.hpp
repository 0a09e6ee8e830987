// The links that traffic can contend for, and the way from GPU to GPU over them.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/base/index.hpp"
#include "sim/cluster/network.hpp"

namespace rehearse {

struct FabricLink {
  BytesPerSec rate;    // line rate, one direction, overrides included; 0 where it is down
  int link_class = 0;  // index into Fabric::classes()
};

struct Path {
  std::vector<LinkId> links;  // in order
  Seconds latency;
  bool network = false;  // it leaves the node by a NIC
};

// GPUs of one *island* reach each other by NVLink alone, which is non-blocking: their transfers touch no
// link, and their times are calibrated durations. A *domain* is what NCCL takes for a node: an NVLink domain
// that joins nodes, else the node. Inside a domain of several islands traffic crosses PCIe, between domains
// the network: it leaves by the NIC port of its GPU and enters by that of the other.
class Fabric {
 public:
  explicit Fabric(const Cluster& cluster);

  const Cluster& cluster() const { return cluster_; }
  int node_of(GpuId g) const { return g.value / cluster_.gpus_per_node; }
  int local_of(GpuId g) const { return g.value % cluster_.gpus_per_node; }
  int domain_of(GpuId g) const { return node_of(g) / cluster_.nodes_per_domain; }
  int island_of(GpuId g) const;
  bool same_domain(GpuId a, GpuId b) const { return domain_of(a) == domain_of(b); }
  bool same_island(GpuId a, GpuId b) const { return island_of(a) == island_of(b); }
  // NIC port, over the whole cluster; the next of its node where its own is down.
  int port_of(GpuId g) const;
  // By which traffic leaves the node: on rails, where NVLink joins its GPUs, by the NIC on the rail of `to`
  // (NCCL's PXN), if that one is up; else by its own.
  int exit_port(GpuId from, GpuId to) const;
  double speed_of(int node) const;  // of its kernels and NVLink, 1 unless an override slows it

  // Links crossed between two GPUs; none in an island. Throws std::runtime_error where no way is left.
  Path route(GpuId from, GpuId to) const;
  // The same from port to port, as the rings of collectives leave and enter nodes.
  Path route_ports(int from, int to) const;

  int link_count() const { return link_count_; }
  FabricLink link(LinkId l) const;
  const std::vector<LinkClass>& classes() const { return classes_; }
  std::string link_name(LinkId l) const;  // "node3.nic5.up"
  // What the links join; of them those of the network alone.
  const NetworkGraph& graph() const { return network_.graph; }
  // Indices of those of cluster().overrides that name nothing.
  const std::vector<size_t>& unknown_overrides() const { return unknown_; }
  bool of_network(LinkId l) const { return l.value < first_pcie_; }

 private:
  void add_ports();
  void add_pcie();
  void apply_to_node(int node, double factor);
  void apply(const std::vector<Override>& overrides);
  int class_of(LinkId l) const;
  void pcie_path(GpuId from, GpuId to, std::vector<LinkId>& links) const;

  Cluster cluster_;
  std::vector<LinkClass> classes_;  // of the ports, of the network, of PCIe; in order of their links
  int link_count_ = 0, first_pcie_ = 0;
  int pcie_up_ = -1, bridge_up_ = -1;  // classes; -1 where there are none
  Network network_;
  // By link: what is left of its rate, 0 where it is down. The network asks it too, also that of a copy.
  std::shared_ptr<std::map<int, double>> factors_ = std::make_shared<std::map<int, double>>();
  std::map<int, double> node_speed_;  // by node
  std::vector<size_t> unknown_;
};

// GPU of each rank, as `placement` or else `rank_order` says; empty where rank r is on GPU r. Nodes that are
// down carry none.
std::vector<int> place_ranks(const Cluster& cluster);

}  // namespace rehearse
