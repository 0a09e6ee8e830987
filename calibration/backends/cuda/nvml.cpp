#include "calibration/backends/cuda/nvml.hpp"

#include <dlfcn.h>

#include "calibration/backends/cuda/peaks.hpp"

namespace rehearse::calibration::cuda {

namespace {

// Of nvml.h, which comes with the driver's development files: every call returns 0 when it has succeeded.
constexpr unsigned kClockSm = 1, kClockMemory = 2, kTemperatureGpu = 0, kLinks = 18;
using Init = int();
using Shutdown = int();
using DriverVersion = int(char* text, unsigned length);
using DeviceByAddress = int(const char* address, void** device);
using Reading = int(void* device, unsigned* value);                     // power
using KindReading = int(void* device, unsigned kind, unsigned* value);  // clock, temperature, link
using MaskReading = int(void* device, unsigned long long* value);

}  // namespace

template <class Function>
Function* Nvml::find(const char* name) const {
  return library_ ? reinterpret_cast<Function*>(dlsym(library_, name)) : nullptr;
}

Nvml::Nvml(const std::string& pci_address, const char* library)
    : library_(dlopen(library, RTLD_NOW | RTLD_LOCAL)) {
  const auto init = find<Init>("nvmlInit_v2");
  if (!init || init() != 0) {
    if (library_) dlclose(library_);
    library_ = nullptr;
    return;
  }
  const auto by_address = find<DeviceByAddress>("nvmlDeviceGetHandleByPciBusId_v2");
  if (!by_address || by_address(pci_address.c_str(), &device_) != 0) device_ = nullptr;
}

Nvml::~Nvml() {
  if (!library_) return;
  if (const auto shutdown = find<Shutdown>("nvmlShutdown")) shutdown();
  dlclose(library_);
}

std::string Nvml::driver_version() const {
  char text[96] = "";
  const auto version = find<DriverVersion>("nvmlSystemGetDriverVersion");
  return version && version(text, sizeof text) == 0 ? text : "";
}

double Nvml::sm_clock_mhz() const {
  unsigned mhz = 0;
  const auto clock = find<KindReading>("nvmlDeviceGetClockInfo");
  return device_ && clock && clock(device_, kClockSm, &mhz) == 0 ? mhz : 0;
}

double Nvml::memory_clock_mhz() const {
  unsigned mhz = 0;
  const auto clock = find<KindReading>("nvmlDeviceGetMaxClockInfo");
  return device_ && clock && clock(device_, kClockMemory, &mhz) == 0 ? mhz : 0;
}

double Nvml::power_w() const {
  unsigned milliwatts = 0;
  const auto power = find<Reading>("nvmlDeviceGetPowerUsage");
  return device_ && power && power(device_, &milliwatts) == 0 ? milliwatts / 1e3 : 0;
}

double Nvml::temperature_c() const {
  unsigned celsius = 0;
  const auto temperature = find<KindReading>("nvmlDeviceGetTemperature");
  return device_ && temperature && temperature(device_, kTemperatureGpu, &celsius) == 0 ? celsius : 0;
}

int Nvml::active_links() const {
  const auto state = find<KindReading>("nvmlDeviceGetNvLinkState");
  if (!device_ || !state) return -1;
  int links = 0;
  for (unsigned link = 0; link < kLinks; ++link) {
    unsigned active = 0;
    if (state(device_, link, &active) == 0 && active == 1) ++links;
  }
  return links;
}

std::vector<std::string> Nvml::throttled() const {
  unsigned long long mask = 0;
  const auto reasons = find<MaskReading>("nvmlDeviceGetCurrentClocksThrottleReasons");
  if (!device_ || !reasons || reasons(device_, &mask) != 0) return {};
  return throttle_reasons(mask);
}

}  // namespace rehearse::calibration::cuda
