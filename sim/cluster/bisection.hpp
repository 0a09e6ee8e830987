// How much a network carries from one half of a cluster to the other.
#pragma once
#include "sim/cluster/fabric.hpp"

namespace rehearse {

struct Bisection {
  BytesPerSec rate;     // one direction, first half to second
  bool network = true;  // else the halves lie in one NVLink domain or node
};

// Halves of the domains in order (of an odd number the first is the smaller), or, of a cluster of one domain,
// of its GPUs. The rate is the maximum flow through NICs and network that leaves the first half at all its
// NICs and enters the second at all of its: what the narrowest cut between the halves lets through. In one
// domain it is what NVLink or PCIe lets through; 0 for one GPU.
Bisection bisection(const Fabric& fabric);

}  // namespace rehearse
