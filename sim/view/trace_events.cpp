#include "sim/view/trace_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace rehearse {
namespace {

constexpr int kLanes = 9;  // thread ids 1 .. 8

uint8_t lane_of(const Task& task, int position) {
  const bool receives = is_transfer(task) && position > 0;
  return static_cast<uint8_t>(receives ? Stream::pp_recv : task.stream);
}

bool later(const TraceEvent& a, const TraceEvent& b) { return trace_before(b, 0, a, 0); }

InputErrors bad_rank(RankId rank, std::string message, std::string hint) {
  Place place;
  place.file = fmt::format("--trace-ranks {}", rank.value);
  return InputErrors(InputError{std::move(place), "", "E-TRACE-RANKS", std::move(message), std::move(hint)});
}

uint16_t lanes_of(const Program& program) {
  uint16_t lanes = 0;
  for (const Op& op : program.ops)
    if (op.kind != OpKind::gap) lanes = static_cast<uint16_t>(lanes | 1u << static_cast<unsigned>(op.stream));
  return lanes;
}

std::vector<int32_t> by_start(const Program& program) {
  std::vector<int32_t> order;
  for (size_t i = 0; i < program.ops.size(); ++i)
    if (program.ops[i].kind != OpKind::gap) order.push_back(static_cast<int32_t>(i));
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return program.ops[a].start < program.ops[b].start; });
  return order;
}

// The class of a rank within its unit, as Task::slice names it.
int slice_of_rank(const ParallelLayout& layout, const UnitInfo& unit, const UnitSlices& slices, RankId rank) {
  if (slices.empty()) return -1;
  const Coordinates at = layout.coordinates(rank);
  int place = 0;
  for (size_t i = 0; i < unit.ranks.size(); ++i) {
    const Coordinates other = layout.coordinates(unit.ranks[i]);
    if (other.tp == at.tp && other.cp == at.cp) place = static_cast<int>(i);
  }
  if (slices.count(place) == 1) return place;
  if (slices.size() > 1)
    throw bad_rank(rank, fmt::format("which class stands for rank {} is not known", rank.value),
                   "to simulate every rank: try --fold off");
  return slices.begin()->first;
}

}  // namespace

int64_t TraceForm::point(double seconds) const { return std::llround(seconds * 1e6 * steps_per_us()); }

bool trace_before(const TraceEvent& a, int32_t rank, const TraceEvent& b, int32_t other) {
  return std::tie(a.ts, a.phase, b.dur, rank, a.lane, a.op, a.task) <
         std::tie(b.ts, b.phase, a.dur, other, b.lane, b.op, b.task);
}

std::vector<UnitSlices> slices_of_units(const TaskGraph& graph) {
  std::vector<UnitSlices> slices(graph.units.size());
  for (const Task& task : graph.tasks)
    if (task.slice >= 0 && task.units >= 0)
      for (int32_t unit : graph.unit_sets[task.units]) slices[unit][task.slice] = task.peers;
  return slices;
}

int32_t unit_of_rank(const TaskGraph& graph, const ParallelLayout& layout, RankId rank) {
  if (!rank.valid() || rank.value >= layout.ranks())
    throw bad_rank(rank, fmt::format("there is no rank {}", rank.value),
                   fmt::format("ranks are 0 .. {}", layout.ranks() - 1));
  const Coordinates at = layout.coordinates(rank);
  int32_t stands_in = -1;
  int candidates = 0;
  for (size_t u = 0; u < graph.units.size(); ++u) {
    if (graph.units[u].pp != at.pp) continue;
    if (graph.units[u].dp == at.dp) return static_cast<int32_t>(u);
    stands_in = static_cast<int32_t>(u);
    ++candidates;
  }
  if (candidates != 1)
    throw bad_rank(rank, fmt::format("which class stands for rank {} is not known", rank.value),
                   "to simulate every rank: try --fold off");
  return stands_in;
}

RankId peer_of(const TaskGraph& graph, const ParallelLayout& layout, const Task& task, int position,
               RankId rank) {
  const auto& ends = graph.unit_sets[task.units];
  Coordinates at = layout.coordinates(rank);
  at.pp = graph.units[ends[position == 0 ? 1 : 0]].pp;
  return layout.rank(at);
}

