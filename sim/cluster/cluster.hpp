// What a topology file says: identical nodes of GPUs joined by NVLink, and a fabric of NICs between nodes.
#pragma once
#include <string>

#include "sim/base/units.hpp"

namespace rehearse {

// Shapes of the network between nodes. One row of a table each (cluster/fabric.cpp).
enum class FabricShape {
  one_tier,  // every NIC on one non-blocking switch
};

struct Cluster {
  std::string name;
  int nodes = 1;
  int gpus_per_node = 8;
  std::string gpu;     // device that the nodes carry, as profiles name it ("a100-sxm4-80gb"); cross-checked
  BytesPerSec nvlink;  // one GPU, one direction; where a topology gives none, as the profile was measured
  Seconds nvlink_latency;          // GPU to GPU in a node
  bool nvlink_of_profile = false;  // both are the profile's
  int nics_per_node = 8;           // divides or is divided by gpus_per_node; GPU g uses NIC g x nics / gpus
  BytesPerSec nic;                 // one NIC, one direction, line rate
  Seconds nic_latency;             // node to node, one way
  FabricShape fabric = FabricShape::one_tier;

  int gpus() const { return nodes * gpus_per_node; }
};

}  // namespace rehearse
