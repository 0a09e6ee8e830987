#include "calibration/backends/cuda/peaks.hpp"

namespace rehearse::calibration::cuda {

namespace {

struct Row {
  Capability capability;
  double fp32, tf32, half, fp8;  // FLOPs a cycle and SM; half: fp16, and bf16 from 8.0 on
  double link_bytes_per_s;
  int links;
};

constexpr Row kRows[] = {
    {{7, 0}, 128, 0, 1024, 0, 25e9, 6},           // V100
    {{7, 5}, 128, 0, 1024, 0, 0, 0},              // T4
    {{8, 0}, 128, 1024, 2048, 0, 25e9, 12},       // A100
    {{8, 6}, 256, 512, 1024, 0, 0, 0},            // A40, A10
    {{8, 9}, 256, 512, 1024, 2048, 0, 0},         // L40S, L4
    {{9, 0}, 256, 2048, 4096, 8192, 25e9, 18},    // H100, H200
    {{10, 0}, 256, 4096, 8192, 16384, 50e9, 18},  // B200, GB200
    {{10, 3}, 256, 4096, 8192, 16384, 50e9, 18},  // B300, GB300
    {{12, 0}, 256, 512, 1024, 2048, 0, 0},        // RTX PRO 6000
};

const Row* row_of(Capability capability) {
  for (const Row& row : kRows)
    if (row.capability == capability) return &row;
  return nullptr;
}

constexpr Named<unsigned long long> kThrottle[] = {
    {"sw_power_cap", "the power limit", 0x4},           {"hw_slowdown", "power or heat, by hardware", 0x8},
    {"sync_boost", "another GPU of its group", 0x10},   {"sw_thermal_slowdown", "heat, by the driver", 0x20},
    {"hw_thermal_slowdown", "heat, by hardware", 0x40}, {"hw_power_brake", "the power supply", 0x80},
};

}  // namespace

double flops_per_cycle_and_sm(Capability capability, DType type) {
  const Row* row = row_of(capability);
  if (!row) return 0;
  switch (type) {
    case DType::fp32:
      return row->fp32;
    case DType::tf32:
      return row->tf32;
    case DType::fp16:
      return row->half;
    case DType::bf16:
      return capability.major >= 8 ? row->half : 0;
    case DType::fp8:
      return row->fp8;
  }
  return 0;
}

std::vector<std::pair<DType, double>> peaks(Capability capability, double sms, double clock_mhz) {
  std::vector<std::pair<DType, double>> list;
  for (DType type : {DType::fp32, DType::tf32, DType::fp16, DType::bf16, DType::fp8}) {
    const double flops = flops_per_cycle_and_sm(capability, type) * sms * clock_mhz * 1e6;
    if (flops > 0) list.emplace_back(type, flops);
  }
  return list;
}

double memory_bandwidth(double clock_mhz, double bus_bits) { return 2 * clock_mhz * 1e6 * bus_bits / 8; }

double nvlink_bytes_per_s(Capability capability) {
  const Row* row = row_of(capability);
  return row ? row->link_bytes_per_s : 0;
}

int nvlink_count(Capability capability) {
  const Row* row = row_of(capability);
  return row ? row->links : 0;
}

std::vector<std::string> throttle_reasons(unsigned long long mask) {
  std::vector<std::string> names;
  for (const auto& row : kThrottle)
    if (mask & row.value) names.emplace_back(row.name);
  return names;
}

}  // namespace rehearse::calibration::cuda
