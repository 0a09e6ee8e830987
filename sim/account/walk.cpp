#include "sim/account/walk.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <stdexcept>
#include <tuple>

#include "sim/graph/csr.hpp"

namespace rehearse {

UnitTasks tasks_by_unit(const TaskGraph& graph, const Timeline& timeline) {
  UnitTasks by_unit;
  by_unit.runs.resize(graph.units.size());
  by_unit.others.resize(graph.units.size());
  for (int32_t t = 0; t < int32_t(graph.tasks.size()); ++t) {
    const Task& task = graph.tasks[t];
    if (task.units < 0) continue;
    auto& lists = task.kind == TaskKind::run ? by_unit.runs : by_unit.others;
    for (int32_t u : graph.unit_sets[task.units]) lists[u].push_back(t);
  }
  for (auto& runs : by_unit.runs)
    std::sort(runs.begin(), runs.end(), [&](int32_t a, int32_t b) {
      return std::tie(timeline.start[a], timeline.end[a], a) <
             std::tie(timeline.start[b], timeline.end[b], b);
    });
  return by_unit;
}

int32_t last_predecessor(const TaskGraph& graph, const Timeline& timeline, int32_t task) {
  int32_t best = -1;
  const auto [first, end] = boost::in_edges(size_t(task), edges_of(graph));
  for (auto e = first; e != end; ++e) {
    const auto p = int32_t(boost::source(*e, edges_of(graph)));
    const bool later = best < 0 || timeline.end[p] > timeline.end[best];
    if (later || (timeline.end[p] == timeline.end[best] && p < best)) best = p;
  }
  return best;
}

int32_t last_task(const Timeline& timeline) {
  const auto last = std::max_element(timeline.end.begin(), timeline.end.end());
  return last == timeline.end.end() ? -1 : int32_t(last - timeline.end.begin());
}

double step_begin(const TaskGraph& graph, const Timeline& timeline, const UnitTasks& tasks, int32_t unit) {
  const auto& runs = tasks.runs[size_t(unit)];
  return graph.steps_overlap && !runs.empty() ? timeline.start[size_t(runs.front())] : 0;
}

double step_time(const TaskGraph& graph, const Timeline& timeline) {
  if (!graph.steps_overlap) return timeline.step;
  const UnitTasks tasks = tasks_by_unit(graph, timeline);
  double longest = 0;
  for (int32_t u = 0; u < int32_t(graph.units.size()); ++u) {
    double end = 0;
    for (const auto* list : {&tasks.runs[size_t(u)], &tasks.others[size_t(u)]})
      for (int32_t t : *list) end = std::max(end, timeline.end[size_t(t)]);
    longest = std::max(longest, end - step_begin(graph, timeline, tasks, u));
  }
  return longest;
}

bool settle(Account& parts, double step) {
  const double total = std::accumulate(parts.begin(), parts.end(), 0.0);
  *std::max_element(parts.begin(), parts.end()) += step - total;
  return std::abs(step - total) <= 1e-9 * step;
}

Walker::Walker(const TaskGraph& graph, const Timeline& timeline)
    : graph_(graph), timeline_(timeline), tasks_(tasks_by_unit(graph, timeline)), last_(last_task(timeline)) {
  uses_.reserve(graph.programs.size());
  for (const Program& program : graph.programs) uses_.push_back(uses_of(program));
}

// Seconds of [op.start, op.start + op.duration) during which no kernel of the program's compute stream runs.
static double uncovered(const Program& program, const Op& op) {
  double uncovered_s = 0, cursor = op.start;
  const double end = op.start + op.duration;
  for (const Op& kernel : program.ops) {  // in order of start on the compute stream
    if (kernel.stream != Stream::compute || kernel.kind == OpKind::gap) continue;
    const double kernel_end = kernel.start + kernel.duration;
    if (kernel_end <= cursor) continue;
    if (kernel.start >= end) break;
    uncovered_s += std::max(0.0, kernel.start - cursor);
    cursor = std::max(cursor, kernel_end);
  }
  return uncovered_s + std::max(0.0, end - cursor);
}

std::vector<Walker::ProgramUse> Walker::uses_of(const Program& program) const {
  std::vector<ProgramUse> uses;
  double exposed[kAxes] = {}, busy[kAxes] = {};
  for (const Op& op : program.ops) {
    if (op.traffic < 0) continue;
    const Traffic& traffic = graph_.traffic[op.traffic];
    auto use = std::find_if(uses.begin(), uses.end(), [&](const auto& u) { return u.traffic == op.traffic; });
    if (use == uses.end()) use = uses.insert(uses.end(), {op.traffic, 0, 0, 0});
    use->calls += 1;
    use->busy_s += op.duration;
    if (traffic.scalar) continue;
    const double seconds = op.stream == Stream::compute ? op.duration : uncovered(program, op);
    use->exposed_s += seconds;
    exposed[size_t(traffic.axis)] += seconds;
    busy[size_t(traffic.axis)] += op.duration;
  }
  // What the program books on an axis is the truth; its collectives share it by what of them is uncovered,
  // or, where all of them are covered and slow what covers them, by how long they run.
  for (auto& use : uses) {
    const Traffic& traffic = graph_.traffic[use.traffic];
    const double booked = program.part_s[size_t(exposed_part(traffic.axis))];
    const double total = exposed[size_t(traffic.axis)], all = busy[size_t(traffic.axis)];
    if (total > 0)
      use.exposed_s *= booked / total;
    else if (all > 0 && !traffic.scalar)
      use.exposed_s = booked * use.busy_s / all;
  }
  return uses;
}

bool Walker::takes_part(int32_t unit, int32_t task) const {
  const int32_t set = graph_.tasks[task].units;
  if (set < 0) return false;
  const auto& units = graph_.unit_sets[set];
  return std::find(units.begin(), units.end(), unit) != units.end();
}

bool Walker::of_other_stage(int32_t unit, int32_t task) const {
  const int32_t set = graph_.tasks[task].units;
  if (set < 0) return false;
  const auto& units = graph_.unit_sets[set];
  return std::any_of(units.begin(), units.end(),
                     [&](int32_t u) { return graph_.units[u].pp != graph_.units[unit].pp; });
}

// A wait of the host's, or a bubble, which rests on nothing of its own.
void Walker::add(Part part, double seconds) {
  book_.parts[size_t(part)] += seconds;
  if (part != Part::bubble) book_.rests_on.add(graph_.host_basis, false, seconds);
}

void Walker::add_exposed(int32_t traffic, double seconds) {
  if (traffic < 0) return add(Part::overhead, seconds);
  const Traffic& t = graph_.traffic[traffic];
  book_.parts[size_t(t.scalar ? Part::optimizer : exposed_part(t.axis))] += seconds;
  book_.rests_on.add(t.basis, t.outside, seconds);
  book_.exposed_s[traffic] += seconds;
}

void Walker::book_run(int32_t task) {
  const Task& run = graph_.tasks[task];
  const Program& program = graph_.programs[run.program];
  if (program.duration > 0) {
    const double scale = run.duration / program.duration;
    for (int part = 0; part < kParts; ++part) book_.parts[part] += program.part_s[part] * scale;
    book_.rests_on.add(program.rests_on, scale);
    for (const auto& use : uses_[run.program]) {
      const Traffic& t = graph_.traffic[use.traffic];
      book_.exposed_s[use.traffic] += use.exposed_s * scale;
      book_.rests_on.add(t.basis, t.outside, use.exposed_s * scale);
    }
  } else {
    add(Part::compute, run.duration);
  }
  for (const auto& use : uses_[run.program]) {
    book_.calls[use.traffic] += use.calls;
    book_.busy_s[use.traffic] += use.busy_s;
    book_.sent[use.traffic] += use.calls * graph_.traffic[use.traffic].bytes_sent;
    book_.takes_part[use.traffic] = 1;
  }
  book_slowdown(task, timeline_.end[task] - timeline_.start[task] - run.duration);
}

// The collective with the lowest id that slows the unit at `time`, -1 if none does; times ascend from call to
// call.
int32_t Walker::slower_at(double time) {
  for (; next_slower_ < slowers_.size() && timeline_.start[slowers_[next_slower_]] <= time; ++next_slower_)
    under_way_.push_back(slowers_[next_slower_]);
  std::erase_if(under_way_, [&](int32_t t) { return timeline_.end[t] < time; });
  const auto lowest = std::min_element(under_way_.begin(), under_way_.end());
  return lowest == under_way_.end() ? -1 : *lowest;
}

void Walker::list_slowers(int32_t unit) {
  slowers_.clear(), under_way_.clear(), next_slower_ = 0;
  std::copy_if(tasks_.others[unit].begin(), tasks_.others[unit].end(), std::back_inserter(slowers_),
               [&](int32_t t) { return graph_.tasks[t].slows; });
  std::stable_sort(slowers_.begin(), slowers_.end(),
                   [&](int32_t a, int32_t b) { return timeline_.start[a] < timeline_.start[b]; });
}

// The extra time of a slowed run goes to the collective that slowed it, stretch by stretch; of several that
// run at the middle of a stretch, to the one with the lowest id.
void Walker::book_slowdown(int32_t task, double extra) {
  const auto [first, end] =
      std::equal_range(timeline_.slowed.begin(), timeline_.slowed.end(), SlowStretch{task, 0, 0},
                       [](const auto& a, const auto& b) { return a.task < b.task; });
  double slow_s = 0;
  for (auto s = first; s != end; ++s) slow_s += s->to - s->from;
  if (!(slow_s > 0)) return;  // then `extra` is rounding
  for (auto s = first; s != end; ++s) {
    const double middle = 0.5 * (s->from + s->to), share = extra * (s->to - s->from) / slow_s;
    const int32_t slower = slower_at(middle);
    add_exposed(slower < 0 ? -1 : graph_.tasks[slower].traffic, share);
  }
}

// An idle stretch [from, until] that ended because `released_by` did: back along the dependencies that ended
// last.
void Walker::book_gap(int32_t unit, double from, double until, int32_t released_by) {
  while (from < until) {
    if (released_by < 0) return add(Part::overhead, until - from);
    const bool mine = takes_part(unit, released_by);
    if (!mine || graph_.tasks[released_by].kind == TaskKind::run) {
      const bool bubble = !mine && of_other_stage(unit, released_by);
      return add(bubble ? Part::bubble : Part::overhead, until - from);
    }
    const double end = std::max(from, std::min(until, timeline_.end[released_by]));
    add(Part::overhead, until - end);
    const double begin = std::min(end, std::max(from, timeline_.start[released_by]));
    add_exposed(graph_.tasks[released_by].traffic, end - begin);
    until = begin;
    released_by = last_predecessor(graph_, timeline_, released_by);
  }
}

// After the last kernel: first the unit's own collectives that still run, then the wait for the end of the
// step.
void Walker::book_end(int32_t unit, double from) {
  int32_t own = -1;
  for (int32_t t : tasks_.others[unit])
    if (timeline_.end[t] > from && (own < 0 || timeline_.end[t] > timeline_.end[own])) own = t;
  const double own_end = own < 0 ? from : timeline_.end[own];
  if (own >= 0) book_gap(unit, from, own_end, own);
  const double end = begin_ + timeline_.step;
  if (graph_.steps_overlap)
    add(Part::bubble, std::max(0.0, end - own_end));  // the next step waits for the stage that takes longest
  else
    book_gap(unit, own_end, end, last_);
}

// A task of one slice of its units counts for that share of their ranks.
void Walker::book_other(int32_t unit, int32_t id) {
  const Task& task = graph_.tasks[id];
  if (task.traffic < 0) return;
  const Traffic& traffic = graph_.traffic[task.traffic];
  const double share = task.slice < 0 ? 1 : double(task.peers) / graph_.units[unit].ranks_each;
  const bool receives = traffic.op == CollectiveOp::send_recv && graph_.unit_sets[task.units].front() != unit;
  book_.takes_part[task.traffic] = 1;
  book_.calls[task.traffic] += receives ? 0 : share;
  book_.busy_s[task.traffic] += share * (timeline_.end[id] - timeline_.start[id]);
  book_.sent[task.traffic] += share * traffic.bytes_sent;
}

const UnitBook& Walker::book(int32_t unit) {
  book_.parts = {};
  book_.rests_on = {};
  book_.takes_part.assign(graph_.traffic.size(), 0);
  for (auto* column : {&book_.calls, &book_.exposed_s, &book_.busy_s, &book_.sent})
    column->assign(graph_.traffic.size(), 0.0);
  list_slowers(unit);
  double cursor = begin_ = step_begin(graph_, timeline_, tasks_, unit);
  for (int32_t run : tasks_.runs[unit]) {
    if (timeline_.start[run] > cursor)
      book_gap(unit, cursor, timeline_.start[run], last_predecessor(graph_, timeline_, run));
    book_run(run);
    cursor = std::max(cursor, timeline_.end[run]);
  }
  book_end(unit, cursor);
  for (int32_t task : tasks_.others[unit]) book_other(unit, task);

  if (!settle(book_.parts, timeline_.step))
    throw std::logic_error("the account of unit " + std::to_string(unit) +
                           " does not cover the step: its kernels overlap or took more than their duration");
  return book_;
}

}  // namespace rehearse
