// No rate or count of links raised, and no latency lowered, makes a collective slower on an idle machine.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "sim/graph/ops.hpp"
#include "sim/io/profile.hpp"
#include "tests/support/pick.hpp"
#include "tests/support/scenarios.hpp"

namespace rehearse {
namespace {

using test::pick;

struct Asked {
  Scenario scenario;
  GroupShape shape;
  CollectiveOp op = CollectiveOp::all_reduce;
  Bytes bytes;
  int ports = 1;
};

// As `rehearse collective` prices it: what leaves a node moves at the slower of what the links let pass and
// what the model reaches.
double seconds(const Asked& a) {
  const Cluster& c = a.scenario.cluster;
  const auto cost = group_collective(a.scenario, a.op, a.shape, a.bytes, a.ports, c.nic_latency);
  if (a.shape.in_island()) return cost.in_island.time.value;
  double links = (c.port() * a.ports).value * a.scenario.stack.network_efficiency.value;
  if (c.pcie.value > 0)
    links = std::min(links, c.pcie.value * a.shape.per_node * a.scenario.stack.network_efficiency.value);
  const double rate = std::min(cost.wire.in_node_cap.value, links);
  return std::max(cost.wire.time.value, cost.wire.latency.value + cost.wire.bytes_per_node / rate);
}

Asked drawn(std::mt19937& random, const std::shared_ptr<const DeviceProfile>& profile) {
  Asked a;
  a.scenario = test::small_scenario();
  a.scenario.profile = profile;
  a.scenario.stack = *profile->stack(profile->default_stack);
  Cluster& c = a.scenario.cluster;
  c.gpus_per_node = pick(random, {1, 2, 4, 8});
  c.nics_per_node = pick(random, {1, c.gpus_per_node});
  c.nodes = pick(random, {1, 2, 2, 3, 4, 16});
  if (c.nodes * c.gpus_per_node == 1) c.nodes = 2;
  c.network = pick<const char*>(random, {"ib-hdr", "ib-ndr", "roce", "efa-v2", "ethernet"});
  c.nvlink = BytesPerSec(pick(random, {300e9, 450e9, 900e9}));
  c.nic = BytesPerSec(pick(random, {12.5e9, 25e9, 50e9, 100e9}));
  c.nic_latency = Seconds(pick(random, {1e-6, 2.7e-6, 10e-6}));
  if (c.nodes > 1 && pick(random, {0, 0, 1})) c.pcie = BytesPerSec(pick(random, {10e9, 25e9, 50e9}));
  a.shape = {.ranks = c.nodes * c.gpus_per_node, .nodes = c.nodes, .per_node = c.gpus_per_node};
  a.ports = c.nics_per_node;
  a.op = pick(random, {CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter,
                       CollectiveOp::all_to_all, CollectiveOp::send_recv});
  a.bytes = Bytes(std::exp2(std::uniform_real_distribution<double>(2, 32)(random)));
  return a;
}

struct Better {
  const char* what;
  void (*apply)(Asked& a, double factor);
};
const Better kBetter[] = {
    {"NVLink", [](Asked& a, double f) { a.scenario.cluster.nvlink = a.scenario.cluster.nvlink * f; }},
    {"NIC", [](Asked& a, double f) { a.scenario.cluster.nic = a.scenario.cluster.nic * f; }},
    {"PCIe", [](Asked& a, double f) { a.scenario.cluster.pcie = a.scenario.cluster.pcie * f; }},
    {"NIC latency",
     [](Asked& a, double f) { a.scenario.cluster.nic_latency = a.scenario.cluster.nic_latency * (1 / f); }},
    {"number of NICs", [](Asked& a, double) { a.scenario.cluster.nics_per_node *= 2, a.ports *= 2; }},
};

class FasterCollectives : public ::testing::TestWithParam<const char*> {};

TEST_P(FasterCollectives, NothingFasterMakesOneSlower) {
  const std::string name = GetParam();
  const auto profile = name == "plain"
                           ? test::plain_profile()
                           : load_profile(REHEARSE_SOURCE_DIR "/calibration/profiles/" + name + ".yaml");
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    const Asked before = drawn(random, profile);
    const double factor = pick(random, {1.1, 1.5, 2.0, 4.0});
    for (const Better& better : kBetter) {
      Asked after = before;
      better.apply(after, factor);
      const double a = seconds(before), b = seconds(after);
      EXPECT_LE(b, a * (1 + 1e-9)) << better.what << " x" << factor << ": " << name << " op "
                                   << int(before.op) << " ranks " << before.shape.ranks << " nodes "
                                   << before.shape.nodes << " bytes " << before.bytes.value << " nic "
                                   << before.scenario.cluster.nic.value << " x " << before.ports << " nvlink "
                                   << before.scenario.cluster.nvlink.value << " pcie "
                                   << before.scenario.cluster.pcie.value << " "
                                   << before.scenario.cluster.network;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Profiles, FasterCollectives,
                         ::testing::Values("plain", "a100-sxm4-80gb", "h100-sxm5-80gb", "b200-sxm-180gb",
                                           "v100-sxm2-32gb"));

}  // namespace
}  // namespace rehearse
