#include <algorithm>
#include <map>

#include "calibration/verify/verify.hpp"

namespace rehearse::calibration {

namespace {

// Operands by work, several sets of each in turn.
class Pool {
 public:
  explicit Pool(Backend& backend) : backend_(backend) {}
  ~Pool() {
    for (auto& [point, sets] : sets_)
      for (auto& set : sets.all)
        for (auto& tensor : set) backend_.release(tensor.data);
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // `wanted` sets in all, as far as `room` bytes go; at least one.
  void prepare(const Work& work, int wanted, double& room) {
    auto& sets = sets_[point_of(work)];
    const auto specs = operands_of(work);
    double bytes = 0;
    for (const auto& spec : specs) bytes += spec.bytes();
    while (int(sets.all.size()) < wanted && (sets.all.empty() || bytes <= room)) {
      Operands set;
      for (const auto& spec : specs) {
        set.push_back({spec, backend_.allocate(size_t(spec.bytes()))});
        backend_.fill(set.back());
      }
      sets.all.push_back(std::move(set));
      room -= bytes;
    }
  }
  const Operands& next(const Work& work) {
    auto& sets = sets_.at(point_of(work));
    return sets.all[sets.turn++ % sets.all.size()];
  }

 private:
  struct Sets {
    std::vector<Operands> all;
    size_t turn = 0;
  };
  Backend& backend_;
  std::map<std::string, Sets> sets_;
};

void refuse_what_cannot_run(const Backend& backend, const std::vector<RankCall>& calls, Ranks& ranks) {
  std::string reason;
  for (const auto& call : calls)
    if (const auto why = backend.refuses(call.work); why && reason.empty())
      reason = point_of(call.work) + ": " + *why;
  if (ranks.any(!reason.empty()))
    throw BackendError(reason.empty() ? "another rank cannot run its part of the step" : reason);
}

// Every work gets its first set before any gets a second.
void prepare_all(Pool& pool, const std::vector<RankCall>& calls, double room) {
  std::map<std::string, std::pair<const Work*, int>> wanted;
  for (const auto& call : calls) {
    auto& [work, count] = wanted[point_of(call.work)];
    work = &call.work;
    ++count;
  }
  for (auto& [point, entry] : wanted) pool.prepare(*entry.first, 1, room);
  for (auto& [point, entry] : wanted) pool.prepare(*entry.first, entry.second, room);
}

std::vector<Step> steps_of(const std::vector<RankCall>& calls, Pool& pool) {
  static constexpr Step::Kind kKinds[] = {Step::Kind::kernel, Step::Kind::collective, Step::Kind::send,
                                          Step::Kind::receive};
  std::vector<Step> steps;
  for (const auto& call : calls) {
    Step step;
    step.call = {&call.work, &pool.next(call.work)};
    step.kind = kKinds[size_t(call.kind)];
    step.lane = call.kind == RankCall::Kind::kernel       ? 0
                : call.kind == RankCall::Kind::collective ? 1
                : call.kind == RankCall::Kind::send       ? 2
                                                          : 3;
    step.after = call.after;
    step.peer = call.peer;
    step.tag = call.task;
    step.members = call.members;
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace

MeasuredRank run_calls(Backend& backend, Ranks& ranks, const std::vector<RankCall>& calls,
                       const RunOptions& options) {
  refuse_what_cannot_run(backend, calls, ranks);
  Pool pool(backend);
  const double memory = backend.environment().limits.memory_bytes;
  prepare_all(pool, calls, options.memory_share * memory);
  MeasuredRank measured;
  const auto steps = steps_of(calls, pool);
  for (int run = 0; run < options.warmups + options.runs; ++run) {
    ranks.barrier();
    auto spans = backend.execute(steps);
    if (run < options.warmups) continue;
    double end = 0;
    for (const auto& span : spans) end = std::max(end, span.end);
    measured.step.push_back(end);
    measured.runs.push_back(std::move(spans));
  }
  return measured;
}

}  // namespace rehearse::calibration
