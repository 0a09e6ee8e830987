// When a timing is over and what is kept of it (rules 1, 4, 5 and 7 of the harness; calibration/README.md).
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "calibration/backends/backend.hpp"

namespace rehearse::calibration {

struct Rules {
  double warm_agreement = 0.02;  // two consecutive medians of 3 agree: warm
  int warm_least = 3, warm_most = 60;
  double least_timing_s = 200e-6;  // calls are repeated in one timing until it lasts as long
  double interval = 0.01;          // half width of the median's 95 % interval, relative: settled
  int least_timings = 10, most_timings = 400;
  double cap_s = 3;       // of one point, warm-up aside
  double unstable = 0.2;  // (p90 - p10) / median beyond which a sample that has not settled is rejected
};

struct Measurement {
  Quantiles device, host;  // s a call
  double rank_min = 0, rank_max = 0;
  int repeats = 1, warmups = 0;
  bool settled = false;  // stopped by the interval, not by a cap
};

Quantiles quantiles(std::vector<double> values);
// 95 % interval of the median by order statistics (binomial); no distribution assumed.
std::pair<double, double> median_interval(std::vector<double> values);

// `run(repeats)` times that many calls. All ranks take part together and stop together; the slowest rank's
// median is kept, with the spread over ranks.
Measurement measure(const std::function<Elapsed(int repeats)>& run, const Rules& rules, Ranks& ranks);

struct Verdict {
  Status status = Status::ok;
  std::string code, reason;
};
// Whether a sample can be true: above-peak (FLOP/s over the clock-adjusted peak), above-memory, above-wire
// (busbw over links x known tree or NVLS factor), zero-time, one-rank (unfit), unstable.
Verdict judge(const Sample& sample, const Limits& limits, const Rules& rules);

// Runs the call once on fresh operands and compares with a reference in double precision: sampled elements
// of GEMM and attention, rows of the others, all that collectives deliver. Nothing where it is right, else
// what differs ("C[12,7] = 3.25, reference 1.5, tolerance 0.02").
std::optional<std::string> check_result(Backend& backend, const Work& work, const Operands& operands,
                                        Ranks& ranks);

}  // namespace rehearse::calibration
