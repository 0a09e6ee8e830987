#include "calibration/cli/progress.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iostream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

namespace rehearse::calibration {
namespace {

constexpr size_t kWidest = 118;

std::string doubt_text(const Sample& s) {
  return fmt::format("{} {}: {} ({})", s.status == Status::failed ? "failed" : "rejected", point_of(s.work),
                     s.reason, s.code);
}

std::string row(const std::string& name, const Tally& t) {
  return fmt::format("{:<14}{:>8}{:>8}{:>8}{:>10}{:>8}{:>13}\n", name, t.ok + t.unfit + t.rejected + t.failed,
                     t.ok, t.unfit, t.rejected, t.failed, duration_text(t.seconds));
}

Tally total_of(const Sweep& sweep) {
  Tally total{"in all"};
  for (const Tally& t : sweep.tallies) {
    total.ok += t.ok;
    total.unfit += t.unfit;
    total.rejected += t.rejected;
    total.failed += t.failed;
    total.seconds += t.seconds;
  }
  return total;
}

}  // namespace

std::string duration_text(double seconds) {
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  const long whole = std::lround(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

void Progress::show(const ProbePoint& next, const Pace& pace, double elapsed) {
  constexpr double every = 5;  // s
  if (quiet_ || (!watched_ && elapsed - last_ < every)) return;
  last_ = elapsed;
  std::string line =
      fmt::format("{}/{} points, {}", pace.done(), pace.expected(elapsed), duration_text(elapsed));
  if (pace.done() > 0)
    line += fmt::format(", {:.1f} points/s", double(pace.done()) / std::max(elapsed, 1e-3));
  line += fmt::format(", {} left: {}", duration_text(pace.left(elapsed)), point_of(next.point.work));
  if (!watched_) {
    std::cerr << line << '\n';
    return;
  }
  if (line.size() > kWidest) line.resize(kWidest);
  std::cerr << '\r' << line << "\x1b[K" << std::flush;
  drawn_ = true;
}

void Progress::doubt(const Sample& sample) {
  if (quiet_) return;
  clear();
  std::cerr << doubt_text(sample) << '\n';
}

void Progress::clear() {
  if (drawn_) std::cerr << "\r\x1b[K" << std::flush;
  drawn_ = false;
}

std::string summary_text(const Sweep& sweep, const std::string& path) {
  std::string text = fmt::format("{:<14}{:>8}{:>8}{:>8}{:>10}{:>8}{:>13}\n", "probe", "points", "ok", "unfit",
                                 "rejected", "failed", "time");
  for (const Tally& t : sweep.tallies) text += row(t.probe, t);
  text += row("in all", total_of(sweep));
  std::map<std::string, int> codes;
  for (const Sample& s : sweep.doubted) ++codes[s.code];
  for (const auto& [code, count] : codes) text += fmt::format("{:>6} {}\n", count, code);
  for (const Sample& s : sweep.doubted) text += "  " + doubt_text(s) + "\n";
  if (sweep.interrupted) text += "interrupted; the same command goes on where it stopped\n";
  text += fmt::format("{}: {} new in {}; {} more could be measured\n", path,
                      total_of(sweep).ok + total_of(sweep).unfit + int(sweep.doubted.size()),
                      duration_text(sweep.seconds), sweep.left);
  return text;
}

std::string summary_json(const Sweep& sweep, const std::string& path, const Environment& environment) {
  nlohmann::ordered_json json{{"file", path},
                              {"backend", environment.backend},
                              {"device", environment.device},
                              {"environment", environment.id},
                              {"ranks", environment.ranks},
                              {"seconds", sweep.seconds},
                              {"interrupted", sweep.interrupted},
                              {"left", sweep.left}};
  json["probes"] = nlohmann::ordered_json::object();
  for (const Tally& t : sweep.tallies)
    json["probes"][t.probe] = {{"ok", t.ok},
                               {"unfit", t.unfit},
                               {"rejected", t.rejected},
                               {"failed", t.failed},
                               {"seconds", t.seconds}};
  json["doubted"] = nlohmann::ordered_json::array();
  for (const Sample& s : sweep.doubted)
    json["doubted"].push_back({{"point", point_of(s.work)},
                               {"status", s.status == Status::failed ? "failed" : "rejected"},
                               {"code", s.code},
                               {"reason", s.reason}});
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace rehearse::calibration
