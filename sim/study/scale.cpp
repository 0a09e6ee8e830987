#include "sim/study/scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "sim/io/scenario.hpp"
#include "sim/step/plan.hpp"
#include "sim/study/axes.hpp"
#include "sim/study/workers.hpp"

namespace rehearse {

namespace {

constexpr size_t kLeaders = 4;  // whose neighbours are tried
constexpr int64_t kMostStages = 64;
// What later rounds try on a leader, each by itself and then with ZeRO 0.
constexpr const char* kTries[][2] = {{"schedule=interleaved", "layout.chunks=2"},
                                     {"schedule=interleaved", "layout.chunks=4"},
                                     {"schedule=interleaved", "layout.chunks=8"},
                                     {"schedule=zb-h1", "layout.chunks=1"},
                                     {"layout.zero=0", ""},
                                     {"batch.micro=1", ""},
                                     {"batch.micro=2", ""},
                                     {"batch.micro=4", ""},
                                     {"recompute=selective", ""},
                                     {"recompute=none", ""}};

std::string list_text(const std::vector<int64_t>& values) {
  std::string text;
  for (const int64_t value : values) text += (text.empty() ? "" : ", ") + std::to_string(value);
  return "[" + text + "]";
}

// search: layout of the first round.
std::string first_round(const Scenario& s) {
  std::vector<int64_t> tp, pp;
  for (int64_t t = 1; t <= s.cluster.gpus_per_domain(); t *= 2)
    if (s.model.heads % t == 0) tp.push_back(t);
  for (const int64_t p : divisors(s.model.layers))
    if (p <= kMostStages) pp.push_back(p);
  return "layout: {tp: " + list_text(tp) + ", pp: " + list_text(pp) +
         ", schedules: [1f1b, zb-v], micro: [1, 2, 4], recompute: [selective, full], zero: [1], "
         "sequence_parallel: [false, true]}";
}

std::string value_in(const Point& point, const std::string& key) {
  for (const auto& setting : point.settings)
    if (setting.starts_with(key + "=")) return setting.substr(key.size() + 1);
  return "";
}

void search_points(Study& study, const DataRoots& roots) {
  ScenarioFiles files;
  const StudyBase base(read_scenario(study.base, study.sets, roots, files));
  Problems problems;
  const auto search =
      read_search(parse_yaml(first_round(base.scenario()), "the search of scale"), base, problems);
  problems.raise();
  study.axes = search->keys;
  const auto& nulled = search->sets;
  search->each([&](const std::vector<std::string>& row) {
    Point point{nulled};
    for (size_t k = 0; k < row.size(); ++k) point.settings.push_back(search->keys[k] + "=" + row[k]);
    const bool wide = value_in(point, "layout.tp") != "1";
    if (wide == (value_in(point, "layout.sequence_parallel") == "true")) study.points.push_back(point);
  });
}

// The base with dp from what is left; also a point where all is searched.
Point kept() { return {{"layout.dp=null"}}; }

bool change(Point& point, const std::string& setting) {
  const std::string key = setting.substr(0, setting.find('=') + 1);
  for (auto& own : point.settings)
    if (own.starts_with(key)) {
      const bool differs = own != setting;
      own = setting;
      return differs;
    }
  point.settings.push_back(setting);
  return true;
}

std::vector<Point> next_round(const std::vector<Point>& points, const std::vector<Candidate>& leaders) {
  std::vector<Point> more;
  const auto add = [&](const Point& point) {
    const auto same = [&](const Point& other) { return other.settings == point.settings; };
    if (std::none_of(more.begin(), more.end(), same) && std::none_of(points.begin(), points.end(), same))
      more.push_back(point);
  };
  for (size_t i = 0; i < std::min(kLeaders, leaders.size()); ++i)
    for (const auto& settings : kTries) {
      Point tried = points[leaders[i].index];
      if (value_in(tried, "layout.pp") == "1" && std::string_view(settings[0]).starts_with("schedule="))
        continue;
      bool other = false;
      for (const char* setting : settings)
        if (*setting != '\0') other |= change(tried, setting);
      if (!other) continue;
      add(tried);
      change(tried, "layout.zero=0");
      add(tried);
    }
  return more;
}

// The points of one size, and what came of them.
class Round {
 public:
  Round(const ScaleRequest& request, const Study& study, const DataRoots& roots, ScaleResult& result,
        const std::function<void(size_t)>& tick)
      : request_(request), pricer_(study, roots, request.engine), result_(result), tick_(tick) {}

  // Prices them; those that are there already keep their places.
  void run(const std::vector<Point>& points) {
    std::vector<size_t> todo(points.size() - result_.points);
    std::iota(todo.begin(), todo.end(), result_.points);
    if (todo.empty()) return;
    pricer_.digest(points.front());  // reads the files that all processes then share
    PoolOptions pool;
    pool.jobs = request_.jobs;
    const auto price = [this](const Point& point) { return pricer_.price(point); };
    price_all(points, todo, price, pool,
              {[&](size_t index, const Outcome& outcome) { keep(index, outcome); },
               [&] {
                 tick_(result_.points);
                 return false;
               }});
    sort_by_goal(simulated_, Goal::step_time, {});
  }

  const std::vector<Candidate>& simulated() const { return simulated_; }

