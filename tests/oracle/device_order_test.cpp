// Devices beside each other at one layout, and what cutting a matrix may save: no more than was measured.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/cost/kernels.hpp"
#include "sim/engine/engine.hpp"
#include "sim/io/profile.hpp"
#include "sim/step/step.hpp"
#include "tests/support/scenarios.hpp"

namespace rehearse {
namespace {

std::shared_ptr<const DeviceProfile> device_named(const std::string& name) {
  static std::map<std::string, std::shared_ptr<const DeviceProfile>> loaded;
  auto& profile = loaded[name];
  if (!profile) profile = load_profile(REHEARSE_SOURCE_DIR "/calibration/profiles/" + name + ".yaml");
  return profile;
}

Scenario placed_on(const std::string& device, Scenario s) {
  s.profile = device_named(device);
  s.stack = *s.profile->stack(s.profile->default_stack);
  s.cluster.nvlink = BytesPerSec(s.profile->nvlink_bytes_per_s.value);
  s.cluster.nvlink_latency = Seconds(s.profile->nvlink_latency_s.value);
  s.cluster.nic = BytesPerSec(50e9);
  return s;
}

std::vector<Scenario> layouts_of_175b() {
  std::vector<Scenario> list;
  for (const int tp : {2, 4, 8})
    for (const int micro : {1, 4})
      for (const bool sequence_parallel : {false, true})
        for (const int pp : {1, 4, 8}) {
          Scenario s = test::scenario_of_175b(128);
          s.layout.tp = tp, s.layout.pp = pp, s.layout.dp = 1024 / tp / pp;
          s.batch.micro = micro, s.batch.global = s.layout.dp * micro * 2 * pp;
          s.layout.sequence_parallel = sequence_parallel;
          s.recompute.kind = sequence_parallel ? RecomputeKind::none : RecomputeKind::full;
          list.push_back(s);
        }
  return list;
}

// Each has in all that a data sheet states at least what the one before it has.
TEST(DeviceOrder, ANewerDeviceIsNotSlowerAtTheSameLayout) {
  const char* devices[] = {"a100-sxm4-80gb", "h100-sxm5-80gb", "h200-sxm-141gb", "b200-sxm-180gb"};
  for (const Scenario& s : layouts_of_175b()) {
    double before = std::numeric_limits<double>::infinity();
    for (const char* device : devices) {
      const double step = simulate(resolve(placed_on(device, s)), {.engine = run_ideal}).report.step_time_s;
      EXPECT_LE(step, before) << device << ", tp " << s.layout.tp << " pp " << s.layout.pp << " micro "
                              << s.batch.micro << " sp " << s.layout.sequence_parallel;
      before = step;
    }
  }
}

// One chip under one load: what bounds a GEMM is the same, and so is NVLink.
TEST(DeviceOrder, AnH200ComputesAndTalksAsAnH100) {
  const auto h100 = device_named("h100-sxm5-80gb"), h200 = device_named("h200-sxm-141gb");
  EXPECT_GE(h200->nvlink_efficiency.value, h100->nvlink_efficiency.value);
  EXPECT_LE(h200->p2p_nvlink_latency_s.value, h100->p2p_nvlink_latency_s.value);
  double sum = 0;
  int count = 0;
  for (const auto& row : h100->gemm.front().rows) {
    if (2 * row.m * row.n * row.k < 1e12 || std::min({row.m, row.n, row.k}) < 1024) continue;
    const auto time = [&](const DeviceProfile& profile) {
      const Stack& stack = *profile.stack("megatron-core");
      return gemm(profile, stack, DType::bf16, {row.m, row.n, row.k}, GemmRole::forward).time.value;
    };
    sum += std::log(time(*h200) / time(*h100));
    ++count;
  }
  EXPECT_GT(count, 1000);
  EXPECT_NEAR(std::exp(sum / count), 1, 1e-3);
}

// The least that `parts` pieces of a matrix take together, over it whole, among the rows of a table.
double least_measured(const GemmTable& table, int parts) {
  std::map<std::tuple<double, double, double>, double> seconds;
  for (const auto& row : table.rows) seconds[{row.m, row.n, row.k}] = row.seconds;
  double least = 1;
  for (const auto& row : table.rows)
    for (const auto& piece : {std::tuple(row.m, row.n / parts, row.k), {row.m, row.n, row.k / parts}})
      if (const auto at = seconds.find(piece); at != seconds.end())
        least = std::min(least, parts * at->second / row.seconds);
  return least;
}

// Measured tables have long GEMMs take more than their pieces do in all, perhaps because the clock falls
// under a long full load. Between their rows nothing more is saved.
TEST(DeviceOrder, CuttingAMatrixSavesNoMoreThanWasMeasured) {
  for (const char* device : {"a100-sxm4-80gb", "h100-sxm5-80gb", "h200-sxm-141gb", "b200-sxm-180gb"}) {
    const auto profile = device_named(device);
    const Stack& stack = *profile->stack(profile->default_stack);
    const auto& table = profile->gemm.front();
    for (const int parts : {2, 4, 8}) {
      const double least = least_measured(table, parts);
      for (const double tokens : {1024, 2048, 3000, 4096, 16384})
        for (const double hidden : {3072, 4096, 6144, 9000, 12288, 20480})
          for (const double width : {1., 3., 4.}) {
            const auto time = [&](double n, double k) {
              return gemm(*profile, stack, table.dtype, {tokens, n, k}, GemmRole::forward).time.value;
            };
            const double whole_n = time(width * hidden, hidden), whole_k = time(hidden, width * hidden);
            EXPECT_GE(parts * time(width * hidden / parts, hidden), least * whole_n * (1 - 1e-9));
            EXPECT_GE(parts * time(hidden, width * hidden / parts), least * whole_k * (1 - 1e-9));
          }
    }
  }
}

// Without a table nothing is measured, and cutting saves nothing.
TEST(DeviceOrder, CuttingAMatrixSavesNothingWithoutATable) {
  const auto profile = test::plain_profile();
  const Stack& stack = profile->stacks[0];
  for (const double parts : {2, 3, 4, 8, 16})
    for (const double m : {128., 1000., 4096.})
      for (const double n : {512., 6144., 12288.}) {
        const auto time = [&](GemmShape shape) {
          return gemm(*profile, stack, DType::bf16, shape, GemmRole::forward).time.value;
        };
        const double whole = time({m, n, 4096}) * (1 - 1e-9);
        EXPECT_GE(parts * time({m / parts, n, 4096}), whole);
        EXPECT_GE(parts * time({m, n / parts, 4096}), whole);
        EXPECT_GE(parts * time({m, n, 4096 / parts}), whole);
      }
}

}  // namespace
}  // namespace rehearse
