#include <algorithm>
#include <map>

#include "calibration/measure/measure.hpp"
#include "calibration/verify/verify.hpp"

namespace rehearse::calibration {

namespace {

constexpr const char* kStages = "stages";

struct Booked {
  std::string part;
  Span span;
};

const Traffic& traffic_of(const TaskGraph& graph, const RankCall& call) {
  const Task& task = graph.tasks[size_t(call.task)];
  return graph.traffic[size_t(
      call.op < 0 ? task.traffic : graph.programs[size_t(task.program)].ops[size_t(call.op)].traffic)];
}

std::string part_of(const TaskGraph& graph, const RankCall& call) {
  if (call.kind == RankCall::Kind::kernel) {
    const Task& task = graph.tasks[size_t(call.task)];
    const Part part = graph.programs[size_t(task.program)].ops[size_t(call.op)].part;
    return std::string(kPartNames[size_t(part)]);
  }
  if (call.kind != RankCall::Kind::collective) return kStages;
  const Traffic& traffic = traffic_of(graph, call);
  if (traffic.axis == Axis::pp) return kStages;
  return std::string(kPartNames[size_t(traffic.scalar ? Part::optimizer : exposed_part(traffic.axis))]);
}

std::string name_of(const TaskGraph& graph, const RankCall& call) {
  const Task& task = graph.tasks[size_t(call.task)];
  if (call.kind == RankCall::Kind::kernel)
    return graph.programs[size_t(task.program)].ops[size_t(call.op)].name;
  const std::string what = traffic_of(graph, call).what;
  return call.kind == RankCall::Kind::receive ? what + " (wait)" : what;
}

double simulated_length(const Simulated& simulated, const TaskGraph& graph, const RankCall& call) {
  if (call.op < 0) return simulated.end[size_t(call.task)] - simulated.start[size_t(call.task)];
  return graph.programs[size_t(graph.tasks[size_t(call.task)].program)].ops[size_t(call.op)].duration;
}

double median(std::vector<double> values) { return quantiles(std::move(values)).median; }

// Every rank's share of a table with the same rows on all ranks: means over ranks. Rows that a rank lacks are
// 0 there.
std::map<std::string, double> mean_over(Ranks& ranks, const std::map<std::string, double>& mine) {
  std::map<std::string, double> means;
  std::string names;
  for (const auto& [name, value] : mine) names += name + '\n';
  for (int r = 0; r < ranks.size(); ++r) {
    std::string all = ranks.broadcast(names, r);
    for (size_t at = 0, end; (end = all.find('\n', at)) != std::string::npos; at = end + 1)
      means.emplace(all.substr(at, end - at), 0);
  }
  for (auto& [name, value] : means) {
    const auto own = mine.find(name);
    for (double v : ranks.gather(own == mine.end() ? 0 : own->second)) value += v / ranks.size();
  }
  return means;
}

}  // namespace

std::vector<std::pair<std::string, double>> account_of(const TaskGraph& graph,
                                                       const std::vector<RankCall>& calls,
                                                       const std::vector<Span>& spans, double step) {
  std::map<std::string, double> parts;
  std::vector<Booked> kernels, others;
  for (size_t i = 0; i < calls.size(); ++i) {
    const bool kernel = calls[i].kind == RankCall::Kind::kernel;
    (kernel ? kernels : others).push_back({part_of(graph, calls[i]), spans[i]});
  }
  const auto by_start = [](const Booked& a, const Booked& b) { return a.span.start < b.span.start; };
  std::stable_sort(kernels.begin(), kernels.end(), by_start);
  std::stable_sort(others.begin(), others.end(), by_start);
  double at = 0;
  size_t past = 0;  // of the others: they have ended
  const auto idle_until = [&](double to) {
    while (past < others.size() && others[past].span.end <= at) ++past;
    for (size_t i = past; i < others.size() && others[i].span.start < to; ++i) {
      const Booked& other = others[i];
      const double from = std::max(at, other.span.start), until = std::min(to, other.span.end);
      if (until <= from) continue;
      parts["overhead"] += from - at;
      parts[other.part] += until - from;
      at = until;
    }
    if (to > at) parts["overhead"] += to - at, at = to;
  };
  for (const auto& kernel : kernels) {
    idle_until(kernel.span.start);
    parts[kernel.part] += std::max(0.0, kernel.span.end - std::max(at, kernel.span.start));
    at = std::max(at, kernel.span.end);
  }
  idle_until(step);
  return {parts.begin(), parts.end()};
}

double Verification::measured_step() const { return median(steps); }
double Verification::error() const { return simulated_step / measured_step() - 1; }

Verification compare(const Simulated& simulated, const TaskGraph& graph, const std::vector<RankCall>& calls,
                     const MeasuredRank& measured, Ranks& ranks) {
  Verification v;
  v.ranks = ranks.size();
  v.simulated_step = simulated.step;
  for (double own : measured.step) {
    const auto all = ranks.gather(own);
    v.steps.push_back(*std::max_element(all.begin(), all.end()));
  }
  // The account of the run whose step is the median one.
  size_t typical = 0;
  for (size_t run = 0; run < v.steps.size(); ++run)
    if (std::abs(v.steps[run] - v.measured_step()) < std::abs(v.steps[typical] - v.measured_step()))
      typical = run;
  std::map<std::string, double> account, counts, sim, real;
  for (auto& [part, seconds] : account_of(graph, calls, measured.runs[typical], v.steps[typical]))
    account[part] = seconds;
  for (size_t i = 0; i < calls.size(); ++i) {
    std::vector<double> lengths;
    for (const auto& run : measured.runs) lengths.push_back(run[i].end - run[i].start);
    const std::string name = name_of(graph, calls[i]);
    counts[name] += 1;
    real[name] += median(lengths);
    sim[name] += calls[i].kind == RankCall::Kind::receive ? 0 : simulated_length(simulated, graph, calls[i]);
  }
  const auto mean_account = mean_over(ranks, account), mean_counts = mean_over(ranks, counts),
             mean_sim = mean_over(ranks, sim), mean_real = mean_over(ranks, real);
  v.measured_account.assign(mean_account.begin(), mean_account.end());
  std::map<std::string, double> expected;
  for (const auto& [part, seconds] : simulated.account)
    expected[part == "exposed_pp" || part == "bubble" ? kStages : part] += seconds;
  v.simulated_account.assign(expected.begin(), expected.end());
  for (const auto& [name, count] : mean_counts)
    v.ops.push_back({name, count, mean_sim.at(name), mean_real.at(name)});
  std::stable_sort(v.ops.begin(), v.ops.end(),
                   [](const OpRow& a, const OpRow& b) { return a.measured > b.measured; });
  return v;
}

}  // namespace rehearse::calibration
