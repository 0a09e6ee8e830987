// The simulated step against the same calls run for real.
#pragma once
#include <string>
#include <vector>

#include "calibration/backends/backend.hpp"
#include "calibration/verify/steps.hpp"

namespace rehearse::calibration {

// What `rehearse` says of the step, unfolded.
struct Simulated {
  double step = 0;
  std::vector<std::pair<std::string, double>> account;  // parts as in the contract, s
  std::vector<double> start, end;                       // [task], s
};
// Runs the simulator as a child process, since it must not share one with MPI. Throws InputErrors where it
// refuses the scenario (its own words), std::runtime_error where it cannot be started.
Simulated simulate_in_child(const std::string& program, const std::string& scenario,
                            const std::vector<std::string>& sets);

// How often the step is run.
struct Runs {
  int warmups = 2, measured = 7;
};

// Where this rank's calls ran.
struct MeasuredRank {
  std::vector<double> step;             // [run], s: this rank's last end
  std::vector<std::vector<Span>> runs;  // [run][call]
};
// All ranks together. Operands take turns until they are three times the last cache in all, as in the probes.
// Throws BackendError on all of them with the call that cannot run on one.
MeasuredRank run_calls(Backend& backend, Ranks& ranks, const std::vector<RankCall>& calls, const Runs& runs);

// Seconds of one rank's step by part: kernels to compute, recompute, optimizer; while none runs, what does:
// exposed_tp, exposed_dp ..., "stages" for transfers (the simulator's exposed_pp and bubble together), else
// overhead.
std::vector<std::pair<std::string, double>> account_of(const TaskGraph& graph,
                                                       const std::vector<RankCall>& calls,
                                                       const std::vector<Span>& spans, double step);

struct OpRow {
  std::string name;                               // "fc1 gemm", "gradients", "stage forward"
  double calls = 0, simulated = 0, measured = 0;  // a step, mean over ranks; s
};
struct Verification {
  std::string scenario, backend, device;
  int ranks = 1;
  double simulated_step = 0;
  std::vector<double> steps;  // measured, of each run: the slowest rank
  std::vector<std::pair<std::string, double>> simulated_account, measured_account;  // means over ranks
  std::vector<OpRow> ops;                                                           // most measured first
  double measured_step() const;                                                     // median
  double error() const;  // simulated / measured - 1
};
// On rank 0 the whole, on others what they measured is handed over.
Verification compare(const Simulated& simulated, const TaskGraph& graph, const std::vector<RankCall>& calls,
                     const MeasuredRank& measured, Ranks& ranks);

std::string table_of(const Verification& v);
std::string json_of(const Verification& v);

}  // namespace rehearse::calibration
