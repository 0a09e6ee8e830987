// What the GPU backend knows by formula and table, and how it reads NVML: no CUDA needed.
#include <gmock/gmock.h>

#include <cmath>
#include <vector>

#include "calibration/backends/cuda/layout.hpp"
#include "calibration/backends/cuda/nvml.hpp"
#include "calibration/backends/cuda/peaks.hpp"

namespace rehearse::calibration::cuda {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

double peak(Capability capability, double sms, double clock_mhz, DType type) {
  for (const auto& [dtype, flops] : peaks(capability, sms, clock_mhz))
    if (dtype == type) return flops;
  return 0;
}

struct DataSheet {
  Capability capability;
  double sms, clock_mhz;
  DType type;
  double teraflops;
};

TEST(Peaks, AreThoseOfTheDataSheets) {
  const DataSheet sheets[] = {
      {{7, 0}, 80, 1530, DType::fp16, 125},    {{7, 0}, 80, 1530, DType::fp32, 15.7},
      {{8, 0}, 108, 1410, DType::bf16, 312},   {{8, 0}, 108, 1410, DType::tf32, 156},
      {{8, 0}, 108, 1410, DType::fp32, 19.5},  {{8, 9}, 142, 2520, DType::fp8, 733},
      {{9, 0}, 132, 1830, DType::fp16, 989},   {{9, 0}, 132, 1830, DType::fp8, 1979},
      {{9, 0}, 132, 1830, DType::tf32, 494.5}, {{9, 0}, 132, 1980, DType::fp32, 67},
      {{10, 0}, 148, 1850, DType::bf16, 2250}, {{10, 0}, 148, 1850, DType::fp8, 4500},
  };
  for (const DataSheet& s : sheets)
    EXPECT_THAT(peak(s.capability, s.sms, s.clock_mhz, s.type) / 1e12,
                DoubleNear(s.teraflops, 0.01 * s.teraflops));
}

TEST(Peaks, HaveOnlyTypesInHardware) {
  EXPECT_EQ(peak({7, 0}, 80, 1530, DType::bf16), 0);
  EXPECT_EQ(peak({7, 0}, 80, 1530, DType::tf32), 0);
  EXPECT_EQ(peak({8, 0}, 108, 1410, DType::fp8), 0);
  EXPECT_EQ(peaks({9, 0}, 132, 1830).size(), 5u);
  EXPECT_THAT(peaks({3, 5}, 15, 900), IsEmpty());
}

TEST(Memory, BandwidthIsThatOfTheDataSheets) {
  EXPECT_NEAR(memory_bandwidth(1593, 5120) / 1e9, 2039, 1);  // A100 80 GB
  EXPECT_NEAR(memory_bandwidth(2619, 5120) / 1e9, 3352, 1);  // H100 SXM
  EXPECT_EQ(memory_bandwidth(0, 5120), 0);
  EXPECT_EQ(memory_bandwidth(1593, 0), 0);
}

TEST(Links, AreThoseOfTheModules) {
  EXPECT_EQ(nvlink_count({7, 0}) * nvlink_bytes_per_s({7, 0}), 150e9);
  EXPECT_EQ(nvlink_count({8, 0}) * nvlink_bytes_per_s({8, 0}), 300e9);
  EXPECT_EQ(nvlink_count({9, 0}) * nvlink_bytes_per_s({9, 0}), 450e9);
  EXPECT_EQ(nvlink_count({10, 0}) * nvlink_bytes_per_s({10, 0}), 900e9);
  EXPECT_EQ(nvlink_bytes_per_s({8, 9}), 0);
  EXPECT_EQ(nvlink_bytes_per_s({3, 5}), 0);
}

// A column-major product, element by element, as the library defines it.
std::vector<double> column_major(const GemmLayout& l, const std::vector<double>& first,
                                 const std::vector<double>& second) {
  const auto at = [](const Matrix& m, const std::vector<double>& data, int64_t batch, int64_t row,
                     int64_t column) {
    if (m.transposed) std::swap(row, column);
    EXPECT_LT(row, m.rows);
    EXPECT_LT(column, m.columns);
    return data[size_t(batch * m.stride + row + column * m.leading)];
  };
  std::vector<double> result(size_t(l.batch * l.result.stride));
  const int64_t depth = l.first.transposed ? l.first.rows : l.first.columns;
  for (int64_t b = 0; b < l.batch; ++b)
    for (int64_t i = 0; i < l.result.rows; ++i)
      for (int64_t j = 0; j < l.result.columns; ++j)
        for (int64_t p = 0; p < depth; ++p)
          result[size_t(b * l.result.stride + i + j * l.result.leading)] +=
              at(l.first, first, b, i, p) * at(l.second, second, b, p, j);
  return result;
}

TEST(Layout, GivesTheRowMajorProductInEveryRole) {
  const int64_t m = 3, n = 4, k = 5, batch = 2;
  std::vector<double> a(size_t(batch * m * k)), b(size_t(batch * k * n));
  for (size_t i = 0; i < a.size(); ++i) a[i] = double(i * i % 11);
  for (size_t i = 0; i < b.size(); ++i) b[i] = double(i * 7 % 13) - 6;
  for (GemmRole role : {GemmRole::forward, GemmRole::input_gradient, GemmRole::weight_gradient}) {
    const auto found = column_major(layout_of(role, {double(m), double(n), double(k), double(batch)}), b, a);
    for (int64_t s = 0; s < batch; ++s)
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (int64_t p = 0; p < k; ++p) {
            const bool a_by_k = role == GemmRole::weight_gradient, b_by_n = role == GemmRole::forward;
            const double x = a[size_t(s * m * k + (a_by_k ? p * m + i : i * k + p))];
            const double y = b[size_t(s * k * n + (b_by_n ? j * k + p : p * n + j))];
            sum += x * y;
          }
          EXPECT_EQ(found[size_t(s * m * n + i * n + j)], sum)
              << "role " << int(role) << " " << i << "," << j;
        }
  }
}

