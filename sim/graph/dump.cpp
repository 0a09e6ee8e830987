#include <fmt/format.h>

#include <boost/range/iterator_range.hpp>
#include <iterator>

#include "sim/graph/csr.hpp"
#include "sim/graph/lower.hpp"

namespace rehearse {

namespace {

constexpr const char* kKinds[] = {"run", "fixed", "flow"};
constexpr const char* kStreams[] = {"", "compute", "pp send", "pp recv", "tp", "cp", "ep", "dp", "other"};
constexpr char kActions[] = {'F', 'B', 'I', 'W'};

std::string label(const TaskGraph& graph, const Task& task) {
  std::string text = task.program >= 0   ? graph.programs[task.program].name
                     : task.traffic >= 0 ? graph.traffic[task.traffic].what
                                         : "delay";
  if (task.chunk.valid())
    text += fmt::format(" {}{}{}", task.chunk.value, kActions[int(task.action)], task.micro.value);
  return text;
}

std::string units_of(const TaskGraph& graph, const Task& task) {
  std::string text;
  for (int u : graph.unit_sets[task.units])
    text += fmt::format("{}dp{}pp{}", text.empty() ? "" : "+", graph.units[u].dp, graph.units[u].pp);
  return text;
}

void line(std::string& out, const TaskGraph& graph, int32_t id, const Timeline* timeline) {
  const auto& task = graph.tasks[id];
  auto to = std::back_inserter(out);
  fmt::format_to(to, "{:6} {:5} {:8} {:28} {:20}", id, kKinds[int(task.kind)], kStreams[int(task.stream)],
                 label(graph, task), units_of(graph, task));
  if (timeline)
    fmt::format_to(to, " {:.9f}..{:.9f}", timeline->start[id], timeline->end[id]);
  else
    fmt::format_to(to, " {:.9g} s", task.duration);
  if (task.kind == TaskKind::flow) fmt::format_to(to, " {:.9g} B route {}", task.amount, task.route);
  std::string after;
  for (auto e : boost::make_iterator_range(boost::in_edges(size_t(id), edges_of(graph))))
    after += fmt::format(" {}", boost::source(e, edges_of(graph)));
  if (!after.empty()) fmt::format_to(to, " after{}", after);
  out += '\n';
}

std::string dump_all(const TaskGraph& graph, const Timeline* timeline) {
  std::string out = fmt::format("# {} tasks, {} programs, {} units, {} ranks simulated of {}\n# fold: {}\n",
                                graph.tasks.size(), graph.programs.size(), graph.units.size(),
                                graph.simulated_ranks, graph.ranks, graph.fold_note);
  for (size_t r = 0; r < graph.routes.size(); ++r) {
    fmt::format_to(std::back_inserter(out), "route {}:", r);
    for (auto [link, weight] : graph.routes[r].links)
      fmt::format_to(std::back_inserter(out), " {}x{}", link, weight);
    out += '\n';
  }
  for (size_t id = 0; id < graph.tasks.size(); ++id) line(out, graph, int32_t(id), timeline);
  return out;
}

}  // namespace

std::string dump(const TaskGraph& graph) { return dump_all(graph, nullptr); }

std::string dump(const TaskGraph& graph, const Timeline& timeline) { return dump_all(graph, &timeline); }

}  // namespace rehearse
