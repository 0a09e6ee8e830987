#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>

#include "calibration/measure/agree.hpp"
#include "calibration/verify/verify.hpp"
#include "calibration/work/arena.hpp"

namespace rehearse::calibration {

namespace {

double set_bytes(const Work& work) {
  double bytes = 0;
  for (const auto& spec : operands_of(work)) bytes += aligned(spec.bytes());
  return bytes;
}

// Operands by work, one set or several in turn, all in one stretch of memory as a framework's allocator would
// have them: a mapping of each would cost more than a short kernel.
class Pool {
 public:
  Pool(Backend& backend, const std::vector<RankCall>& calls, double cache) : backend_(backend) {
    count_sets(calls, kRotation * cache);
    double bytes = 0;
    for (const auto& [point, sets] : sets_) bytes += sets.wanted * set_bytes(*sets.work);
    memory_ = static_cast<std::byte*>(backend_.allocate(size_t(bytes)));
    std::byte* at = memory_;
    for (auto& [point, sets] : sets_)
      for (int i = 0; i < sets.wanted; ++i) {
        Operands set;
        for (const auto& spec : operands_of(*sets.work)) {
          set.push_back({spec, at});
          at += size_t(aligned(spec.bytes()));
          backend_.fill(set.back());
        }
        sets.all.push_back(std::move(set));
      }
  }
  ~Pool() { backend_.release(memory_); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  const Operands& next(const Work& work) {
    auto& sets = sets_.at(point_of(work));
    return sets.all[sets.turn++ % sets.all.size()];
  }

 private:
  struct Sets {
    const Work* work = nullptr;
    int calls = 0, wanted = 1;
    std::vector<Operands> all;
    size_t turn = 0;
  };

  // One set each; where they are less than `least` bytes in all, more of each as long as it has calls.
  void count_sets(const std::vector<RankCall>& calls, double least) {
    for (const auto& call : calls) {
      auto& sets = sets_[point_of(call.work)];
      sets.work = &call.work;
      ++sets.calls;
    }
    double bytes = 0;
    for (const auto& [point, sets] : sets_) bytes += set_bytes(*sets.work);
    for (bool more = true; more && bytes < least;) {
      more = false;
      for (auto& [point, sets] : sets_)
        if (sets.wanted < sets.calls) {
          ++sets.wanted;
          bytes += set_bytes(*sets.work);
          more = true;
        }
    }
  }

  Backend& backend_;
  std::map<std::string, Sets> sets_;
  std::byte* memory_ = nullptr;
};

void refuse_what_cannot_run(const Backend& backend, const std::vector<RankCall>& calls, Ranks& ranks) {
  together(ranks, [&] {
    for (const auto& call : calls)
      if (const auto why = backend.refuses(call.work)) throw BackendError(point_of(call.work) + ": " + *why);
  });
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

MeasuredRank run_calls(Backend& backend, Ranks& ranks, const std::vector<RankCall>& calls, const Runs& runs) {
  refuse_what_cannot_run(backend, calls, ranks);
  std::optional<Pool> pool;
  together(ranks, [&] { pool.emplace(backend, calls, backend.environment().limits.l2_bytes); });
  MeasuredRank measured;
  const auto steps = steps_of(calls, *pool);
  for (int run = 0; run < runs.warmups + runs.measured; ++run) {
    ranks.barrier();
    std::vector<Span> spans;
    together(ranks, [&] { spans = backend.execute(steps); });
    if (run < runs.warmups) continue;
    double end = 0;
    for (const auto& span : spans) end = std::max(end, span.end);
    measured.step.push_back(end);
    measured.runs.push_back(std::move(spans));
  }
  return measured;
}

}  // namespace rehearse::calibration