TEST(Layout, NamesTheLibrarysTransposes) {
  const auto transposes = [](GemmRole role) {
    const GemmLayout l = layout_of(role, {3, 4, 5});
    return std::pair(l.first.transposed, l.second.transposed);
  };
  EXPECT_EQ(transposes(GemmRole::forward), std::pair(true, false));          // TN
  EXPECT_EQ(transposes(GemmRole::input_gradient), std::pair(false, false));  // NN
  EXPECT_EQ(transposes(GemmRole::weight_gradient), std::pair(false, true));  // NT
}

TEST(Throttling, IsNamedUnlessItIsIdlingOrTheUsersClocks) {
  EXPECT_THAT(throttle_reasons(0), IsEmpty());
  EXPECT_THAT(throttle_reasons(0x1 | 0x2 | 0x100), IsEmpty());
  EXPECT_THAT(throttle_reasons(0x4 | 0x20), ElementsAre("sw_power_cap", "sw_thermal_slowdown"));
  EXPECT_THAT(throttle_reasons(0x8 | 0x40 | 0x80),
              ElementsAre("hw_slowdown", "hw_thermal_slowdown", "hw_power_brake"));
}

TEST(Nvml, ReadsWhatTheLibrarySays) {
  const Nvml nvml("0000:1B:00.0", REHEARSE_FAKE_NVML);
  ASSERT_TRUE(nvml.present());
  EXPECT_EQ(nvml.driver_version(), "580.95.05");
  EXPECT_EQ(nvml.sm_clock_mhz(), 1755);
  EXPECT_EQ(nvml.memory_clock_mhz(), 2619);
  EXPECT_EQ(nvml.power_w(), 698.5);
  EXPECT_EQ(nvml.temperature_c(), 64);
  EXPECT_EQ(nvml.active_links(), 11);
  EXPECT_THAT(nvml.throttled(), ElementsAre("sw_power_cap", "hw_thermal_slowdown"));
}

TEST(Nvml, KnowsNothingOfAGpuElsewhere) {
  const Nvml nvml("0000:2C:00.0", REHEARSE_FAKE_NVML);
  EXPECT_FALSE(nvml.present());
  EXPECT_EQ(nvml.driver_version(), "580.95.05");
  EXPECT_EQ(nvml.active_links(), -1);
  EXPECT_EQ(nvml.power_w(), 0);
}

TEST(Nvml, MayBeMissing) {
  const Nvml nvml("0000:1B:00.0", "libno-such-library.so.1");
  EXPECT_FALSE(nvml.present());
  EXPECT_EQ(nvml.driver_version(), "");
  EXPECT_EQ(nvml.sm_clock_mhz(), 0);
  EXPECT_EQ(nvml.memory_clock_mhz(), 0);
  EXPECT_EQ(nvml.temperature_c(), 0);
  EXPECT_EQ(nvml.active_links(), -1);
  EXPECT_THAT(nvml.throttled(), IsEmpty());
}

}  // namespace
}  // namespace rehearse::calibration::cuda
