#include "sim/account/links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "sim/account/names.hpp"
#include "sim/account/walk.hpp"

namespace rehearse {
namespace {

struct Stay {  // of a flow on a link
  double from, to, bytes;
  int32_t traffic;
};

// Flows of each route, and routes over each link.
struct Crossings {
  explicit Crossings(const TaskGraph& graph) : tasks(graph.routes.size()), routes(graph.links.size()) {
    for (size_t t = 0; t < graph.tasks.size(); ++t)
      if (const Task& task = graph.tasks[t]; task.kind == TaskKind::flow && task.route >= 0)
        tasks[size_t(task.route)].push_back(int32_t(t));
    for (size_t r = 0; r < graph.routes.size(); ++r)
      for (const auto& [link, weight] : graph.routes[r].links)
        routes[size_t(link)].emplace_back(int32_t(r), weight);
  }
  std::vector<std::vector<int32_t>> tasks;
  std::vector<std::vector<std::pair<int32_t, int32_t>>> routes;  // (route, weight)
};

std::vector<Stay> stays_on(size_t link, const Crossings& crossings, const TaskGraph& graph,
                           const Timeline& timeline) {
  std::vector<Stay> stays;
  for (const auto& [route, weight] : crossings.routes[link])
    for (const int32_t t : crossings.tasks[size_t(route)]) {
      const Task& task = graph.tasks[size_t(t)];
      const double from = timeline.start[size_t(t)] + task.duration, to = timeline.end[size_t(t)];
      if (task.amount > 0) stays.push_back({from, std::max(from, to), task.amount * weight, task.traffic});
    }
  std::sort(stays.begin(), stays.end(), [](const Stay& a, const Stay& b) { return a.from < b.from; });
  return stays;
}

double busy_time(const std::vector<Stay>& stays) {
  double busy = 0, until = 0;
  for (const Stay& s : stays) {
    busy += std::max(0.0, s.to - std::max(s.from, until));
    until = std::max(until, s.to);
  }
  return busy;
}

constexpr int kWindows = 100;

double most_in_a_window(const std::vector<Stay>& stays, double step) {
  std::array<double, kWindows> bytes{};
  const double width = step / kWindows;
  for (const Stay& s : stays) {
    const int first = std::clamp(int(s.from / width), 0, kWindows - 1);
    const int last = std::clamp(int(s.to / width), first, kWindows - 1);
    const double length = s.to - s.from;
    for (int w = first; w <= last; ++w) {
      const double inside = std::min(s.to, (w + 1) * width) - std::max(s.from, w * width);
      bytes[size_t(w)] +=
          length > 0 ? s.bytes * std::max(0.0, inside) / length : s.bytes / (last - first + 1);
    }
  }
  return *std::max_element(bytes.begin(), bytes.end()) / width;
}

std::vector<LinkTraffic> traffic_of(const std::vector<Stay>& stays, const TaskGraph& graph) {
  std::map<std::tuple<Axis, std::string, int>, double> bytes;
  for (const Stay& s : stays) {
    if (s.traffic < 0) continue;
    const Traffic& t = graph.traffic[size_t(s.traffic)];
    bytes[{t.axis, t.what, t.group_size}] += s.bytes;
  }
  std::vector<LinkTraffic> rows;
  rows.reserve(bytes.size());
  for (const auto& [key, sum] : bytes)
    rows.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), sum});
  std::stable_sort(rows.begin(), rows.end(),
                   [](const LinkTraffic& a, const LinkTraffic& b) { return a.bytes > b.bytes; });
  return rows;
}

struct IslandUse {  // of NVLink by a unit's ranks: all of them, or those of one slice
  double from, to;
  int slice;
};

// Rank-seconds in which NVLink carries at least one of `uses`, over the unit's ranks.
double busy_rank_seconds(std::vector<IslandUse> uses, const std::map<int, int>& ranks_of_slice, int ranks) {
  std::sort(uses.begin(), uses.end(), [](const auto& a, const auto& b) { return a.from < b.from; });
  const auto busy_of = [&](int slice) {
    double busy = 0, until = 0;
    for (const IslandUse& use : uses) {
      if (use.slice >= 0 && use.slice != slice) continue;
      busy += std::max(0.0, use.to - std::max(use.from, until));
      until = std::max(until, use.to);
    }
    return busy;
  };
  double sum = 0;
  for (const auto& [slice, count] : ranks_of_slice) sum += busy_of(slice) * count, ranks -= count;
  return sum + busy_of(-1) * std::max(0, ranks);
}

// The uses of a unit by one task; its bytes a rank that takes part go to `bytes`, times `ranks`.
void add_uses(const TaskGraph& graph, const Timeline& timeline, size_t id, double ranks,
              std::vector<IslandUse>& uses, std::vector<double>& bytes) {
  const Task& task = graph.tasks[id];
  const double from = timeline.start[id], length = timeline.end[id] - from;
  const auto use = [&](int32_t traffic, double begin, double end) {
    uses.push_back({begin, end, task.slice});
    bytes[size_t(traffic)] += ranks * graph.traffic[size_t(traffic)].bytes_sent;
  };
  if (task.kind != TaskKind::run) return use(task.traffic, from, from + length);
  const Program& program = graph.programs[size_t(task.program)];
  const double scale = program.duration > 0 ? length / program.duration : 0;
  for (const Op& op : program.ops)
    if (op.traffic >= 0) use(op.traffic, from + scale * op.start, from + scale * (op.start + op.duration));
}

