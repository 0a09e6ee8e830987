// What a topology file says: identical nodes of GPUs, what joins the GPUs of a node, and the network between
// nodes.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/units.hpp"

namespace rehearse {

// What joins the GPUs of a node.
enum class NodeShape : uint8_t {
  nvswitch,  // NVLink from every GPU to every other, at full rate
  pairs,     // NVLink joins GPUs 0 and 1, 2 and 3 ...; PCIe the rest
  pcie,      // PCIe alone
};

// What joins the NICs of all nodes. One row of a table each (cluster/network.hpp).
enum class FabricShape : uint8_t {
  one_tier,   // every NIC on one non-blocking switch
  fat_tree,   // switches in tiers; all NICs of a node on the same leaf
  rail,       // the same, with the NICs of one place in their nodes on leaves of their own
  dragonfly,  // groups of routers, each joined to every other of its group and the groups to each other
  torus,      // nodes on a 1, 2 or 3 dimensional grid that closes on itself
  ring,       // a torus of one dimension over all nodes
  full_mesh,  // a link from each node to each other
  links,      // those that the file lists
};

// Switches of one height. What is below a switch reaches the rest over its uplinks, spread evenly over them,
// as adaptive routing does; they are one link each way.
struct Tier {
  int nodes = 1;                // below one switch (rail: below one switch of each rail)
  double oversubscription = 1;  // rate of what is below over rate of the uplinks
  Seconds latency;              // of a path that goes over the uplinks, both ways together
  bool operator==(const Tier&) const = default;
};

struct Wire {            // of FabricShape::links; each way
  std::string from, to;  // "node3", or a switch's name
  BytesPerSec rate;
  bool operator==(const Wire&) const = default;
};

// A part that is not as the others.
struct Override {
  int node = -1;          // a whole node (its kernels, NVLink and NICs), or
  std::string link = {};  // links by name, as link_name() has it or without its ".up" or ".down"
  double slow = 1;        // what is left of the rate, 0 < slow <= 1
  bool down = false;      // a node that is down also passes no traffic of others on
  bool operator==(const Override&) const = default;
};

enum class RankOrder : uint8_t {
  node,  // rank r on the GPUs of the first node, then the second ...
  rail,  // rank r on node r mod nodes: consecutive ranks share a rail
};

struct Cluster {
  std::string name;
  int nodes = 1;
  int gpus_per_node = 8;
  std::string gpu;  // device that the nodes carry, as profiles name it ("a100-sxm4-80gb"); cross-checked
  NodeShape node = NodeShape::nvswitch;
  int nodes_per_domain = 1;  // nodes that one NVLink domain joins (NVL72: 18 trays)
  BytesPerSec nvlink;        // one GPU, one direction; where a topology gives none, as the profile has it
  Seconds nvlink_latency;    // GPU to GPU in an NVLink domain
  bool nvlink_of_profile = false;  // both are the profile's
  BytesPerSec pcie;         // one GPU, one direction, line rate; 0 = no limit to what NICs take (nvswitch)
  Seconds pcie_latency;     // GPU to GPU over PCIe
  int gpus_per_switch = 0;  // GPUs below one PCIe switch; 0 = all of the node, without a host bridge
  BytesPerSec bridge;       // PCIe switch to host bridge, one direction
  int nics_per_node = 8;    // divides or is divided by gpus_per_node; GPU g uses NIC g x nics / gpus
  BytesPerSec nic;          // one NIC, one direction, line rate
  Seconds nic_latency;      // node to node, one way, without Tier::latency
  std::string network;      // what it is made of ("ib-ndr"); measured tables name theirs. Empty: any
  bool sharp = false;       // switches reduce (CollNet)
  FabricShape fabric = FabricShape::one_tier;
  std::vector<Tier> tiers;  // fat_tree, rail: from the leaves up; above the last all is non-blocking
  std::vector<int> dims;    // torus
  int nodes_per_router = 1, routers_per_group = 1;  // dragonfly
  BytesPerSec local, global;                        // dragonfly: router to router, group to group
  BytesPerSec wire;         // torus, ring, full_mesh: node to neighbour, one direction
  Seconds hop_latency;      // dragonfly .. links: of each link of a path
  std::vector<Wire> wires;  // links
  std::vector<Override> overrides;
  RankOrder rank_order = RankOrder::node;
  std::vector<int> placement;  // GPU of each rank, where a file says so; empty: by rank_order

  bool operator==(const Cluster&) const = default;
  int live_nodes() const {
    int down = 0;
    for (const auto& o : overrides) down += o.node >= 0 && o.down;
    return nodes - down;
  }
  int gpus() const { return live_nodes() * gpus_per_node; }
  // NICs are told apart as far as GPUs use them apart: GPUs with several use them as one.
  int ports_per_node() const { return nics_per_node < gpus_per_node ? nics_per_node : gpus_per_node; }
  BytesPerSec port() const { return nic * (double(nics_per_node) / ports_per_node()); }
  int gpus_per_domain() const { return gpus_per_node * nodes_per_domain; }
};

}  // namespace rehearse
