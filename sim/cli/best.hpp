// What is said about the best points of a study.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/study/best.hpp"

namespace rehearse {

// A layout named by the user, and where it would stand among the points.
struct PlacedLayout {
  std::string label;                  // "base", or the settings as given
  std::vector<std::string> settings;  // on the base
  Outcome outcome;
  std::optional<Candidate> candidate;  // where it fits; then its rank
  size_t rank = 0;
};

struct BestAnswer {
  std::string store;
  // points = missing + rejected (failed ones among them) + unfit + over_memory + simulated
  size_t points = 0, missing = 0, rejected = 0, unfit = 0, over_memory = 0;
  std::map<std::string, size_t> rejected_by_code;
  Goal goal = Goal::step_time;
  Rates rates;
  size_t top = 5;
  std::optional<double> memory;      // bytes that were asked for
  std::vector<Candidate> simulated;  // best first
  std::vector<size_t> front;         // places in it
  std::optional<KnownError> error;
  size_t alike = 0;  // within the error of the first, that one included; 0 where no error is known
  std::vector<PlacedLayout> placed;
  std::string sweep_command;
  std::string yaml;  // of the first; empty where there is none
};

std::string best_table(const BestAnswer& answer, const Study& study);
std::string best_json(const BestAnswer& answer, const Study& study);

}  // namespace rehearse
