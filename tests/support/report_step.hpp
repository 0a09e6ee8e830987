// A step written down by hand: tasks with the times at which they ran.
#pragma once
#include <array>
#include <random>
#include <string>

#include "tests/support/engine_graph.hpp"

namespace rehearse::test {

class HandStep : public GraphBuilder {
 public:
  Timeline timeline;

  int32_t unit(int pp, int dp = 0, int stands_for = 1, int ranks_each = 1) {
    graph.units.push_back({dp, pp, stands_for, ranks_each, {}});
    return int32_t(graph.units.size()) - 1;
  }
  int32_t traffic(Axis axis, std::string what, CollectiveOp op, int group, double bytes, double sent,
                  bool scalar = false) {
    graph.traffic.push_back({axis, std::move(what), op, group, bytes, sent, scalar, DType::bf16});
    return int32_t(graph.traffic.size()) - 1;
  }
  // A program of `seconds` booked as one part.
  int32_t program(std::string name, Part part, double seconds, Basis basis = Basis::guess) {
    Program program;
    program.name = std::move(name);
    program.duration = program.slowed_duration = seconds;
    program.part_s[size_t(part)] = seconds;
    program.rests_on.add(basis, false, seconds);
    graph.programs.push_back(program);
    return int32_t(graph.programs.size()) - 1;
  }
  // Runs the whole program from `start` on, unless it was slowed and ended later.
  int32_t run(int32_t of_unit, int32_t program, double start, std::vector<int32_t> after = {},
              double end = -1) {
    Task task;
    task.kind = TaskKind::run;
    task.program = program;
    task.units = units({of_unit});
    task.duration = graph.programs[program].duration;
    return place(task, start, end < 0 ? start + task.duration : end, after);
  }
  int32_t action(ActionKind kind, int32_t of_unit, int32_t program, int chunk, int micro, double start,
                 std::vector<int32_t> after = {}) {
    const int32_t id = run(of_unit, program, start, std::move(after));
    graph.tasks[id].pipeline = true;
    graph.tasks[id].action = kind;
    graph.tasks[id].chunk = ChunkId(chunk);
    graph.tasks[id].micro = MicroBatch(micro);
    return id;
  }
  int32_t comm(std::vector<int32_t> of_units, int32_t traffic, double start, double end,
               std::vector<int32_t> after = {}) {
    Task task;
    task.kind = TaskKind::fixed;
    task.stream = Stream::other;
    task.traffic = traffic;
    task.units = units(std::move(of_units));
    task.duration = end - start;
    return place(task, start, end, after);
  }
  int32_t place(const Task& task, double start, double end, const std::vector<int32_t>& after) {
    const int32_t id = add(task);
    for (int32_t before : after) edge(before, id);
    timeline.start.push_back(start);
    timeline.end.push_back(end);
    timeline.step = std::max(timeline.step, end);
    return id;
  }
};

}  // namespace rehearse::test
