// A sweep, from the points of a study to what is said about them.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "sim/study/store.hpp"

namespace rehearse {

// A point of the study that this sweep is to price, or finds priced.
struct SweepItem {
  size_t index = 0;  // of the study's points
  std::string digest;
  Outcome outcome;
  bool known = false, reused = false;  // has an outcome; and had it before this sweep
};

struct SweepSummary {
  // points = rejected + unfit + reused + simulated + left. Those reused were simulated before, and failed
  // ones count as rejected.
  size_t points = 0, rejected = 0, unfit = 0, reused = 0, simulated = 0, left = 0, failed = 0;
  size_t priced = 0;  // by this sweep, whatever came of it
  std::map<std::string, size_t> rejected_by_code, engines;
  std::map<std::string, size_t> examples;  // by code: index of the first point
  std::vector<const SweepItem*> best;      // by step time
  double wall_s = 0, pricing_s = 0;        // of all, and of the pricing alone
  bool interrupted = false;
};
SweepSummary summarize(const std::vector<SweepItem>& items);

// Where a sweep keeps its results if no store is named.
std::string default_store(const Study& study);

std::string sweep_table(const SweepSummary& summary, const Study& study, const std::string& store);
std::string sweep_json(const SweepSummary& summary, const Study& study, const std::string& store);
// A row a point that has an outcome: digest, the axes, verdict, code, message, figures, peaks of the stages.
std::string sweep_csv(const std::vector<SweepItem>& items, const Study& study);

}  // namespace rehearse
