// How far a sweep is, on stderr.
#pragma once
#include <chrono>
#include <cstddef>
#include <deque>
#include <utility>

namespace rehearse {

class SweepProgress {
 public:
  SweepProgress(size_t total, bool quiet);
  ~SweepProgress();  // clears the line
  SweepProgress(const SweepProgress&) = delete;
  SweepProgress& operator=(const SweepProgress&) = delete;
  // On a terminal one line, drawn anew a few times a second; else a line every 10 s.
  void show(size_t done);

 private:
  using Clock = std::chrono::steady_clock;
  size_t total_;
  bool quiet_, watched_, drawn_ = false;
  Clock::time_point last_ = Clock::now();
  std::deque<std::pair<Clock::time_point, size_t>> seen_{{last_, 0}};  // for the rate of late
};

}  // namespace rehearse
