#include "calibration/measure/measure.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "calibration/measure/agree.hpp"

namespace rehearse::calibration {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double slowest(Ranks& ranks, double mine) {
  const auto all = ranks.gather(mine);
  return *std::max_element(all.begin(), all.end());
}

// Calls of one timing, grown until the slowest rank's lasts long enough. The first call is not looked at.
int find_repeats(const std::function<Elapsed(int)>& run, const Rules& rules, Ranks& ranks, int repeats,
                 int& warmups) {
  constexpr int most = 1 << 17, rounds = 8;
  for (int round = 0; round < rounds && repeats < most; ++round) {
    const double lasts = slowest(ranks, run(repeats).device_s);
    ++warmups;
    if (lasts >= rules.least_timing_s) break;
    const double growth = std::min(lasts > 0 ? 1.2 * rules.least_timing_s / lasts : 64, 64.0);
    repeats = std::min(most, std::max(repeats + 1, int(std::ceil(repeats * growth))));
  }
  return repeats;
}

// Timings until two consecutive medians of three agree; the last median, a call.
double warm_up(const std::function<Elapsed(int)>& run, const Rules& rules, Ranks& ranks, int repeats,
               int& warmups) {
  const auto start = Clock::now();
  double before = 0;
  for (int done = 0;;) {
    std::vector<double> three;
    for (int i = 0; i < 3; ++i, ++done) three.push_back(run(repeats).device_s / repeats);
    warmups += 3;
    const double now = slowest(ranks, median_of(three));
    const bool agree = before > 0 && std::fabs(now - before) <= rules.warm_agreement * before;
    const bool over = done >= rules.warm_most || seconds_since(start) > rules.cap_s / 2;
    if ((agree && done >= rules.warm_least) || ranks.any(over)) return now;
    before = now;
  }
}

// Whether the values have come to rest: the median is known well enough and does not drift. The difference of
// two halves of a series without drift has twice the spread of its median.
bool at_rest(const std::vector<double>& values, const Rules& rules) {
  const double median = median_of(values);
  const auto [low, high] = median_interval(values);
  if ((high - low) / 2 > rules.interval * median) return false;
  const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  const double first = median_of({values.begin(), middle}), second = median_of({middle, values.end()});
  return std::fabs(first - second) <= 2 * rules.interval * median;
}

// The slowest rank's quantiles, on every rank.
Quantiles of_rank(Ranks& ranks, const Quantiles& mine, size_t rank) {
  Quantiles q;
  q.median = ranks.gather(mine.median)[rank];
  q.mad = ranks.gather(mine.mad)[rank];
  q.p10 = ranks.gather(mine.p10)[rank];
  q.p90 = ranks.gather(mine.p90)[rank];
  q.n = mine.n;
  return q;
}

}  // namespace

Measurement measure(const std::function<Elapsed(int repeats)>& run, const Rules& rules, Ranks& ranks) {
  Measurement m;
  // A rank whose call failed times no more, but takes every turn of the others until the end.
  std::optional<std::string> trouble;
  const auto timed = [&](int repeats) -> Elapsed {
    if (trouble) return {};
    try {
      return run(repeats);
    } catch (const BackendError& e) {
      trouble = e.what();
      return {};
    }
  };
  timed(1);
  ++m.warmups;
  m.repeats = find_repeats(timed, rules, ranks, std::max(1, rules.least_repeats), m.warmups);
  const double warm = warm_up(timed, rules, ranks, m.repeats, m.warmups);
  if (warm * m.repeats < 0.8 * rules.least_timing_s)
    m.repeats = find_repeats(timed, rules, ranks, m.repeats, m.warmups);

  std::vector<double> device, host;
  constexpr int fewest = 3;
  for (const auto start = Clock::now();;) {
    const Elapsed elapsed = timed(m.repeats);
    device.push_back(elapsed.device_s / m.repeats);
    host.push_back(elapsed.host_s / m.repeats);
    const auto n = int(device.size());
    if (n < fewest) continue;
    const bool over = trouble || n >= rules.most_timings || seconds_since(start) > rules.cap_s;
    if (n > 64 && n % (n / 32) != 0 && n < rules.most_timings && (!over || ranks.size() > 1)) continue;
    if (n < rules.least_timings && !over && ranks.size() == 1) continue;
    const bool going_on = n < rules.least_timings || !at_rest(device, rules);
    m.settled = !ranks.any(going_on);
    if (m.settled || ranks.any(over)) break;
  }
  if (const auto text = first_of(ranks, trouble)) throw BackendError(*text);
  const Quantiles mine = quantiles(std::move(device));
  const auto medians = ranks.gather(mine.median);
  const auto [least, most] = std::minmax_element(medians.begin(), medians.end());
  m.rank_min = *least;
  m.rank_max = *most;
  const auto rank = size_t(most - medians.begin());
  m.device = of_rank(ranks, mine, rank);
  m.host = of_rank(ranks, quantiles(std::move(host)), rank);
  return m;
}

}  // namespace rehearse::calibration
