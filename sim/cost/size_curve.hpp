// Time against size from tables of one collective.
#pragma once
#include <vector>

#include "sim/spec/profile.hpp"

namespace rehearse {

struct CurveValue {
  double seconds = 0;
  Basis basis = Basis::measured;  // measured at a size of a table, else fitted
  bool outside = false;           // more than a factor 4 beyond the sizes
};

// Between sizes alpha-beta through both, which over 84 tables of seven systems leaves 1.9 % median where a
// size is left out (straight in the logarithms 2.7 %); the first time below the first size; beyond the last,
// alpha-beta through it whose slope is that of the table from a quarter of the last size on, at least 0.
CurveValue size_curve(const CollectiveTable& table, double bytes);

// The first table; beyond its end the next that reaches farther, scaled so that both agree at the end of the
// first.
CurveValue chained_curve(const std::vector<const CollectiveTable*>& tables, double bytes);

}  // namespace rehearse
