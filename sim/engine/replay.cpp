#include "sim/engine/replay.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <utility>

#include "sim/graph/csr.hpp"

namespace rehearse {

namespace {

constexpr int32_t kRunning = 0;
constexpr int32_t kArrived = -1;   // a flow that was handed over
constexpr int32_t kLinkless = -2;  // a flow that asks nothing of any link
constexpr int32_t kEnded = -3;
constexpr int kBlockedShown = 10;

bool crosses_links(const TaskGraph& graph, const Task& flow) {
  return flow.amount > 0 && flow.route >= 0 && !graph.routes[flow.route].links.empty();
}

bool is_time(double s) { return std::isfinite(s) && s >= 0; }

const char* kind_name(TaskKind kind) {
  switch (kind) {
    case TaskKind::run:
      return "run";
    case TaskKind::fixed:
      return "fixed";
    case TaskKind::flow:
      return "flow";
  }
  return "?";
}

// "run task 17 (F, chunk 2, micro-batch 3)"
std::string describe(const TaskGraph& graph, int32_t id) {
  const Task& task = graph.tasks[id];
  std::string text = std::string(kind_name(task.kind)) + " task " + std::to_string(id);
  std::string what;
  auto add = [&](const std::string& part) { what += (what.empty() ? "" : ", ") + part; };
  if (task.program >= 0) add(graph.programs[task.program].name);
  if (task.traffic >= 0) add(graph.traffic[task.traffic].what);
  if (task.chunk.valid()) add("chunk " + std::to_string(task.chunk.value));
  if (task.micro.valid()) add("micro-batch " + std::to_string(task.micro.value));
  return what.empty() ? text : text + " (" + what + ")";
}

}  // namespace

// The same without the flows that it stands for in a folded graph: each has its links to itself.
static double rate_uncontended(const TaskGraph& graph, const Task& flow) {
  if (flow.route < 0 || graph.routes[flow.route].own.empty()) return rate_alone(graph, flow);
  const auto& route = graph.routes[flow.route];
  double rate = flow.rate_cap > 0 ? flow.rate_cap : never();
  for (size_t i = 0; i < route.links.size(); ++i)
    rate = std::min(rate, graph.links[route.links[i].first].capacity / route.own[i]);
  return rate;
}

namespace {

void check_routes(const TaskGraph& graph) {
  std::vector<size_t> seen(graph.links.size(), 0);
  for (size_t r = 0; r < graph.routes.size(); ++r)
    for (auto [link, weight] : graph.routes[r].links) {
      if (weight <= 0)
        throw std::runtime_error("route " + std::to_string(r) + " crosses a link less than once");
      if (std::exchange(seen[link], r + 1) == r + 1)
        throw std::runtime_error("route " + std::to_string(r) + " names a link twice");
    }
}

// Throws for a task that can never end.
void check_tasks(const TaskGraph& graph) {
  auto fail = [&](size_t t, const char* why) {
    throw std::runtime_error("the task graph cannot progress: " + describe(graph, static_cast<int32_t>(t)) +
                             ' ' + why);
  };
  for (size_t t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    if (!is_time(task.duration)) fail(t, "has no finite duration");
    if (task.kind != TaskKind::flow) continue;
    if (!is_time(task.amount)) fail(t, "has no finite amount");
    if (!is_time(task.rate_cap)) fail(t, "has no finite rate cap");
    if (task.amount > 0 && !(rate_alone(graph, task) > 0)) fail(t, "crosses a link that carries nothing");
  }
}

}  // namespace

Replay::Replay(const TaskGraph& graph, bool hand_over) : graph_(graph), hand_over_(hand_over) {
  if (num_vertices(edges_of(graph)) != graph.tasks.size())
    throw std::runtime_error("the task graph has " + std::to_string(graph.tasks.size()) +
                             " tasks but edges for " + std::to_string(num_vertices(edges_of(graph))));
  check_routes(graph);
  check_tasks(graph);
  const size_t n = graph.tasks.size();
  timeline_.start.assign(n, 0);
  timeline_.end.assign(n, 0);
  state_.assign(n, 0);
  heap_.reserve(1024);
  for (size_t t = 0; t < n; ++t) {
    for (auto [it, last] = adjacent_vertices(t, edges_of(graph)); it != last; ++it) ++state_[*it];
    any_slows_ |= graph.tasks[t].slows;
    if (graph.tasks[t].kind != TaskKind::flow) continue;
    ++timeline_.flows;
    if (graph.tasks[t].route >= 0)
      timeline_.link_flows += static_cast<int64_t>(graph.routes[graph.tasks[t].route].links.size());
  }
  if (any_slows_) {
    unit_slowers_.assign(graph.units.size(), 0);
    unit_slots_.resize(graph.units.size());
  }
  std::vector<int32_t> first;
  for (size_t t = 0; t < n; ++t)
    if (state_[t] == 0) first.push_back(static_cast<int32_t>(t));
  for (int32_t t : first) start(t);
}

void Replay::push(int32_t task, double at) {
  timeline_.end[task] = at;
  heap_.push_back({at, task});
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
}

void Replay::set_due(int32_t task, double at) { push(task, at); }

void Replay::clear_due(int32_t task) { timeline_.end[task] = never(); }

void Replay::step() {
  const DueDate due = heap_.front();
  std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
  heap_.pop_back();
  const int32_t state = state_[due.task];
  if (state == kEnded || timeline_.end[due.task] != due.at) return;  // was set anew
  now_ = due.at;
  ++timeline_.events;
  if (state == kRunning && hand_over_ && graph_.tasks[due.task].kind == TaskKind::flow) {
    state_[due.task] = kArrived;
    clear_due(due.task);
    arrivals_.push_back(due.task);
    return;
  }
  if (state == kArrived) departures_.push_back(due.task);
  end(due.task);
}

void Replay::start(int32_t id) {
  const Task& task = graph_.tasks[id];
  timeline_.start[id] = now_;
  if (task.slows && task.units >= 0) shift_slowing(graph_.unit_sets[task.units], +1);
  if (task.kind == TaskKind::flow)
    start_flow(id);
  else if (!any_slows_ || !slowable(task))
    push(id, now_ + task.duration);
  else
    start_slowable(id);
}

void Replay::start_flow(int32_t id) {
  const Task& task = graph_.tasks[id];
  const double first_byte = now_ + task.duration;
  if (hand_over_ && crosses_links(graph_, task)) return push(id, first_byte);
  if (hand_over_) state_[id] = kLinkless;
  push(id, task.amount > 0 ? first_byte + task.amount / rate_uncontended(graph_, task) : first_byte);
}

void Replay::end(int32_t id) {
  const Task& task = graph_.tasks[id];
  state_[id] = kEnded;
  ++ended_;
  timeline_.step = now_;
  if (any_slows_) {
    if (slowable(task)) end_slowable(id);
    if (task.slows && task.units >= 0) shift_slowing(graph_.unit_sets[task.units], -1);
  }
  for (auto [it, last] = adjacent_vertices(static_cast<size_t>(id), edges_of(graph_)); it != last; ++it)
    if (--state_[*it] == 0) start(static_cast<int32_t>(*it));
}

bool Replay::slowable(const Task& task) const {
  if (task.kind != TaskKind::run || task.stream != Stream::compute || task.slows) return false;
  if (task.program < 0 || task.units < 0) return false;
  const Program& program = graph_.programs[task.program];
  return program.duration > 0 && program.slowed_duration > program.duration;
}

void Replay::start_slowable(int32_t id) {
  const Task& task = graph_.tasks[id];
  const Program& program = graph_.programs[task.program];
  int32_t slot = static_cast<int32_t>(slow_runs_.size());
  if (free_slots_.empty()) {
    slow_runs_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  int slowers = 0;
  for (int32_t unit : graph_.unit_sets[task.units]) {
    slowers += unit_slowers_[unit];
    unit_slots_[unit].push_back(slot);
  }
  const double ratio = program.slowed_duration / program.duration;
  slow_runs_[slot] = {id, slowers, ratio, task.duration, now_};
  push(id, now_ + task.duration * (slowers > 0 ? ratio : 1));
}

void Replay::end_slowable(int32_t id) {
  const auto& units = graph_.unit_sets[graph_.tasks[id].units];
  int32_t slot = -1;
  for (int32_t unit : units) {
    auto& slots = unit_slots_[unit];
    auto mine = std::find_if(slots.begin(), slots.end(), [&](int32_t s) { return slow_runs_[s].task == id; });
    slot = *mine;
    slots.erase(mine);
  }
  if (slot < 0) return;
  const SlowRun& run = slow_runs_[slot];
  if (run.slowers > 0 && now_ > run.since) timeline_.slowed.push_back({id, run.since, now_});
  free_slots_.push_back(slot);
}

void Replay::shift_slowing(const std::vector<int32_t>& units, int by) {
  for (int32_t unit : units) {
    unit_slowers_[unit] += by;
    for (int32_t slot : unit_slots_[unit]) retime(slow_runs_[slot], slow_runs_[slot].slowers + by);
  }
}

void Replay::retime(SlowRun& run, int slowers) {
  const bool was = run.slowers > 0, is = slowers > 0;
  run.slowers = slowers;
  if (was == is) return;
  if (was && now_ > run.since) timeline_.slowed.push_back({run.task, run.since, now_});
  run.left = std::max(0.0, run.left - (now_ - run.since) / (was ? run.ratio : 1));
  run.since = now_;
  if (timeline_.end[run.task] > now_) push(run.task, now_ + run.left * (is ? run.ratio : 1));
}

Timeline Replay::finish(std::string engine) {
  if (ended_ != graph_.tasks.size()) throw std::runtime_error(blocked_text());
  auto& slowed = timeline_.slowed;
  std::sort(slowed.begin(), slowed.end(),
            [](auto& a, auto& b) { return a.task != b.task ? a.task < b.task : a.from < b.from; });
  size_t kept = 0;  // a stretch that goes on where the one before ended is the same stretch
  for (const SlowStretch& s : slowed) {
    if (kept > 0 && slowed[kept - 1].task == s.task && slowed[kept - 1].to == s.from)
      slowed[kept - 1].to = s.to;
    else
      slowed[kept++] = s;
  }
  slowed.resize(kept);
  timeline_.engine = std::move(engine);
  return std::move(timeline_);
}

std::string Replay::blocked_text() const {
  const size_t blocked = state_.size() - ended_;
  std::string text = "the task graph cannot progress: " + std::to_string(blocked) + " tasks are blocked";
  int shown = 0;
  for (size_t t = 0; t < state_.size() && shown < kBlockedShown; ++t) {
    if (state_[t] == kEnded) continue;
    ++shown;
    text += "\n  " + describe(graph_, static_cast<int32_t>(t)) + " waits for";
    std::string sources;
    for (size_t p = 0; p < state_.size(); ++p) {
      if (state_[p] == kEnded) continue;
      for (auto [it, last] = adjacent_vertices(p, edges_of(graph_)); it != last; ++it) {
        if (*it != t) continue;
        sources += (sources.empty() ? " " : "; ") + describe(graph_, static_cast<int32_t>(p));
        break;
      }
    }
    text += sources.empty() ? " its links" : sources;
  }
  if (blocked > static_cast<size_t>(kBlockedShown)) text += "\n  ...";
  return text;
}

}  // namespace rehearse
