// Samples and where they come from. A file of samples is JSON lines: environment records, and samples that
// each name theirs. Times are seconds a call.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "calibration/work/work.hpp"

namespace rehearse::calibration {

// Bounds that no sample of a device can pass; 0 = not known.
struct Limits {
  std::vector<std::pair<DType, double>> peak_flops;  // dense, FLOP/s, at `clock_mhz`
  double memory_bytes_per_s = 0;                     // data sheet or theoretical
  double link_bytes_per_s = 0;                       // GPU to GPU in a node, one direction
  double network_bytes_per_s = 0;                    // a GPU's share of its node's NICs, one direction
  double memory_bytes = 0, l2_bytes = 0, sms = 0, clock_mhz = 0;
  double peak(DType t) const {
    for (const auto& [dtype, flops] : peak_flops)
      if (dtype == t) return flops;
    return 0;
  }
};

// One run of the harness, or one imported file.
struct Environment {
  std::string id;  // digest of the rest
  std::string backend, device, driver, toolkit, collectives_library, topology, command, started;
  std::map<std::string, std::string> variables;  // NCCL_*, OMP_*, OPENBLAS_*, CUDA_*
  int ranks = 1, ranks_per_node = 1;
  Limits limits;
  std::string source, licence, caveats;  // imported data
  // Of collectives over nodes, where known: the network's word, the rate of all NICs of a node that the ranks
  // use, and the latency from node to node.
  std::string network;
  double node_network_bytes_per_s = 0, network_latency_s = 0;
};

enum class Status : uint8_t {
  ok,
  unfit,     // measured, but of no use for a fit: one-rank collectives
  rejected,  // measured and not believed: `code` and `reason`
  failed,    // could not be measured: refused, out of memory
};

// Of repeated measurements; a mean stands nowhere.
struct Quantiles {
  double median = 0, mad = 0, p10 = 0, p90 = 0;
  int n = 0;
};

struct Sample {
  std::string probe;  // a row of the probe table, or "import"
  Work work;
  std::string environment;  // Environment::id
  Status status = Status::ok;
  std::string code, reason;           // of what is not ok: "above-peak", "wrong-result", "unstable" ...
  Quantiles device, host;             // device time (events), host clock; n = 0: not taken. Never mixed.
  double rank_min = 0, rank_max = 0;  // of the ranks' medians; `device` is the slowest rank's
  int repeats = 1, warmups = 0;       // calls in one timing; timings before the first that counted
  double clock_before_mhz = 0, clock_after_mhz = 0;
  std::vector<std::string> flags;  // "unsettled", "graph", "uncovered", "throttled", "clock-fell", "warm-l2"
  std::string when;                // UTC, ISO 8601
  // Overlap: kernel alone and beside, collective alone and beside; else 0.
  double alone = 0, beside = 0, collective_alone = 0, collective_beside = 0;
};

struct SampleFile {
  std::map<std::string, Environment> environments;
  std::vector<Sample> samples;
};

std::string to_json_line(const Sample& sample);
std::string to_json_line(const Environment& environment);

// What Environment::id holds: a digest of all other fields.
std::string digest_of(const Environment& environment);

// Reads a file of samples. A last line without a line break (the process died while writing) is left out.
// Throws InputErrors E-SAMPLE with line where another line cannot be read, names an unknown environment, or
// repeats a point of the same environment's device (of imported data: of the same
// environment).
SampleFile read_samples(const std::string& path);

// Appends one line at a time, each with one write() to an O_APPEND descriptor. Opening cuts off a torn last
// line. A sample is in the file when append() returns.
class SampleWriter {
 public:
  explicit SampleWriter(const std::string& path);
  ~SampleWriter();
  SampleWriter(const SampleWriter&) = delete;
  SampleWriter& operator=(const SampleWriter&) = delete;
  void append(const std::string& json_line);

 private:
  std::string path_;
  int fd_ = -1;
};

}  // namespace rehearse::calibration
