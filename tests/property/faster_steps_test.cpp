// No faster part makes a step slower, over random small layouts: exactly where a step is the longest path of
// a graph that stays as it is, else within what an earlier flow or a slowed kernel may take from others.
// Schedules that are searched for have another graph for other costs.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <sstream>

#include "sim/engine/engine.hpp"
#include "sim/step/step.hpp"
#include "tests/property/asked_collectives.hpp"

namespace rehearse {
namespace {

using test::pick;

void draw_nodes(std::mt19937& random, Scenario& s) {
  Cluster& c = s.cluster;
  const int ranks = s.layout.tp * s.layout.pp * s.layout.dp;
  c.gpus_per_node = std::min(ranks, pick(random, {1, 2, 4, 8}));
  c.nodes = ranks / c.gpus_per_node;
  c.nics_per_node = pick(random, {1, std::max(1, c.gpus_per_node / 2), c.gpus_per_node});
  c.network = pick<const char*>(random, {"ib-hdr", "roce", "ethernet"});
  c.nvlink = BytesPerSec(pick(random, {300e9, 450e9}));
  c.nvlink_latency = Seconds(pick(random, {0.6e-6, 3e-6}));
  c.nic = BytesPerSec(pick(random, {5e9, 25e9, 50e9}));
  c.nic_latency = Seconds(pick(random, {2.7e-6, 10e-6}));
  c.node = pick(random, {NodeShape::nvswitch, NodeShape::nvswitch, NodeShape::pcie});
  if (c.node == NodeShape::pcie || pick(random, {false, true}))
    c.pcie = BytesPerSec(pick(random, {10e9, 32e9})), c.pcie_latency = Seconds(1e-6);
}

Scenario drawn(std::mt19937& random, const std::shared_ptr<const DeviceProfile>& profile) {
  Scenario s = test::small_scenario();
  s.profile = profile;
  s.stack = *profile->stack(profile->default_stack);
  if (!profile->peak(DType::bf16)) s.precision.compute = s.precision.params = DType::fp32;
  auto& l = s.layout;
  l.tp = pick(random, {1, 2, 4}), l.pp = pick(random, {1, 2, 4}), l.dp = pick(random, {1, 2, 4});
  if (l.tp * l.pp * l.dp == 1) l.dp = 2;
  std::array<Axis, 3> order{Axis::tp, Axis::pp, Axis::dp};
  if (pick(random, {true, false})) std::shuffle(order.begin(), order.end(), random);
  l.order = {order[0], order[1], order[2], Axis::cp, Axis::ep};
  l.sequence_parallel = l.tp > 1 && pick(random, {true, false});
  l.zero = l.dp > 1 ? pick(random, {0, 1}) : 0;
  s.schedule = pick(random, {"1f1b", "gpipe", "interleaved", "zb-h1"});
  if (l.pp == 1) s.schedule = "1f1b";
  if (s.schedule == "interleaved") l.chunks = 2;
  s.batch.global = l.dp * 4;
  s.overlap = {.grad_reduce = pick(random, {true, false}),
               .param_gather = l.zero > 0 && pick(random, {true, false}),
               .tp = pick(random, {true, false}),
               .p2p = pick(random, {true, false})};
  draw_nodes(random, s);
  return s;
}

std::string shown(const Scenario& s) {
  std::ostringstream out;
  const auto& l = s.layout;
  const auto& c = s.cluster;
  out << s.profile->name << " tp " << l.tp << " pp " << l.pp << " dp " << l.dp << " order";
  for (const Axis a : l.order) out << ' ' << int(a);
  out << (l.sequence_parallel ? " sp" : "") << " zero " << l.zero << ' ' << s.schedule << " overlap "
      << s.overlap.grad_reduce << s.overlap.param_gather << s.overlap.tp << s.overlap.p2p << "; " << c.nodes
      << " x " << c.gpus_per_node << " node " << int(c.node) << " nics " << c.nics_per_node << " x "
      << c.nic.value << ' ' << c.nic_latency.value << ' ' << c.network << " nvlink " << c.nvlink.value << ' '
      << c.nvlink_latency.value << " pcie " << c.pcie.value;
  return out.str();
}

// Of a copy, as scenarios share profiles.
void change_profile(Scenario& s, const std::function<void(DeviceProfile&)>& change) {
  auto profile = std::make_shared<DeviceProfile>(*s.profile);
  change(*profile);
  s.profile = profile;
}

struct FasterStep {
  const char* what;
  void (*apply)(Scenario& s, double factor);
};
const FasterStep kFasterSteps[] = {
    {"NVLink", [](Scenario& s, double f) { s.cluster.nvlink *= f; }},
    {"NVLink latency", [](Scenario& s, double f) { s.cluster.nvlink_latency *= 1 / f; }},
    {"NIC", [](Scenario& s, double f) { s.cluster.nic *= f; }},
    {"NIC latency", [](Scenario& s, double f) { s.cluster.nic_latency *= 1 / f; }},
    {"number of NICs", [](Scenario& s, double) { s.cluster.nics_per_node *= 2; }},
    {"PCIe", [](Scenario& s, double f) { s.cluster.pcie *= f; }},
    {"PCIe latency", [](Scenario& s, double f) { s.cluster.pcie_latency *= 1 / f; }},
    {"memory",
     [](Scenario& s, double f) {
       change_profile(s, [f](DeviceProfile& p) {
         p.hbm_bytes_per_s.value *= f;
         for (auto& table : p.memory)
           for (auto& row : table.rows) row.seconds /= f;
       });
     }},
    {"kernels",
     [](Scenario& s, double f) {
       change_profile(s, [f](DeviceProfile& p) {
         for (auto& [dtype, peak] : p.peak_flops) peak.value *= f;
         const auto faster = [f](auto& tables) {
           for (auto& table : tables)
             for (auto& row : table.rows) row.seconds /= f;
         };
         faster(p.gemm), faster(p.batched_gemm), faster(p.attention);
       });
     }},
    {"launches",
     [](Scenario& s, double f) {
       s.stack.host_per_kernel_s.value /= f, s.stack.kernel_floor_s.value /= f;
       s.stack.host_per_exchange_s.value /= f;
     }},
};

struct Ran {
  double step = 0;
  bool shared = false;  // flows shared a link
};
Ran run(const Scenario& s, Engine engine) {
  const Step step = simulate(resolve(s), {.engine = engine, .links = false});
  return {step.timeline.step, step.timeline.shared_flows > 0};
}

class FasterSteps : public ::testing::TestWithParam<const char*> {};

TEST_P(FasterSteps, NothingFasterMakesOneSlower) {
  const auto profile = test::profile_named(GetParam());
  std::mt19937 random(11);
  double worst = 1;
  int exactly = 0, shared = 0;
  for (int i = 0; i < 40; ++i) {
    Scenario before = drawn(random, profile);
    if (pick(random, {true, false})) before.stack.overlap_slowdown.value = 0;
    const double factor = pick(random, {1.1, 1.5, 2.0, 4.0});
    for (const Engine engine : {Engine(run_ideal), Engine(run_simgrid)}) {
      const Ran slow = run(before, engine);
      for (const FasterStep& better : kFasterSteps) {
        Scenario after = before;
        better.apply(after, factor);
        const Ran fast = run(after, engine);
        const bool exact = !slow.shared && !fast.shared && before.stack.overlap_slowdown.value == 0;
        EXPECT_LE(fast.step / slow.step, exact ? 1 + 1e-9 : 1.02)
            << better.what << " x" << factor << ", draw " << i << ": " << shown(before);
        worst = std::max(worst, fast.step / slow.step);
        exactly += exact, shared += slow.shared;
      }
    }
  }
  EXPECT_GT(exactly, 100);
  EXPECT_GT(shared, 40);
  RecordProperty("worst", std::to_string(worst));
}

INSTANTIATE_TEST_SUITE_P(Profiles, FasterSteps,
                         ::testing::Values("plain", "host-2core", "a100-sxm4-80gb", "h100-sxm5-80gb"));

}  // namespace
}  // namespace rehearse
