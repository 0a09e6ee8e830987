// Collectives on an idle machine, as random tests ask for them.
#pragma once
#include <cmath>
#include <ostream>
#include <string>

#include "sim/cost/transfers.hpp"
#include "sim/graph/ops.hpp"
#include "sim/io/profile.hpp"
#include "tests/support/pick.hpp"
#include "tests/support/scenarios.hpp"

namespace rehearse::test {

struct Asked {
  Scenario scenario;
  GroupShape shape;
  CollectiveOp op = CollectiveOp::all_reduce;
  Bytes bytes;
  int ports = 1;
};

inline std::ostream& operator<<(std::ostream& out, const Asked& a) {
  const Cluster& c = a.scenario.cluster;
  return out << a.scenario.profile->name << ": op " << int(a.op) << " of " << a.bytes.value << " bytes, "
             << a.shape.nodes << " x " << a.shape.per_node << (a.shape.nvlink ? " on NVLink " : " on PCIe ")
             << c.nvlink.value << ", " << c.nvlink_latency.value << " s, PCIe " << c.pcie.value << ", "
             << c.pcie_latency.value << " s, " << a.ports << " ports " << c.nic.value << ", "
             << c.nic_latency.value << " s, " << c.network << (c.sharp ? ", sharp" : "");
}

// "plain", or a file's name.
inline std::shared_ptr<const DeviceProfile> profile_named(const std::string& name) {
  return name == "plain" ? plain_profile()
                         : load_profile(REHEARSE_SOURCE_DIR "/calibration/profiles/" + name + ".yaml");
}

// As `rehearse collective` prices it: what leaves an island moves at the slower of what the links let pass
// and what the model reaches.
inline double seconds(const Asked& a) {
  const Cluster& c = a.scenario.cluster;
  return group_collective(a.scenario, a.op, a.shape, a.bytes, a.ports, c.nic_latency).time.value;
}

inline Asked drawn_collective(std::mt19937& random, const std::shared_ptr<const DeviceProfile>& profile) {
  Asked a;
  a.scenario = small_scenario();
  a.scenario.profile = profile;
  a.scenario.stack = *profile->stack(profile->default_stack);
  Cluster& c = a.scenario.cluster;
  c.gpus_per_node = pick(random, {1, 2, 4, 8});
  c.nics_per_node = pick(random, {1, c.gpus_per_node});
  c.nodes = pick(random, {1, 1, 2, 2, 3, 4, 16});
  if (c.nodes * c.gpus_per_node == 1) c.nodes = 2;
  c.network = pick<const char*>(random, {"ib-hdr", "ib-ndr", "roce", "efa-v2", "ethernet"});
  c.nvlink = BytesPerSec(pick(random, {300e9, 450e9, 900e9}));
  c.nvlink_latency = Seconds(pick(random, {0.0, 0.6e-6, 0.6e-6, 3e-6}));
  c.nic = BytesPerSec(pick(random, {12.5e9, 25e9, 50e9, 100e9}));
  c.nic_latency = Seconds(pick(random, {1e-6, 2.7e-6, 10e-6}));
  c.sharp = pick(random, {false, true});
  a.shape = {.ranks = c.nodes * c.gpus_per_node, .nodes = c.nodes, .per_node = c.gpus_per_node};
  a.shape.nvlink = c.gpus_per_node == 1 || pick(random, {true, true, false});
  if (!a.shape.nvlink || (c.nodes > 1 && pick(random, {0, 0, 1}))) {
    c.pcie = BytesPerSec(pick(random, {10e9, 25e9, 50e9}));
    c.pcie_latency = Seconds(pick(random, {0.0, 1e-6}));
  }
  a.ports = c.nics_per_node;
  a.op = pick(random, {CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter,
                       CollectiveOp::all_to_all, CollectiveOp::send_recv});
  a.bytes = Bytes(std::exp2(std::uniform_real_distribution<double>(2, 32)(random)));
  return a;
}

}  // namespace rehearse::test
