// What a page shows of one simulated step.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "sim/account/names.hpp"
#include "sim/account/walk.hpp"
#include "sim/plan/model_math.hpp"
#include "sim/view/page.hpp"
#include "sim/view/text.hpp"

namespace rehearse {

using Json = nlohmann::ordered_json;

namespace {

constexpr int64_t kMostTransfers = 60'000;

class Names {
 public:
  explicit Names(std::vector<std::string>& names) : names_(names) {}
  int operator()(const std::string& name) {
    const auto [found, fresh] = index_.try_emplace(name, int(names_.size()));
    if (fresh) names_.push_back(name);
    return found->second;
  }

 private:
  std::vector<std::string>& names_;
  std::map<std::string, int> index_;
};

void sort_spans(std::vector<PageSpan>& spans) {
  std::stable_sort(spans.begin(), spans.end(), [](const PageSpan& a, const PageSpan& b) {
    return std::tie(a.start_s, a.end_s) < std::tie(b.start_s, b.end_s);
  });
}

PageSpan transfer(const TaskGraph& graph, const Timeline& timeline, int32_t t, Names& names) {
  const Task& task = graph.tasks[size_t(t)];
  const Traffic& traffic = graph.traffic[size_t(task.traffic)];
  return {axis_name(traffic.axis)[0],
          names(fmt::format("{} {}, {}", axis_name(traffic.axis), collective_name(traffic.op), traffic.what)),
          task.chunk.valid() ? task.chunk.value : -1,
          task.micro.valid() ? task.micro.value : -1,
          timeline.start[size_t(t)],
          timeline.end[size_t(t)]};
}

// Whole nanoseconds.
int64_t ns(double seconds) { return std::llround(seconds * 1e9); }

Json spans_json(const std::vector<PageSpan>& spans) {
  std::string kinds;
  Json name = Json::array(), chunk = Json::array(), micro = Json::array(), start = Json::array(),
       length = Json::array();
  for (const auto& span : spans) {
    kinds += span.kind;
    name.push_back(span.name), chunk.push_back(span.chunk), micro.push_back(span.micro);
    start.push_back(ns(span.start_s)), length.push_back(ns(span.end_s) - ns(span.start_s));
  }
  return {{"kind", kinds},  {"name", name},      {"chunk", chunk},
          {"micro", micro}, {"start_ns", start}, {"length_ns", length}};
}

Json timeline_json(const PageTimeline& timeline) {
  Json stages = Json::array();
  for (const auto& stage : timeline.stages)
    stages.push_back({{"runs", spans_json(stage.runs)}, {"transfers", spans_json(stage.transfers)}});
  return {{"names", timeline.names}, {"transfers_left_out", timeline.transfers_left_out}, {"stages", stages}};
}

Json memory_over_time(const MemoryReport& memory) {
  Json stages = Json::array();
  for (const auto& stage : memory.stages) {
    Json time = Json::array(), activations = Json::array(), logits = Json::array();
    for (const auto& sample : stage.over_time) {
      time.push_back(ns(sample.time_s));
      activations.push_back(std::llround(sample.parts.activations));
      logits.push_back(std::llround(sample.parts.logits));
    }
    stages.push_back({{"time_ns", time}, {"activations", activations}, {"logits", logits}});
  }
  return stages;
}

std::string recompute_of_chunk(const Recompute& r) {
  if (r.full_layers >= 0) return fmt::format("full of the first {} layers of a chunk", r.full_layers);
  return r.kind == RecomputeKind::none ? "none" : r.kind == RecomputeKind::selective ? "selective" : "full";
}

}  // namespace

PageTimeline page_timeline(const TaskGraph& graph, const Timeline& timeline, const Schedule& schedule) {
  PageTimeline page;
  Names names(page.names);
  const auto actions = action_spans(graph, timeline, schedule);
  const auto tasks = tasks_by_unit(graph, timeline);
  page.stages.resize(actions.size());
  int64_t transfers = 0;
  for (size_t s = 0; s < actions.size(); ++s) {
    auto& runs = page.stages[s].runs;
    for (size_t i = 0; i < actions[s].size(); ++i) {
      const Action& a = schedule.stages[s][i];
      runs.push_back({kind_letter(a.kind), names(std::string(action_name(a.kind))), a.chunk.value,
                      a.micro.value, actions[s][i].start, actions[s][i].end});
    }
    const auto unit = std::find_if(graph.units.begin(), graph.units.end(),
                                   [&](const UnitInfo& u) { return size_t(u.pp) == s; });
    if (unit == graph.units.end()) continue;
    const auto u = size_t(unit - graph.units.begin());
    for (int32_t t : tasks.runs[u])
      if (const Task& task = graph.tasks[size_t(t)]; !task.pipeline)
        runs.push_back({'O', names(graph.programs[size_t(task.program)].name), -1, -1,
                        timeline.start[size_t(t)], timeline.end[size_t(t)]});
    for (int32_t t : tasks.others[u])
      if (graph.tasks[size_t(t)].traffic >= 0)
        page.stages[s].transfers.push_back(transfer(graph, timeline, t, names));
    sort_spans(runs), sort_spans(page.stages[s].transfers);
    transfers += int64_t(page.stages[s].transfers.size());
  }
  if (transfers > kMostTransfers) {
    page.transfers_left_out = transfers;
    for (auto& stage : page.stages) stage.transfers.clear();
  }
  return page;
}

std::vector<std::pair<std::string, std::string>> page_setup(const Scenario& s, int ranks) {
  const auto& l = s.layout;
  std::string order;
  for (Axis a : l.order) order += (order.empty() ? "" : "-") + std::string(axis_name(a));
  std::string layout = fmt::format("TP {} x PP {} x DP {}", l.tp, l.pp, l.dp);
  if (l.cp > 1) layout += fmt::format(" x CP {}", l.cp);
  if (l.ep > 1) layout += fmt::format(", EP {}", l.ep);
  if (l.sequence_parallel) layout += ", sequence parallel";
  if (l.zero > 0) layout += fmt::format(", ZeRO-{}", l.zero);
  if (l.scatter_gather) layout += ", scatter-gather";
  return {{"model", fmt::format("{} ({:.4g} B parameters)", s.model.name.empty() ? "inline" : s.model.name,
                                total_parameters(s.model, padded_vocab(s.model, l.tp)) / 1e9)},
          {"GPUs", fmt::format("{} x {} on {}", ranks, s.profile->name, s.cluster.name)},
          {"layout", layout},
          {"order", order + ", from inside out"},
          {"schedule", fmt::format("{}, {} chunk{} a stage", s.schedule, l.chunks, l.chunks == 1 ? "" : "s")},
          {"batch", fmt::format("{} sequences of {} tokens; {} micro-batches of {} a replica", s.batch.global,
                                s.batch.sequence, s.micro_batches(), s.batch.micro)},
          {"recompute", recompute_of_chunk(s.recompute)},
          {"precision", fmt::format("{} compute, {} weights, {} gradients, {} optimizer",
                                    dtype_name(s.precision.compute), dtype_name(s.precision.params),
                                    dtype_name(s.precision.grads), dtype_name(s.precision.optimizer))}};
}

std::string page_run(const std::string& source, const std::string& scenario_text,
                     const std::vector<std::string>& sets, const Scenario& scenario, const Report& report,
                     const PageTimeline& timeline) {
  Json setup = Json::array();
  for (const auto& [what, text] : page_setup(scenario, report.ranks)) setup.push_back({what, text});
  const Json json{{"source", source},
                  {"scenario_text", scenario_text},
                  {"sets", sets},
                  {"setup", setup},
                  {"report", Json::parse(to_json(report, scenario))},
                  {"timeline", timeline_json(timeline)},
                  {"memory_over_time", memory_over_time(report.memory)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace rehearse
