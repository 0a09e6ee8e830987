// A sweep: the points that are left, in order of their worth, measured until the budget is used up.
#pragma once
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "calibration/probes/probe.hpp"

namespace rehearse::calibration {

struct ProbePoint {
  const Probe* probe;
  Point point;
};

// Every point of the probes once, the most valuable first, without those in `measured` (names of points) and
// those that the machine cannot run.
std::vector<ProbePoint> tasks_of(const std::vector<const Probe*>& probes, const Wanted& wanted,
                                 const std::set<std::string>& measured, const Backend& backend,
                                 const Ranks& ranks);

// Given points instead of the probes' own; what the machine cannot run stays, and will be said in its sample.
std::vector<ProbePoint> tasks_of(const std::vector<Point>& points, const std::set<std::string>& measured);

// Those that fit into `seconds` by their own estimates, most valuable first; one that does not fit gives way
// to the next that does.
std::vector<ProbePoint> within(const std::vector<ProbePoint>& tasks, double seconds);

// Chooses the next task as time goes by: the most valuable that still fits, estimates corrected by what tasks
// have taken so far.
class Pace {
 public:
  Pace(std::vector<ProbePoint> tasks, double budget_s) : tasks_(std::move(tasks)), budget_(budget_s) {}
  // The next that fits, nothing where none does. `elapsed`: since the sweep began.
  const ProbePoint* next(double elapsed);
  // The last one took so long.
  void took(double seconds);
  size_t done() const { return done_; }
  // About how many will be done in all, and how long from `elapsed` on.
  size_t expected(double elapsed) const;
  double left(double elapsed) const;

 private:
  double correction() const;
  std::vector<ProbePoint> tasks_;
  double budget_, estimated_ = 0, taken_ = 0;
  size_t at_ = 0, done_ = 0;
};

// How the sweep went, by probe.
struct Tally {
  std::string probe;
  int ok = 0, unfit = 0, rejected = 0, failed = 0;
  double seconds = 0;
};

struct Sweep {
  std::vector<Tally> tallies;   // of probes that had points, in the table's order
  std::vector<Sample> doubted;  // rejected and failed
  bool interrupted = false;
  size_t left = 0;  // points that were not reached
  double seconds = 0;
  int rejected() const;
};

// What the caller does on rank 0: keeps a sample; shows how far it is.
struct SweepHooks {
  std::function<void(const Sample&)> keep;
  std::function<void(const ProbePoint& next, const Pace&, double elapsed)> show;
  std::function<bool()> stop;  // asked on every rank before each point
};

// Measures on all ranks; rank 0 chooses from `tasks` (empty elsewhere) and its hooks alone are called, `stop`
// aside. What a hook throws on rank 0 ends the sweep on all ranks, and is thrown there.
Sweep run_sweep(Bench& bench, std::vector<ProbePoint> tasks, double budget_s, const SweepHooks& hooks);

}  // namespace rehearse::calibration
