// The links that traffic between nodes can contend for, and the way from GPU to GPU over them.
#pragma once
#include <string>
#include <vector>

#include "sim/base/index.hpp"
#include "sim/cluster/cluster.hpp"

namespace rehearse {

struct FabricLink {
  BytesPerSec rate;    // line rate, one direction
  int link_class = 0;  // links of one class are alike in rate and role ("NIC up", "NIC down"); names in
                       // Fabric::class_names
};

// A transfer inside a node never touches `links`: NVLink through NVSwitch is non-blocking per GPU, and its
// times are calibrated durations. Between nodes it leaves by `up(src)`, enters by `down(dst)`.
class Fabric {
 public:
  explicit Fabric(const Cluster& cluster);

  const Cluster& cluster() const { return cluster_; }
  int node_of(GpuId g) const { return g.value / cluster_.gpus_per_node; }
  bool same_node(GpuId a, GpuId b) const { return node_of(a) == node_of(b); }
  int nic_of(GpuId g) const;  // index over the whole cluster
  LinkId up(GpuId g) const { return LinkId(2 * nic_of(g)); }
  LinkId down(GpuId g) const { return LinkId(2 * nic_of(g) + 1); }
  // Links crossed between two GPUs of different nodes, in order; empty inside a node.
  std::vector<LinkId> route(GpuId src, GpuId dst) const;

  int link_count() const { return 2 * cluster_.nodes * cluster_.nics_per_node; }
  FabricLink link(LinkId l) const { return {cluster_.nic, l.value % 2}; }
  std::string link_name(LinkId l) const;  // "node3.nic5.up"

 private:
  Cluster cluster_;
};

}  // namespace rehearse
