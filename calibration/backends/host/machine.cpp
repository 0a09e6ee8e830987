#include "calibration/backends/host/machine.hpp"

#include <cblas.h>
#include <mpi.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <fstream>

namespace rehearse::calibration::host {
namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Value of the first line of /proc/cpuinfo or /proc/meminfo that starts with the key.
std::string proc_value(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, key.size(), key) != 0) continue;
    const auto at = line.find_first_not_of(" \t:", line.find(':'));
    return at == std::string::npos ? "" : line.substr(at);
  }
  return "";
}

double kibibytes(const char* key) {
  const std::string text = proc_value("/proc/meminfo", key);
  return text.empty() ? 0 : std::stod(text) * 1024;
}

// FLOPs a core can issue in a cycle: two FMA units of the widest vectors, or an adder and a multiplier.
double flops_per_cycle() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return 2 * 16 * 2;
  if (__builtin_cpu_supports("fma")) return 2 * 8 * 2;
  if (__builtin_cpu_supports("avx")) return 2 * 8;
  return 2 * 4;
#else
  return 0;
#endif
}

double copy_rate(size_t bytes) {
  std::vector<char> from(bytes, 1), to(bytes, 2);
  double best = 0;
  for (int trial = 0; trial < 5; ++trial) {
    const int repeats = int(std::max<size_t>(1, (size_t(8) << 20) / bytes));
    const auto start = Clock::now();
    for (int i = 0; i < repeats; ++i) {
      std::memcpy(to.data(), from.data(), bytes);
      asm volatile("" : : "r"(to.data()) : "memory");
    }
    best = std::max(best, 2.0 * double(bytes) * repeats / since(start));
  }
  return best;
}

double fastest_copy() {
  double best = 0;
  for (size_t bytes : std::array<size_t, 3>{16 << 10, 256 << 10, 32 << 20})
    best = std::max(best, copy_rate(bytes));
  return best;
}

long cache_bytes(int level) {
  constexpr int kNames[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
  return std::max(0L, sysconf(kNames[level - 1]));
}

// The last cache that a core fills. Virtual machines show the sum over a socket's core complexes; none so far
// is larger than 96 MiB.
double last_cache_bytes() {
  const long largest = std::max({cache_bytes(1), cache_bytes(2), cache_bytes(3)});
  return double(std::min(largest, 96L << 20));
}

std::string topology_text(const Ranks& ranks) {
  const auto kib = [](long bytes) { return std::to_string(bytes >> 10) + " KiB"; };
  return std::to_string(ranks.size() / ranks.per_node()) + " x " + std::to_string(ranks.per_node()) +
         " ranks, one core each, of " + std::to_string(sysconf(_SC_NPROCESSORS_ONLN)) +
         "; caches as the system shows them: L1d " + kib(cache_bytes(1)) + ", L2 " + kib(cache_bytes(2)) +
         ", L3 " + kib(cache_bytes(3));
}

std::string mpi_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string whole(text.data(), size_t(length));
  return whole.substr(0, whole.find_first_of(",\n"));
}

// Settings that change how fast kernels and collectives are; a launcher's own (addresses, ports) are not.
std::map<std::string, std::string> variables() {
  constexpr std::string_view kPrefixes[] = {"OMP_",          "OPENBLAS_",     "GOTO_NUM_THREADS",
                                            "OMPI_MCA_btl",  "OMPI_MCA_coll", "OMPI_MCA_pml",
                                            "OMPI_MCA_mpi_", "UCX_",          "GLIBC_TUNABLES"};
  std::map<std::string, std::string> found;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    for (auto prefix : kPrefixes)
      if (equals != text.npos && text.starts_with(prefix))
        found.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return found;
}

Limits limits(const Ranks& ranks) {
  Limits found;
  found.clock_mhz = core_clock_mhz();
  const double peak = flops_per_cycle() * found.clock_mhz * 1e6 * 1.1;
  if (peak > 0) found.peak_flops = {{DType::fp32, peak}};
  found.memory_bytes_per_s = fastest_copy() * 1.5;
  found.link_bytes_per_s = found.memory_bytes_per_s;
  found.memory_bytes = kibibytes("MemTotal") / ranks.per_node();
  found.l2_bytes = last_cache_bytes();
  found.sms = 1;
  return found;
}

}  // namespace

int cores_of_rank(const Ranks& ranks) {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int online = int(sysconf(_SC_NPROCESSORS_ONLN));
  const int bound = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : online;
  return std::max(1, std::min(bound, online / ranks.per_node()));
}

double core_clock_mhz() {
#if defined(__x86_64__)
  constexpr int kRounds = 2000, kCycles = 8 * 3;
  double best = 0;
  for (int trial = 0; trial < 20; ++trial) {
    uint64_t x = 3;
    const auto start = Clock::now();
    for (int i = 0; i < kRounds; ++i)
      asm volatile(
          "imul %0, %0\n imul %0, %0\n imul %0, %0\n imul %0, %0\n"
          "imul %0, %0\n imul %0, %0\n imul %0, %0\n imul %0, %0\n"
          : "+r"(x)
          :
          : "cc");
    best = std::max(best, double(kRounds) * kCycles / since(start) / 1e6);
  }
  return best;
#else
  return 0;
#endif
}

double memory_available() { return kibibytes("MemAvailable"); }

Environment describe(const Ranks& ranks) {
  Environment e;
  utsname system{};
  uname(&system);
  e.backend = "host";
  e.device = proc_value("/proc/cpuinfo", "model name");
  if (e.device.empty()) e.device = system.machine;
  e.driver = std::string(system.sysname) + " " + system.release;
  e.toolkit = openblas_get_config();
  e.collectives_library = mpi_version();
  e.topology = topology_text(ranks);
  e.variables = variables();
  e.ranks = ranks.size();
  e.ranks_per_node = ranks.per_node();
  e.limits = limits(ranks);
  return e;
}

}  // namespace rehearse::calibration::host
