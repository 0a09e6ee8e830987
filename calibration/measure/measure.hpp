// When a timing is over and what is kept of it (rules 1, 4, 5 and 7 of the harness; calibration/README.md).
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "calibration/backends/backend.hpp"

namespace rehearse::calibration {

struct Rules {
  double warm_agreement = 0.02;  // two consecutive medians of 3 agree: warm; or half of cap_s is over
  int warm_least = 3, warm_most = 60;
  double least_timing_s = 200e-6;  // calls are repeated in one timing until it lasts as long
  int least_repeats = 1;           // of calls in one timing
  double interval = 0.01;          // half width of the median's 95 % interval, relative: settled
  int least_timings = 10, most_timings = 400;
  double cap_s = 2;       // of one point, warm-up aside
  double unstable = 0.2;  // (p90 - p10) / median beyond which a sample that has not settled is rejected
};

struct Measurement {
  Quantiles device, host;  // s a call
  double rank_min = 0, rank_max = 0;
  int repeats = 1, warmups = 0;
  bool settled = false;  // stopped by the interval, not by a cap
};

Quantiles quantiles(std::vector<double> values);
double median_of(std::vector<double> values);  // 0 of none
// 95 % interval of the median by order statistics (binomial); no distribution assumed.
std::pair<double, double> median_interval(std::vector<double> values);

// `run(repeats)` times that many calls. All ranks take part together and stop together: when on every rank
// the median's interval is narrow and the medians of the first and second half agree (a drift is no rest), or
// when a cap is reached on one. The slowest rank's times are kept, with the spread of medians over ranks. A
// BackendError of `run` on one rank ends it on all, and is thrown there (where the others do not wait within
// `run` for the one that failed).
Measurement measure(const std::function<Elapsed(int repeats)>& run, const Rules& rules, Ranks& ranks);

struct Verdict {
  Status status = Status::ok;
  std::string code, reason;
};
// Whether a sample can be true: above-peak (FLOP/s over the clock-adjusted peak), above-memory, above-wire
// (busbw over links x known tree or NVLS factor), zero-time, one-rank (unfit), unstable.
Verdict judge(const Sample& sample, const Limits& limits, const Rules& rules);

// The bus bandwidth that no algorithm can pass, bytes/s; 0 = not known. In a node the link's, for all_reduce
// times 2 (n-1)/n, since a switch that reduces moves the vector once (NVLS); across nodes the bytes that must
// pass a node's NICs, once for all_reduce (tree, SHARP), (nodes-1)/nodes for the others; only of concurrent
// groups, as others may use the NICs of idle ranks.
double bus_bound(const CollectiveCall& call, const Limits& limits);

// Clocks, and flags "throttled" and "clock-fell" (by more than 5 %).
void note_health(Sample& sample, const Health& before, const Health& after);

// Runs the call once on fresh operands and compares with a reference in double precision: sampled elements
// of GEMM and attention, rows of the others, all that short collectives deliver and parts of long ones. The
// operands' seeds are those of the rank (seed_on). The same answer on all ranks, of the first that differs;
// throws BackendError on all where the call fails on one. Nothing where it is right, else
// what differs ("C[12,7] = 3.25, reference 1.5, tolerance 0.02").
std::optional<std::string> check_result(Backend& backend, const Work& work, const Operands& operands,
                                        Ranks& ranks);

}  // namespace rehearse::calibration
