#include "sim/cli/sweep_progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <iostream>

namespace rehearse {

namespace {

constexpr double kWindow = 20;  // s: some points take a hundred times as long as others

std::string duration_text(double seconds) {
  const long whole = std::lround(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace

SweepProgress::SweepProgress(size_t total, bool quiet)
    : total_(total), quiet_(quiet), watched_(isatty(STDERR_FILENO) == 1) {}

SweepProgress::~SweepProgress() {
  if (drawn_) std::cerr << "\r\x1b[K" << std::flush;
}

void SweepProgress::show(size_t done) {
  const auto now = Clock::now();
  const auto seconds = [](Clock::duration span) { return std::chrono::duration<double>(span).count(); };
  if (quiet_ || seconds(now - last_) < (watched_ ? 0.2 : 10)) return;
  last_ = now;
  seen_.emplace_back(now, done);
  while (seen_.size() > 2 && seconds(now - seen_[1].first) > kWindow) seen_.pop_front();
  const double rate = double(done - seen_.front().second) / seconds(now - seen_.front().first);
  std::string line = fmt::format("{}/{} points, {:.0f} a second", done, total_, rate);
  if (rate > 0) line += fmt::format(", {} left", duration_text(double(total_ - done) / rate));
  if (watched_)
    std::cerr << '\r' << line << "\x1b[K" << std::flush;
  else
    std::cerr << line << '\n';
  drawn_ = watched_;
}

}  // namespace rehearse
