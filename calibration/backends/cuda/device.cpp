#include "calibration/backends/cuda/device.hpp"

#include <unistd.h>

#include <array>
#include <string_view>

#include "calibration/backends/cuda/cuda.hpp"

namespace rehearse::calibration::cuda {

namespace {

// Why this rank has no GPU, or nothing; the number of GPUs in its node.
std::string missing(const Ranks& ranks, int& count) {
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) {
    cudaGetLastError();
    return std::string("no CUDA device: ") +
           (status == cudaErrorInsufficientDriver
                ? "there is no NVIDIA driver, or it is older than this program"
                : cudaGetErrorString(status));
  }
  if (count == 0) return "no CUDA device: the driver lists none";
  if (count > 1 && ranks.local_rank() >= count)
    return "no CUDA device for rank " + std::to_string(ranks.rank()) + ": its node has " +
           std::to_string(count) + " GPUs and " + std::to_string(ranks.per_node()) + " ranks";
  return {};
}

double attribute(cudaDeviceAttr name, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, name, device), "ask for an attribute of the device");
  return value;
}

// Two ranks of a node on one GPU wait for each other for ever.
void check_apart(const Device& device, Ranks& ranks) {
  const double domain = attribute(cudaDevAttrPciDomainId, device.index);
  const double bus = attribute(cudaDevAttrPciBusId, device.index);
  const double slot = attribute(cudaDevAttrPciDeviceId, device.index);
  const auto places = ranks.gather((domain * 256 + bus) * 32 + slot);
  for (int a = 0; a < ranks.size(); ++a)
    for (int b = a + 1; b < ranks.size(); ++b)
      if (a / ranks.per_node() == b / ranks.per_node() && places[size_t(a)] == places[size_t(b)])
        throw BackendError("ranks " + std::to_string(a) + " and " + std::to_string(b) +
                           " of a node have the same GPU; start no more ranks than GPUs");
}

std::string version(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

std::map<std::string, std::string> variables() {
  static constexpr std::array<std::string_view, 5> kPrefixes{"NCCL_", "CUDA_", "CUBLAS", "CUDNN_",
                                                             "REHEARSE_"};
  std::map<std::string, std::string> found;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    for (std::string_view prefix : kPrefixes)
      if (equals != std::string_view::npos && text.substr(0, prefix.size()) == prefix)
        found.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return found;
}

}  // namespace

Device choose_device(Ranks& ranks) {
  int count = 0;
  const std::string reason = missing(ranks, count);
  if (ranks.any(!reason.empty()))
    throw BackendError(reason.empty() ? "no CUDA device on another rank" : reason);
  Device device;
  device.index = count == 1 ? 0 : ranks.local_rank();
  check(cudaSetDevice(device.index), "use the device");
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device.index), "ask for the device's properties");
  char address[32] = "";
  check(cudaDeviceGetPCIBusId(address, sizeof address, device.index), "ask for the device's address");
  device.name = properties.name;
  device.pci_address = address;
  device.capability = {properties.major, properties.minor};
  device.sms = properties.multiProcessorCount;
  device.memory_bytes = double(properties.totalGlobalMem);
  device.l2_bytes = properties.l2CacheSize;
  device.clock_mhz = attribute(cudaDevAttrClockRate, device.index) / 1e3;
  device.memory_clock_mhz = attribute(cudaDevAttrMemoryClockRate, device.index) / 1e3;
  device.bus_bits = attribute(cudaDevAttrGlobalMemoryBusWidth, device.index);
  check_apart(device, ranks);
  return device;
}

Environment describe(const Device& device, const Nvml& nvml, const Ranks& ranks, const std::string& libraries,
                     const std::string& collectives_library) {
  Environment e;
  e.backend = "cuda";
  e.device = device.name;
  int driver = 0, runtime = 0;
  check(cudaDriverGetVersion(&driver), "ask for the driver's version");
  check(cudaRuntimeGetVersion(&runtime), "ask for the runtime's version");
  const std::string number = nvml.driver_version();
  e.driver = (number.empty() ? "NVIDIA" : number) + " (CUDA " + version(driver) + ")";
  e.toolkit = "CUDA " + version(runtime) + ", " + libraries;
  e.collectives_library = collectives_library;
  e.variables = variables();
  e.ranks = ranks.size();
  e.ranks_per_node = ranks.per_node();

  const Capability c = device.capability;
  const int seen = nvml.active_links(), links = seen < 0 ? nvlink_count(c) : seen;
  const double memory_clock = device.memory_clock_mhz > 0 ? device.memory_clock_mhz : nvml.memory_clock_mhz();
  e.limits.peak_flops = peaks(c, device.sms, device.clock_mhz);
  e.limits.memory_bytes_per_s = memory_bandwidth(memory_clock, device.bus_bits);
  e.limits.link_bytes_per_s = links * nvlink_bytes_per_s(c);
  e.limits.memory_bytes = device.memory_bytes;
  e.limits.l2_bytes = device.l2_bytes;
  e.limits.sms = device.sms;
  e.limits.clock_mhz = device.clock_mhz;
  e.topology = std::to_string(ranks.size() / std::max(1, ranks.per_node())) + " x " +
               std::to_string(ranks.per_node()) + " GPUs, capability " + std::to_string(c.major) + "." +
               std::to_string(c.minor) + ", " +
               (seen < 0 ? std::string("NVLinks not read") : std::to_string(seen) + " NVLinks active") +
               ", rank 0 at " + device.pci_address;
  return e;
}

}  // namespace rehearse::calibration::cuda
