// Bounds of NVIDIA GPUs by formula and table. Knows no CUDA header, so that it is tested everywhere.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/spec/kernel.hpp"

namespace rehearse::calibration::cuda {

// Compute capability: 9.0 is {9, 0}.
struct Capability {
  int major, minor;
  bool operator==(const Capability&) const = default;
};

// Dense FLOPs a cycle and SM, an FMA counted as two; 0 where the type is not in hardware, or for a
// capability that the table lacks. Tensor cores with fp32 sums but for fp32, which FMA units do. Source:
// NVIDIA's architecture white papers (tensor cores an SM x FMAs of one a cycle x 2); they give the data
// sheets' figures: A100 108 SMs x 1.41 GHz x 2048 = 312 TFLOP/s, H100 132 x 1.83 GHz x 4096 = 989, B200 148 x
// 1.85 GHz x 8192 = 2243.
double flops_per_cycle_and_sm(Capability capability, DType type);

// FLOP/s of each type that the device has, at `clock_mhz`.
std::vector<std::pair<DType, double>> peaks(Capability capability, double sms, double clock_mhz);

// B/s: two transfers a clock of the memory on a bus of so many bits; 0 where either is not known.
double memory_bandwidth(double clock_mhz, double bus_bits);

// B/s of one NVLink in one direction (white papers: NVLink 2 to 4 25 GB/s, NVLink 5 50 GB/s), and the number
// of links of the SXM module; 0 where the table lacks the capability.
double nvlink_bytes_per_s(Capability capability);
int nvlink_count(Capability capability);

// Names of the reasons in NVML's bit mask that slow a GPU down under load: idling and clocks set by the user
// are none.
std::vector<std::string> throttle_reasons(unsigned long long mask);

}  // namespace rehearse::calibration::cuda
