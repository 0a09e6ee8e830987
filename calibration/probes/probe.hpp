// A probe is a row of the table: what to measure, and how where the common way does not do.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "calibration/measure/measure.hpp"
#include "calibration/probes/bench.hpp"

namespace rehearse::calibration {

struct Wanted {
  int ranks = 1, per_node = 1;
  std::vector<DType> dtypes;  // those the device knows
  double memory_bytes = 0;    // a point needs less; 0: not known, and a GiB is taken
  Limits limits;              // a call that would take too long is left out: on a CPU shapes are smaller
};

// A point and its worth: about the share of time that shapes like it take in training; the budget goes to
// the most valuable first. `seconds`: what it may take to measure.
struct Point {
  Work work;
  double value = 1, seconds = 0.5;
};

struct Probe {
  std::string_view name, help;
  std::vector<Point> (*points)(const Wanted&);
  // Why the machine cannot run the point; nothing where it can.
  std::optional<std::string> (*can_run)(const Backend&, const Work&, const Ranks&);
  Sample (*run)(Bench&, const Work&);
};

// gemm, batched_gemm, attention, memory, launch, bandwidth, collective, overlap; one file each, to add one: a
// file and a row.
std::span<const Probe> probe_table();
extern const Probe kGemmProbe, kBatchedGemmProbe, kAttentionProbe, kMemoryProbe, kLaunchProbe,
    kBandwidthProbe, kCollectiveProbe, kOverlapProbe;

// The row that measures the work.
const Probe& probe_of(const Work& work);

// The common reason: the backend refuses it, or it takes more ranks than there are.
std::optional<std::string> cannot_run(const Backend& backend, const Work& work, const Ranks& ranks);

// The common way: allocate rotated operands (at least 3 x L2 in all), check the result, warm up, measure,
// judge. What fails is a sample with status failed and why: "refused", "no-memory", "call-failed". All ranks
// call it together and get the same sample.
Sample run_point(Bench& bench, const Work& work);

// Points as JSON lines: {"point": name, "work": as in samples, "value": ..., "seconds": ...}; work alone must
// be there. Reading throws InputErrors E-POINTS with line where one cannot be read, is given twice, or there
// is none.
std::string to_json_line(const Point& point);
std::vector<Point> read_points(const std::string& path);

}  // namespace rehearse::calibration
