// Builds small task graphs by hand for the engine's tests.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "sim/graph/csr.hpp"

namespace rehearse::test {

class GraphBuilder {
 public:
  TaskGraph graph;

  int32_t unit() {
    graph.units.emplace_back();
    return static_cast<int32_t>(graph.units.size()) - 1;
  }
  int32_t units(std::vector<int32_t> set) {
    graph.unit_sets.push_back(std::move(set));
    return static_cast<int32_t>(graph.unit_sets.size()) - 1;
  }
  int32_t link(double capacity) {
    graph.links.push_back({capacity, 1, LinkId()});
    return static_cast<int32_t>(graph.links.size()) - 1;
  }
  int32_t route(std::vector<std::pair<int32_t, int32_t>> links) {
    graph.routes.push_back({std::move(links)});
    return static_cast<int32_t>(graph.routes.size()) - 1;
  }
  int32_t program(double duration, double slowed) {
    Program program;
    program.name = "F";
    program.duration = duration;
    program.slowed_duration = slowed;
    graph.programs.push_back(program);
    return static_cast<int32_t>(graph.programs.size()) - 1;
  }
  int32_t add(const Task& task, std::initializer_list<int32_t> after = {}) {
    const auto id = static_cast<int32_t>(graph.tasks.size());
    graph.tasks.push_back(task);
    for (int32_t before : after) edge(before, id);
    return id;
  }
  int32_t fixed(double duration, std::initializer_list<int32_t> after = {}) {
    Task task;
    task.duration = duration;
    return add(task, after);
  }
  int32_t flow(int32_t route, double amount, std::initializer_list<int32_t> after = {}, double latency = 0,
               double cap = 0) {
    Task task;
    task.kind = TaskKind::flow;
    task.stream = Stream::dp;
    task.route = route;
    task.amount = amount;
    task.duration = latency;
    task.rate_cap = cap;
    return add(task, after);
  }
  int32_t run(int32_t program, int32_t units, double duration, std::initializer_list<int32_t> after = {}) {
    Task task;
    task.kind = TaskKind::run;
    task.program = program;
    task.units = units;
    task.duration = duration;
    return add(task, after);
  }
  // A fixed task that slows compute of `units`.
  int32_t slower(int32_t units, double duration, std::initializer_list<int32_t> after = {}) {
    Task task;
    task.stream = Stream::dp;
    task.units = units;
    task.duration = duration;
    task.slows = true;
    return add(task, after);
  }
  void edge(int32_t before, int32_t after) {
    edges_.emplace_back(static_cast<size_t>(before), static_cast<size_t>(after));
  }
  const TaskGraph& build() {
    graph.edges = csr_of(edges_, graph.tasks.size());
    return graph;
  }

 private:
  std::vector<std::pair<size_t, size_t>> edges_;
};

}  // namespace rehearse::test
