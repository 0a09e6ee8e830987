// NVIDIA's management library, opened at run time where it is installed with the driver.
#pragma once
#include <string>
#include <vector>

namespace rehearse::calibration::cuda {

class Nvml {
 public:
  // The GPU at this PCI address ("0000:1b:00.0"). Where the library or the GPU cannot be had, everything
  // reads as not known.
  explicit Nvml(const std::string& pci_address, const char* library = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  bool present() const { return device_ != nullptr; }
  std::string driver_version() const;  // "580.95.05"; empty: not known
  double sm_clock_mhz() const;         // now; 0: not known
  double memory_clock_mhz() const;     // the highest
  double power_w() const;
  double temperature_c() const;
  int active_links() const;  // NVLinks; -1: not known
  std::vector<std::string> throttled() const;

 private:
  template <class Function>
  Function* find(const char* name) const;

  void* library_ = nullptr;
  void* device_ = nullptr;
};

}  // namespace rehearse::calibration::cuda