  void say_why() {
    if (least_peak_ > 0) {
      result_.code = "E-SCALE-MEMORY";
      result_.why = fmt::format("no layout fits: the smallest of {} needs {:.1f} GiB of {:.1f}",
                                result_.unfit, least_peak_ / kGibi, capacity_ / kGibi);
      return;
    }
    size_t most = 0;
    for (const auto& [code, refused] : refused_)
      if (refused.first > most) most = refused.first, result_.code = code, result_.why = refused.second;
  }

 private:
  void keep(size_t index, const Outcome& outcome) {
    ++result_.points;
    if (outcome.verdict == Verdict::unfit) {
      ++result_.unfit;
      const double peak = figure_of(outcome, "memory.peak_bytes");
      if (least_peak_ == 0 || peak < least_peak_) least_peak_ = peak;
      capacity_ = figure_of(outcome, "memory.capacity_bytes");
    } else if (const auto candidate = candidate_of(index, outcome)) {
      ++result_.simulated;
      simulated_.push_back(*candidate);
    } else {
      ++result_.rejected;
      auto& [count, message] = refused_[outcome.code];
      if (++count == 1) message = outcome.message;
    }
  }

  const ScaleRequest& request_;
  Pricer pricer_;
  ScaleResult& result_;
  const std::function<void(size_t)>& tick_;
  std::vector<Candidate> simulated_;
  double least_peak_ = 0, capacity_ = 0;
  std::map<std::string, std::pair<size_t, std::string>> refused_;
};

// A whole number of nodes and of sequences; false where there is none.
bool size_study(ScaleSize& size, const ScaleRequest& request, const Scenario& base) {
  const int64_t node = base.cluster.gpus_per_node, before = node * base.cluster.nodes;
  size.code = "E-SCALE-WHOLE";
  if (size.gpus % node != 0) {
    size.why = fmt::format("{} GPUs are no whole nodes of {}", size.gpus, node);
    return false;
  }
  size.study.sets.push_back("cluster.nodes=" + std::to_string(size.gpus / node));
  if (request.weak) {
    const int64_t product = int64_t(base.batch.global) * size.gpus;
    if (product % before != 0) {
      size.why = fmt::format("a batch of {} x {} / {} is not whole", base.batch.global, size.gpus, before);
      return false;
    }
    size.study.sets.push_back("batch.global=" + std::to_string(product / before));
  }
  size.code.clear();
  return true;
}

}  // namespace

size_t ScaleSize::most_points() const {
  return study.points.size() + (study.points.size() > 1 ? 2 * kLeaders * std::size(kTries) : 0);
}

std::vector<int64_t> doubling(int64_t from, int64_t to) {
  std::vector<int64_t> sizes;
  for (int64_t size = from; size <= to; size *= 2) sizes.push_back(size);
  return sizes;
}

ScaleSize plan_size(const ScaleRequest& request, int64_t gpus, const DataRoots& roots) {
  ScenarioFiles files;
  const Scenario base = read_scenario(request.base, request.sets, roots, files).scenario;
  ScaleSize size;
  size.gpus = gpus;
  size.study.base = request.base;
  size.study.sets = request.sets;
  if (!size_study(size, request, base)) return size;
  size.study.points.push_back(kept());
  if (!request.keep) search_points(size.study, roots);
  return size;
}

ScaleResult run_size(const ScaleRequest& request, const ScaleSize& size, const DataRoots& roots,
                     const std::function<void(size_t done)>& tick) {
  ScaleResult result;
  result.weak = request.weak;
  result.gpus = size.gpus;
  result.code = size.code, result.why = size.why;
  if (!size.code.empty()) return result;
  auto points = size.study.points;
  Round round(request, size.study, roots, result, tick);
  round.run(points);
  // Until nothing beside the leaders is left to try: a change may only pay together with another.
  while (!request.keep) {
    const auto more = next_round(points, round.simulated());
    if (more.empty()) break;
    points.insert(points.end(), more.begin(), more.end());
    round.run(points);
  }
  if (round.simulated().empty()) {
    round.say_why();
    return result;
  }
  result.best = round.simulated().front();
  result.settings = size.study.sets;
  const auto& own = points[result.best->index].settings;
  result.settings.insert(result.settings.end(), own.begin(), own.end());
  result.scenario = resolve(read_job(request.base, result.settings, roots)).scenario;
  const Account& account = result.best->account;
  for (const Axis axis : {Axis::tp, Axis::cp, Axis::pp, Axis::ep, Axis::dp})
    result.exposed += account[size_t(exposed_part(axis))] / result.best->step_time_s;
  result.bubble = account[size_t(Part::bubble)] / result.best->step_time_s;
  return result;
}

void scale_efficiency(std::vector<ScaleResult>& results) {
  for (const bool weak : {false, true}) {
    const auto first = std::find_if(results.begin(), results.end(),
                                    [&](const ScaleResult& r) { return r.weak == weak && r.best; });
    if (first == results.end()) continue;
    const double reference = first->best->tokens_per_s_per_gpu;
    for (auto& r : results)
      if (r.weak == weak && r.best) r.efficiency = r.best->tokens_per_s_per_gpu / reference;
  }
}

}  // namespace rehearse
