// A collective of more bytes never takes less time on an idle machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "sim/graph/ops.hpp"
#include "sim/io/profile.hpp"
#include "tests/support/pick.hpp"
#include "tests/support/scenarios.hpp"

namespace rehearse {
namespace {

using test::pick;

class LargerCollectives : public ::testing::TestWithParam<const char*> {
 protected:
  LargerCollectives() {
    scenario = test::small_scenario();
    scenario.profile =
        load_profile(REHEARSE_SOURCE_DIR "/calibration/profiles/" + std::string(GetParam()) + ".yaml");
    scenario.stack = *scenario.profile->stack(scenario.profile->default_stack);
  }

  GroupShape draw() {
    Cluster& c = scenario.cluster;
    c.gpus_per_node = pick(random, {1, 2, 4, 8});
    c.nodes = c.gpus_per_node == 1 ? 2 : pick(random, {1, 1, 2, 3, 4, 16});
    c.nics_per_node = pick(random, {1, c.gpus_per_node});
    c.network = pick<const char*>(random, {"ib-hdr", "ib-ndr", "roce", "efa-v2", "ethernet"});
    c.nvlink = BytesPerSec(pick(random, {300e9, 450e9, 900e9}));
    c.nvlink_latency = Seconds(pick(random, {0.0, 0.6e-6, 0.6e-6, 3e-6}));
    c.nic = BytesPerSec(pick(random, {12.5e9, 25e9, 50e9, 100e9}));
    c.nic_latency = Seconds(pick(random, {1e-6, 2.7e-6, 10e-6}));
    c.sharp = pick(random, {false, true});
    return {.ranks = c.nodes * c.gpus_per_node, .nodes = c.nodes, .per_node = c.gpus_per_node};
  }

  double seconds(CollectiveOp op, const GroupShape& shape, double bytes) {
    const Cluster& c = scenario.cluster;
    const auto cost = group_collective(scenario, op, shape, Bytes(bytes), c.ports_per_node(), c.nic_latency);
    return shape.in_island() ? cost.in_island.time.value : cost.wire.time.value;
  }

  Scenario scenario;
  std::mt19937 random{7};
};

TEST_P(LargerCollectives, NoneIsFasterThanASmallerOne) {
  for (int i = 0; i < 60; ++i) {
    const GroupShape shape = draw();
    const auto op =
        pick(random, {CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter,
                      CollectiveOp::all_to_all, CollectiveOp::send_recv});
    std::vector<double> sizes;
    for (int power = 2; power < 34; ++power) sizes.push_back(std::ldexp(1, power));
    for (int k = 0; k < 16; ++k)
      sizes.push_back(std::exp2(std::uniform_real_distribution<double>(2, 33)(random)));
    std::sort(sizes.begin(), sizes.end());
    double before = 0;
    for (const double bytes : sizes) {
      const double now = seconds(op, shape, bytes);
      EXPECT_GE(now, before * (1 - 1e-12)) << GetParam() << " op " << int(op) << ", " << shape.nodes << " x "
                                           << shape.per_node << ", " << bytes << " bytes";
      before = now;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Profiles, LargerCollectives,
                         ::testing::Values("a100-sxm4-80gb", "h100-sxm5-80gb", "h200-sxm-141gb",
                                           "b200-sxm-180gb", "v100-sxm2-32gb"));

}  // namespace
}  // namespace rehearse
