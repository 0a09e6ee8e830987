// A probe is a row of the table: what to measure, and how where the common way does not do.
#pragma once
#include <span>
#include <vector>

#include "calibration/measure/measure.hpp"

namespace rehearse::calibration {

struct Wanted {
  int ranks = 1, per_node = 1;
  std::vector<DType> dtypes;  // those the device knows
  double memory_bytes = 0;    // a point needs less
  bool warm_l2 = false;       // do not rotate buffers
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
  std::optional<std::string> (*can_run)(const Backend&, const Work&, Ranks&);
  Sample (*run)(Backend&, const Work&, const Rules&, Ranks&, bool warm_l2);
};

// gemm, batched_gemm, attention, memory, launch, bandwidth, collective, overlap; one file each, to add one: a
// file and a row.
std::span<const Probe> probe_table();

// The common way: allocate rotated operands (at least 3 x L2 in all), check the result, warm up, measure,
// judge.
Sample run_point(Backend& backend, const Work& work, const Rules& rules, Ranks& ranks, bool warm_l2);

}  // namespace rehearse::calibration