TraceIndex::TraceIndex(const TraceInput& input, const TraceForm& form, std::span<const RankId> ranks) {
  const TaskGraph& graph = input.graph;
  tasks_of_unit.resize(graph.units.size());
  lanes_of_unit.resize(graph.units.size());
  shown.resize(static_cast<size_t>(input.layout.ranks()));
  std::vector<bool> wanted(graph.units.size());
  const std::vector<UnitSlices> slices = slices_of_units(graph);
  for (RankId rank : ranks) {
    unit.push_back(unit_of_rank(graph, input.layout, rank));
    const UnitInfo& info = graph.units[unit.back()];
    const UnitSlices& of_unit = slices[unit.back()];
    slice.push_back(slice_of_rank(input.layout, info, of_unit, rank));
    alike.push_back(info.stands_for * (of_unit.empty() ? info.ranks_each : of_unit.at(slice.back())));
    wanted[unit.back()] = true;
    shown[rank.value] = true;
  }
  std::vector<uint16_t> program_lanes(graph.programs.size());
  if (form.detail == TraceDetail::kernel) {
    for (const Program& program : graph.programs) op_order.push_back(by_start(program));
    std::transform(graph.programs.begin(), graph.programs.end(), program_lanes.begin(), lanes_of);
  }
  for (size_t t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    if (task.units < 0 || !(input.timeline.end[t] > input.timeline.start[t])) continue;
    const auto& set = graph.unit_sets[task.units];
    for (size_t i = 0; i < set.size(); ++i) {
      if (!wanted[set[i]]) continue;
      const int position = static_cast<int>(i);
      tasks_of_unit[set[i]].push_back({static_cast<int32_t>(t), position});
      unsigned lanes = lanes_of_unit[set[i]] | 1u << lane_of(task, position);
      if (task.program >= 0) lanes |= program_lanes[task.program];
      lanes_of_unit[set[i]] = static_cast<uint16_t>(lanes);
    }
  }
  const auto& start = input.timeline.start;
  for (auto& tasks : tasks_of_unit)
    std::stable_sort(tasks.begin(), tasks.end(), [&](const Participation& a, const Participation& b) {
      return start[a.task] < start[b.task];
    });
}

ProgramClock::ProgramClock(const Timeline& timeline, int32_t task, const Program& program)
    : duration_(program.duration) {
  const double slow =
      program.slowed_duration > program.duration ? program.duration / program.slowed_duration : 1;
  const double start = timeline.start[task], end = timeline.end[task];
  marks_.push_back({0, start});
  const auto add = [&](double until, double speed) {
    const Mark& last = marks_.back();
    if (until > last.time) marks_.push_back({last.progress + (until - last.time) * speed, until});
  };
  auto stretch = std::lower_bound(timeline.slowed.begin(), timeline.slowed.end(), task,
                                  [](const SlowStretch& s, int32_t t) { return s.task < t; });
  for (; stretch != timeline.slowed.end() && stretch->task == task; ++stretch) {
    add(std::min(stretch->from, end), 1);
    add(std::min(stretch->to, end), slow);
  }
  add(end, 1);
}

double ProgramClock::at(double progress) const {
  if (progress <= 0 || duration_ <= 0) return marks_.front().time;
  if (progress >= duration_) return marks_.back().time;
  // Progress made in all stands for the whole program: rounding, or a task given another duration, spreads
  // evenly.
  const double reached = progress / duration_ * marks_.back().progress;
  const auto after = std::upper_bound(marks_.begin(), marks_.end(), reached,
                                      [](double p, const Mark& mark) { return p < mark.progress; });
  if (after == marks_.end()) return marks_.back().time;
  const Mark &a = *(after - 1), &b = *after;
  return a.time + (reached - a.progress) / (b.progress - a.progress) * (b.time - a.time);
}

RankEvents::RankEvents(const TraceInput& input, const TraceForm& form, const TraceIndex& index, RankId rank,
                       size_t i)
    : in_(input),
      form_(form),
      index_(index),
      rank_(rank),
      slice_(index.slice[i]),
      tasks_(index.tasks_of_unit[index.unit[i]]) {
  const int stage = input.layout.coordinates(rank).pp;
  for (const StageMemory& memory : input.memory.stages)
    if (memory.stage.value == stage) memory_ = &memory;
  push_sample(0);
}

