// How well tables say what they do not hold.
#pragma once
#include <string>
#include <vector>

#include "calibration/fit/tables.hpp"

namespace rehearse::calibration {

struct Accuracy {
  int n = 0;
  double median = 0, p90 = 0, p99 = 0;  // of |fitted / measured - 1|
};
Accuracy accuracy_of(std::vector<double> errors);

struct FitPoint {
  Work work;
  double measured = 0, fitted = 0;  // s
};
struct TableFit {
  std::string label, file;
  size_t rows = 0, thinned = 0;  // in the profile; left out of it (after holding out)
  Accuracy held_out;
  std::vector<FitPoint> points;  // each held-out row once
};

// Keeps a tenth of the rows out, ten times, each row once, and asks the simulator's own look-up for them with
// the rest of the table. Which tenth a row is of follows from its shape alone; of collectives, whose smallest
// and largest sizes are kept, from its place. `profile`: peaks and bandwidths; its tables are not used.
std::vector<TableFit> hold_out(const DeviceProfile& profile, const std::vector<FitTable>& tables);

// Leaves out the rows that the others predict within `tolerance`: of each quarter in turn, told by the
// shapes, asking what is still there of the other three. The number left out.
size_t thin(const DeviceProfile& profile, FitTable& table, double tolerance);

}  // namespace rehearse::calibration
