// What was asked for: the fields of a scenario as they were read, before they are held against each other.
#pragma once
#include "sim/spec/check.hpp"

namespace rehearse {

struct Job {
  Scenario scenario;  // layout.dp 0 where it is not given
  Places places;      // which keys are given, and where
};

}  // namespace rehearse