bool RankEvents::next(TraceEvent& event) {
  while (cursor_ < tasks_.size() &&
         (heap_.empty() || form_.point(in_.timeline.start[tasks_[cursor_].task]) <= heap_.front().ts))
    admit(tasks_[cursor_++]);
  if (heap_.empty()) return false;
  std::pop_heap(heap_.begin(), heap_.end(), later);
  event = heap_.back();
  heap_.pop_back();
  if (event.phase == TracePhase::counter) push_sample(static_cast<size_t>(event.op) + 1);
  if (event.phase == TracePhase::slice && event.op >= 0) push_next_op(event.task);
  return true;
}

void RankEvents::push(const TraceEvent& event) {
  heap_.push_back(event);
  std::push_heap(heap_.begin(), heap_.end(), later);
}

void RankEvents::admit(const Participation& p) {
  const Task& task = in_.graph.tasks[p.task];
  if (task.slice >= 0 && task.slice != slice_) return;
  const int64_t from = form_.point(in_.timeline.start[p.task]), to = form_.point(in_.timeline.end[p.task]);
  if (to <= from) {
    ++left_out_;
    return;
  }
  const uint8_t lane = lane_of(task, p.position);
  push({from, to - from, TracePhase::slice, lane, p.position, p.task, -1});
  if (is_transfer(task) && !form_.per_rank) admit_arrow(p, from, to, lane);
  if (!index_.expands(task)) return;
  const Program& program = in_.graph.programs[task.program];
  running_.push_back(
      {p.task, ProgramClock(in_.timeline, p.task, program), 0, from, to, std::vector<int64_t>(kLanes, from)});
  push_next_op(p.task);
}

void RankEvents::admit_arrow(const Participation& p, int64_t from, int64_t to, uint8_t lane) {
  const Task& task = in_.graph.tasks[p.task];
  if (!index_.shown[peer_of(in_.graph, in_.layout, task, p.position, rank_).value]) return;
  const bool sends = p.position == 0;
  if (to - from < 2) {  // no point strictly inside
    arrows_left_out_ += sends ? 1 : 0;
    return;
  }
  push({sends ? from + 1 : to - 1, 0, sends ? TracePhase::arrow_start : TracePhase::arrow_end, lane,
        p.position, p.task, -1});
}

void RankEvents::push_next_op(int32_t task) {
  const auto at =
      std::find_if(running_.begin(), running_.end(), [&](const Expansion& e) { return e.task == task; });
  const int32_t program = in_.graph.tasks[task].program;
  const auto& order = index_.op_order[program];
  while (at->next < order.size()) {
    const int32_t i = order[at->next++];
    const Op& op = in_.graph.programs[program].ops[i];
    const auto lane = static_cast<uint8_t>(op.stream);
    int64_t from = std::clamp(form_.point(at->clock.at(op.start)), at->from, at->to);
    const int64_t to = std::clamp(form_.point(at->clock.at(op.start + op.duration)), at->from, at->to);
    // Sums of durations differ in their last bit from the next start, and may fall on two sides of a grid
    // boundary.
    if (from == at->lane_end[lane] - 1) from = at->lane_end[lane];
    if (to <= from) {
      left_out_ += op.duration > 0 ? 1 : 0;
      continue;
    }
    at->lane_end[lane] = to;
    push({from, to - from, TracePhase::slice, lane, 0, task, i});
    return;
  }
  running_.erase(at);
}

void RankEvents::push_sample(size_t first) {
  if (memory_ == nullptr) return;
  const auto& samples = memory_->over_time;
  for (size_t i = first; i < samples.size(); ++i) {
    const int64_t ts = form_.point(samples[i].time_s);
    if (i + 1 < samples.size() && form_.point(samples[i + 1].time_s) == ts)
      continue;  // the last of a moment counts
    push({ts, 0, TracePhase::counter, 0, 0, -1, static_cast<int32_t>(i)});
    return;
  }
}

}  // namespace rehearse
