#include "calibration/probes/sweep.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <nlohmann/json.hpp>

#include "calibration/samples/work_json.hpp"

namespace rehearse::calibration {

namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::vector<ProbePoint> sorted(std::vector<ProbePoint> tasks) {
  std::stable_sort(tasks.begin(), tasks.end(),
                   [](const ProbePoint& a, const ProbePoint& b) { return a.point.value > b.point.value; });
  return tasks;
}

}  // namespace

std::vector<ProbePoint> tasks_of(const std::vector<const Probe*>& probes, const Wanted& wanted,
                                 const std::set<std::string>& measured, const Backend& backend,
                                 const Ranks& ranks) {
  std::vector<ProbePoint> tasks;
  for (const Probe* probe : probes)
    for (const Point& point : probe->points(wanted)) tasks.push_back({probe, point});
  std::set<std::string> seen = measured;
  std::vector<ProbePoint> once;
  for (const ProbePoint& task : sorted(std::move(tasks)))
    if (seen.insert(point_of(task.point.work)).second &&
        !task.probe->can_run(backend, task.point.work, ranks))
      once.push_back(task);
  return once;
}

std::vector<ProbePoint> tasks_of(const std::vector<Point>& points, const std::set<std::string>& measured) {
  std::vector<ProbePoint> tasks;
  for (const Point& point : points)
    if (!measured.count(point_of(point.work))) tasks.push_back({&probe_of(point.work), point});
  return sorted(std::move(tasks));
}

std::vector<ProbePoint> within(const std::vector<ProbePoint>& tasks, double seconds) {
  std::vector<ProbePoint> taken;
  for (const ProbePoint& task : tasks) {
    if (task.point.seconds > seconds) continue;
    seconds -= task.point.seconds;
    taken.push_back(task);
  }
  return taken;
}

// The first estimate counts as much as two seconds of experience.
double Pace::correction() const { return (taken_ + 2) / (estimated_ + 2); }

const ProbePoint* Pace::next(double elapsed) {
  while (at_ < tasks_.size() && elapsed + tasks_[at_].point.seconds * correction() > budget_) ++at_;
  return at_ < tasks_.size() ? &tasks_[at_] : nullptr;
}

void Pace::took(double seconds) {
  taken_ += seconds;
  estimated_ += tasks_[at_].point.seconds;
  ++at_;
  ++done_;
}

size_t Pace::expected(double elapsed) const {
  size_t count = done_;
  for (size_t i = at_; i < tasks_.size(); ++i) {
    const double seconds = tasks_[i].point.seconds * correction();
    if (elapsed + seconds > budget_) continue;
    elapsed += seconds;
    ++count;
  }
  return count;
}

double Pace::left(double elapsed) const {
  double seconds = 0;
  for (size_t i = at_; i < tasks_.size() && elapsed + seconds < budget_; ++i)
    seconds += tasks_[i].point.seconds * correction();
  return std::max(0.0, std::min(seconds, budget_ - elapsed));
}

int Sweep::rejected() const {
  int count = 0;
  for (const Tally& tally : tallies) count += tally.rejected;
  return count;
}

namespace {

void count(Sweep& sweep, const Sample& sample, double seconds) {
  auto tally = std::find_if(sweep.tallies.begin(), sweep.tallies.end(),
                            [&](const Tally& t) { return t.probe == sample.probe; });
  if (tally == sweep.tallies.end()) tally = sweep.tallies.insert(tally, Tally{sample.probe});
  tally->seconds += seconds;
  switch (sample.status) {
    case Status::ok:
      ++tally->ok;
      return;
    case Status::unfit:
      ++tally->unfit;
      return;
    case Status::rejected:
      ++tally->rejected;
      break;
    case Status::failed:
      ++tally->failed;
      break;
  }
  sweep.doubted.push_back(sample);
}

void in_table_order(std::vector<Tally>& tallies) {
  std::vector<Tally> ordered;
  for (const Probe& probe : probe_table())
    for (const Tally& tally : tallies)
      if (tally.probe == probe.name) ordered.push_back(tally);
  tallies = std::move(ordered);
}

}  // namespace

Sweep run_sweep(Bench& bench, std::vector<ProbePoint> tasks, double budget_s, const SweepHooks& hooks) {
  Sweep sweep;
  const bool leads = bench.ranks.rank() == 0;
  const size_t all = tasks.size();
  Pace pace(std::move(tasks), budget_s);
  std::exception_ptr trouble;
  const auto start = Clock::now();
  while (true) {
    sweep.interrupted = bench.ranks.any(hooks.stop());
    std::string order;
    const bool chooses = leads && !sweep.interrupted && !trouble;
    if (const ProbePoint* task = chooses ? pace.next(since(start)) : nullptr) try {
        hooks.show(*task, pace, since(start));
        order = nlohmann::json{{"probe", task->probe->name}, {"work", to_json(task->point.work)}}.dump();
      } catch (...) {
        trouble = std::current_exception();
      }
    order = bench.ranks.broadcast(order, 0);
    if (order.empty()) break;
    const auto json = nlohmann::json::parse(order);
    const Work work = work_from(json["work"]);
    const auto table = probe_table();
    const auto probe =
        std::find_if(table.begin(), table.end(), [&](const Probe& p) { return p.name == json["probe"]; });
    const double began = since(start);
    Sample sample = probe->run(bench, work);
    sample.probe = probe->name;
    if (!leads) continue;
    const double seconds = since(start) - began;
    pace.took(seconds);
    count(sweep, sample, seconds);
    try {
      hooks.keep(sample);
    } catch (...) {
      trouble = std::current_exception();
    }
  }
  if (trouble) std::rethrow_exception(trouble);
  in_table_order(sweep.tallies);
  sweep.left = all - pace.done();
  sweep.seconds = since(start);
  return sweep;
}

}  // namespace rehearse::calibration
