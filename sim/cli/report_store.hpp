// Stores of sweeps as pages and figures show them.
#pragma once
#include "sim/view/figures.hpp"
#include "sim/view/page.hpp"

namespace rehearse {

// Whether a file is SQLite's.
bool is_store(const std::string& path);

// All points of a store, in its order, with a column for each key that any of them sets. Throws as Store
// does.
PageSweep read_sweep(const std::string& path);

// Step and peak of the points that were simulated.
std::vector<FigurePoint> trade_offs(const PageSweep& sweep);

}  // namespace rehearse
