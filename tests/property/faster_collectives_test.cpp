// No rate or count of links raised, and no latency lowered, makes a collective slower on an idle machine.
#include <gtest/gtest.h>

#include "tests/property/asked_collectives.hpp"

namespace rehearse {
namespace {

using test::Asked;
using test::pick;

struct FasterCollective {
  const char* what;
  void (*apply)(Asked& a, double factor);
};
const FasterCollective kFasterCollectives[] = {
    {"NVLink", [](Asked& a, double f) { a.scenario.cluster.nvlink = a.scenario.cluster.nvlink * f; }},
    {"NVLink latency",
     [](Asked& a, double f) {
       a.scenario.cluster.nvlink_latency = a.scenario.cluster.nvlink_latency * (1 / f);
     }},
    {"NIC", [](Asked& a, double f) { a.scenario.cluster.nic = a.scenario.cluster.nic * f; }},
    {"PCIe", [](Asked& a, double f) { a.scenario.cluster.pcie = a.scenario.cluster.pcie * f; }},
    {"PCIe latency",
     [](Asked& a, double f) { a.scenario.cluster.pcie_latency = a.scenario.cluster.pcie_latency * (1 / f); }},
    {"NIC latency",
     [](Asked& a, double f) { a.scenario.cluster.nic_latency = a.scenario.cluster.nic_latency * (1 / f); }},
    {"number of NICs",
     [](Asked& a, double) {
       a.scenario.cluster.nics_per_node *= 2;
       a.ports = a.scenario.cluster.ports_per_node();
     }},
};

class FasterCollectives : public ::testing::TestWithParam<const char*> {};

TEST_P(FasterCollectives, NothingFasterMakesOneSlower) {
  const auto profile = test::profile_named(GetParam());
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    const Asked before = test::drawn_collective(random, profile);
    const double factor = pick(random, {1.1, 1.5, 2.0, 4.0});
    const double slow = test::seconds(before);
    for (const FasterCollective& better : kFasterCollectives) {
      Asked after = before;
      better.apply(after, factor);
      EXPECT_LE(test::seconds(after), slow * (1 + 1e-9)) << better.what << " x" << factor << ": " << before;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Profiles, FasterCollectives,
                         ::testing::Values("plain", "host-2core", "a100-sxm4-80gb", "h100-sxm5-80gb",
                                           "b200-sxm-180gb", "v100-sxm2-32gb"));

}  // namespace
}  // namespace rehearse
