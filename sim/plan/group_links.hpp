// Which links a group of GPUs holds while it communicates, and how much each carries.
#pragma once
#include <utility>
#include <vector>

#include "sim/plan/layout.hpp"

namespace rehearse {

// A lock-step collective holds all its links at once. A link of weight w carries w / parts of the bytes that
// leave a domain; inside one domain of several islands, of the bytes that go over each edge of the ring.
struct GroupLinks {
  std::vector<std::pair<int, int>> weights;  // (LinkId value, weight), ascending; empty in one island
  int parts = 1;
  int ports = 1;        // NIC ports used of the domain that uses fewest
  Seconds hop_latency;  // from domain to domain, mean over the edges
};

// A ring over the domains in order of their first rank, and inside each over its GPUs. It runs in `parts`
// lanes, spread evenly over the ports that the group uses of each domain, so that a port of a domain with few
// carries more. Trees cross every cut between domains in this order about as often, and their load on the
// ports is even too (double binary trees), so that all algorithms are put on the links like this.
GroupLinks ring_links(const std::vector<GpuId>& gpus, const Fabric& fabric);

// From each domain to each other, equal parts: all_to_all. Inside one domain from each GPU to each other, a
// link of weight w carrying w / parts of what a GPU sends in all.
GroupLinks pair_links(const std::vector<GpuId>& gpus, const Fabric& fabric);

}  // namespace rehearse
