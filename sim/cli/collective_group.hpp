// Where the ranks of `rehearse collective` lie, and the links that they then hold.
#pragma once
#include "sim/plan/group_links.hpp"

namespace rehearse {

struct CollectiveGroup {
  GroupShape shape;
  int ports = 1;         // NIC ports that the ranks of an NVLink domain use
  BytesPerSec on_links;  // what the links between domains let pass of what leaves one, or PCIe inside one
  Seconds hop_latency;   // from domain to domain, or over PCIe
};

// The first `per_node` GPUs of each of `ranks` / `per_node` nodes, which are spread evenly over as few NVLink
// domains as hold them. The cluster takes as many nodes as that needs; throws InputErrors (E-CLUSTER-SIZE)
// where its network has a number of its own that is too small, (E-CLUSTER-OVERRIDE) where an override then
// names nothing. Traffic goes from each domain to each other (all_to_all), from each GPU to the next
// (send_recv: one of each domain sends to the next by its NIC alone), else in a ring over the domains.
CollectiveGroup collective_group(Cluster cluster, int ranks, int per_node, CollectiveOp op);

}  // namespace rehearse
