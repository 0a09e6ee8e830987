// How far a sweep is, on standard error.
#pragma once
#include <string>

#include "calibration/probes/sweep.hpp"

namespace rehearse::calibration {

// "45 s", "3 min 20 s", "1 h 5 min"
std::string duration_text(double seconds);

// One line that is drawn again where a person watches; else a line every few seconds. What was not believed
// gets a line of its own.
class Progress {
 public:
  Progress(bool watched, bool quiet) : watched_(watched), quiet_(quiet) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void show(const ProbePoint& next, const Pace& pace, double elapsed);
  void doubt(const Sample& sample);

 private:
  void clear();
  bool watched_, quiet_, drawn_ = false;
  double last_ = -1e9;
};

// The closing table, and what was not believed.
std::string summary_text(const Sweep& sweep, const std::string& path);
std::string summary_json(const Sweep& sweep, const std::string& path, const Environment& environment);

}  // namespace rehearse::calibration