// "NVLink out", as a link of each GPU, mean over all: what calibrated collectives and transfers of its island
// sent.
LinkLoad nvlink_load(const Scenario& scenario, const TaskGraph& graph, const Timeline& timeline) {
  const UnitTasks tasks = tasks_by_unit(graph, timeline);
  std::vector<double> bytes(graph.traffic.size(), 0);
  double busy = 0;
  for (size_t u = 0; u < graph.units.size(); ++u) {
    const UnitInfo& unit = graph.units[u];
    std::vector<IslandUse> uses;
    std::map<int, int> ranks_of_slice;
    for (const auto* list : {&tasks.runs[u], &tasks.others[u]})
      for (const int32_t t : *list) {
        const Task& task = graph.tasks[size_t(t)];
        const bool run = task.kind == TaskKind::run;
        if (task.kind == TaskKind::flow || (!run && task.traffic < 0)) continue;
        if (!run && graph.traffic[size_t(task.traffic)].scalar) continue;
        if (task.slice >= 0) ranks_of_slice[task.slice] = task.peers;
        add_uses(graph, timeline, size_t(t), double(unit.stands_for) * task.peers, uses, bytes);
      }
    busy += unit.stands_for * busy_rank_seconds(std::move(uses), ranks_of_slice, unit.ranks_each);
  }
  std::vector<Stay> sent;
  LinkLoad load{.link = "each GPU", .link_class = "NVLink out", .links = graph.ranks};
  for (size_t t = 0; t < bytes.size(); ++t)
    if (bytes[t] > 0)
      sent.push_back({0, 0, bytes[t] / graph.ranks, int32_t(t)}), load.bytes += sent.back().bytes;
  load.capacity_bytes_per_s = scenario.cluster.nvlink.value;
  load.busy_s = busy / graph.ranks;
  const double step = timeline.step > 0 ? timeline.step : 1;
  load.mean_share = load.capacity_bytes_per_s > 0 ? load.bytes / (load.capacity_bytes_per_s * step) : 0;
  load.traffic = traffic_of(sent, graph);
  return load;
}

}  // namespace

std::vector<LinkLoad> link_loads(const Scenario& scenario, const TaskGraph& graph, const Timeline& timeline) {
  const Fabric fabric(scenario.cluster);
  const Crossings crossings(graph);
  const double step = timeline.step > 0 ? timeline.step : 1;
  std::vector<LinkLoad> loads;
  loads.reserve(graph.links.size() + 1);
  if (auto nvlink = nvlink_load(scenario, graph, timeline); nvlink.bytes > 0)
    loads.push_back(std::move(nvlink));
  for (size_t l = 0; l < graph.links.size(); ++l) {
    const LinkInfo& info = graph.links[l];
    LinkLoad load{.link = fabric.link_name(info.representative),
                  .link_class = fabric.classes()[size_t(fabric.link(info.representative).link_class)].name,
                  .links = info.stands_for,
                  .capacity_bytes_per_s = info.capacity,
                  .peak_share = 0};
    const auto stays = stays_on(l, crossings, graph, timeline);
    for (const Stay& s : stays) load.bytes += s.bytes;
    if (load.bytes > 0 && info.capacity > 0) {
      load.busy_s = busy_time(stays);
      load.mean_share = load.bytes / (info.capacity * step);
      load.peak_share = std::min(1.0, most_in_a_window(stays, step) / info.capacity);
      load.traffic = traffic_of(stays, graph);
    }
    loads.push_back(std::move(load));
  }
  return loads;
}

std::vector<LinkClassLoad> link_classes(const std::vector<LinkLoad>& loads, double step) {
  std::vector<LinkClassLoad> classes;
  if (step <= 0) step = 1;
  for (const LinkLoad& load : loads) {
    auto at = std::find_if(classes.begin(), classes.end(),
                           [&](const LinkClassLoad& c) { return c.link_class == load.link_class; });
    if (at == classes.end()) at = classes.insert(at, {.link_class = load.link_class});
    at->links += load.links;
    at->capacity_bytes_per_s = std::max(at->capacity_bytes_per_s, load.capacity_bytes_per_s);
    if (load.bytes <= 0) continue;
    at->used += load.links;
    at->mean_bytes += load.bytes * load.links;  // sums, for now
    at->busy_share += load.busy_s / step * load.links;
    at->mean_share += load.mean_share * load.links;
    at->largest_bytes = std::max(at->largest_bytes, load.bytes);
    if (load.peak_share) at->peak_share = std::max(at->peak_share.value_or(0), *load.peak_share);
  }
  for (LinkClassLoad& c : classes)
    if (c.used > 0) c.mean_bytes /= c.used, c.busy_share /= c.used, c.mean_share /= c.used;
  return classes;
}

std::vector<LinkLoad> most_loaded(std::vector<LinkLoad> loads, size_t most) {
  std::erase_if(loads, [](const LinkLoad& load) { return load.bytes <= 0 || !load.peak_share; });
  std::stable_sort(loads.begin(), loads.end(),
                   [](const LinkLoad& a, const LinkLoad& b) { return a.mean_share > b.mean_share; });
  if (loads.size() > most) loads.resize(most);
  return loads;
}

}  // namespace rehearse
