// The GPU of a rank, and what is known of it.
#pragma once
#include "calibration/backends/backend.hpp"
#include "calibration/backends/cuda/nvml.hpp"
#include "calibration/backends/cuda/peaks.hpp"

namespace rehearse::calibration::cuda {

struct Device {
  int index = 0;
  std::string name, pci_address;
  Capability capability{0, 0};
  double sms = 0, clock_mhz = 0, memory_clock_mhz = 0, bus_bits = 0, memory_bytes = 0, l2_bytes = 0;
};

// Makes the GPU numbered as the rank within its node current, or the only one where each rank sees but its
// own. Throws BackendError where there is none, or where two ranks of a node would share one.
Device choose_device(Ranks& ranks);

// All of an environment but identifier, command and start. `libraries`: those beside the CUDA runtime.
Environment describe(const Device& device, const Nvml& nvml, const Ranks& ranks, const std::string& libraries,
                     const std::string& collectives_library);

}  // namespace rehearse::calibration::cuda
