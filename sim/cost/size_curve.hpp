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

// Whether a table reaches down to that size. Below 8 KiB time no longer depends on size: such a table reaches
// all the way down.
bool covers(const std::vector<const CollectiveTable*>& tables, double bytes);

// The first table; beyond its end the next that reaches farther, below its first size the first that reaches
// down to `bytes`, each scaled so that both agree where they meet. At least one table.
CurveValue chained_curve(const std::vector<const CollectiveTable*>& tables, double bytes);

}  // namespace rehearse
