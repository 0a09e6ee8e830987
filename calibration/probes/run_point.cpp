#include <algorithm>
#include <ctime>

#include "calibration/measure/agree.hpp"
#include "calibration/probes/attempt.hpp"
#include "calibration/probes/grid.hpp"

namespace rehearse::calibration {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

namespace {

bool runs_kernel(const Work& work) {
  return !std::holds_alternative<CollectiveCall>(work) && !std::holds_alternative<OverlapCall>(work);
}

// Short kernels are replayed from a graph, where the device has them, as launching would be measured
// otherwise. A launch says itself which way it goes.
Clocking clocking_of(Bench& bench, OperandSets& sets, const Work& work) {
  constexpr double is_short = 100e-6;
  if (const auto* launch = std::get_if<LaunchCall>(&work))
    return launch->graph ? Clocking::graph : Clocking::stream;
  if (!bench.graphs || !runs_kernel(work)) return Clocking::stream;
  const auto calls = sets.calls(work, 3);
  double each = 0;
  together(bench.ranks, [&] { each = bench.backend.time(calls, Clocking::stream).device_s / 3; });
  return bench.ranks.any(each > is_short) ? Clocking::stream : Clocking::graph;
}

// A graph is replayed with the calls that it was made of, so that all sets must stand in it.
Measurement time_calls(Bench& bench, OperandSets& sets, const Work& work, Clocking clocking) {
  Rules rules = bench.rules;
  if (clocking == Clocking::graph) rules.least_repeats = std::max(rules.least_repeats, sets.count());
  return measure(
      [&](int repeats) {
        if (clocking == Clocking::graph) sets.rewind();
        return bench.backend.time(sets.calls(work, repeats), clocking);
      },
      rules, bench.ranks);
}

}  // namespace

namespace {

void drop_times(Sample& sample) {
  sample.device = sample.host = {};
  for (double* t : {&sample.rank_min, &sample.rank_max, &sample.alone, &sample.beside,
                    &sample.collective_alone, &sample.collective_beside})
    *t = 0;
}

}  // namespace

void take(Sample& sample, const Measurement& m) {
  sample.device = m.device;
  sample.host = m.host;
  sample.rank_min = m.rank_min;
  sample.rank_max = m.rank_max;
  sample.repeats = m.repeats;
  sample.warmups = m.warmups;
  if (!m.settled) sample.flags.emplace_back("unsettled");
}

void conclude(Sample& sample, Bench& bench, const Health& before, const Health& after) {
  note_health(sample, before, after);
  for (const char* flag : {"throttled", "clock-fell"}) {
    const bool mine = std::find(sample.flags.begin(), sample.flags.end(), flag) != sample.flags.end();
    if (bench.ranks.any(mine) && !mine) sample.flags.emplace_back(flag);
  }
  if (bench.warm_l2) sample.flags.emplace_back("warm-l2");
  const Verdict verdict = judge(sample, bench.limits, bench.rules);
  sample.status = verdict.status;
  sample.code = verdict.code;
  sample.reason = verdict.reason;
  if (verdict.code == "zero-time") drop_times(sample);  // what is no time cannot be read again
}

Sample attempt(Bench& bench, const Work& work, void (*body)(Bench&, const Work&, OperandSets&, Sample&)) {
  Sample sample;
  sample.work = work;
  sample.when = utc_now();
  const auto fail = [&](const char* code, const std::string& reason) {
    sample.status = Status::failed;
    sample.code = code;
    sample.reason = reason;
    drop_times(sample);
  };
  if (const auto why = first_of(bench.ranks, cannot_run(bench.backend, work, bench.ranks))) {
    fail("refused", *why);
    return sample;
  }
  std::optional<OperandSets> sets;
  try {
    sets.emplace(bench, work);
  } catch (const BackendError& e) {
    fail("no-memory", e.what());
    return sample;
  }
  try {
    if (const auto wrong = check_result(bench.backend, work, sets->first(), bench.ranks)) {
      sample.status = Status::rejected;
      sample.code = "wrong-result";
      sample.reason = *wrong;
    } else {
      body(bench, work, *sets, sample);
    }
  } catch (const BackendError& e) {
    fail("call-failed", e.what());
  }
  return sample;
}

std::optional<std::string> cannot_run(const Backend& backend, const Work& work, const Ranks& ranks) {
  const auto* collective = std::get_if<CollectiveCall>(&work);
  if (const auto* overlap = std::get_if<OverlapCall>(&work)) collective = &overlap->collective;
  if (collective) {
    const Group& g = collective->group;
    if (members_of(g, 0, ranks.size()).empty())
      return "groups of " + std::to_string(g.size) + " with stride " + std::to_string(g.stride) +
             " do not fit " + std::to_string(ranks.size()) + " ranks";
    if (group_of(g.size, g.stride, g.concurrent, ranks.per_node()) != g)
      return "the groups do not lie on " + std::to_string(g.nodes) + " x " + std::to_string(g.per_node) +
             " ranks here";
  }
  return backend.refuses(work);
}

Sample run_point(Bench& bench, const Work& work) {
  return attempt(bench, work, [](Bench& b, const Work& w, OperandSets& sets, Sample& sample) {
    const Clocking clocking = clocking_of(b, sets, w);
    const Health before = b.backend.health();
    take(sample, time_calls(b, sets, w, clocking));
    const Health after = b.backend.health();
    if (clocking == Clocking::graph && b.graphs) sample.flags.emplace_back("graph");
    conclude(sample, b, before, after);
  });
}

}  // namespace rehearse::calibration
