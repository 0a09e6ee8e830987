#include <algorithm>
#include <chrono>
#include <cstring>

#include "calibration/backends/host/run.hpp"

namespace rehearse::calibration::host {
namespace {

using Clock = std::chrono::steady_clock;
using Kind = Step::Kind;

// The operand that a transfer moves.
const Tensor& message(const Step& step) {
  return step.kind == Kind::send ? step.call.operands->front() : step.call.operands->back();
}

bool overlap(const Tensor& a, const Tensor& b) {
  const auto *first = static_cast<const char*>(a.data), *second = static_cast<const char*>(b.data);
  return first < second + size_t(b.spec.bytes()) && second < first + size_t(a.spec.bytes());
}

enum class Access : uint8_t { any, write };

// Whether the step reads or writes memory of the tensor.
bool touches(const Step& step, const Tensor& tensor, Access access) {
  if (step.kind == Kind::send) return access == Access::any && overlap(message(step), tensor);
  if (step.kind == Kind::receive) return overlap(message(step), tensor);
  for (const Tensor& operand : *step.call.operands)
    if ((access == Access::any || operand.spec.output) && overlap(operand, tensor)) return true;
  return false;
}

// How a step stands to the others of its list.
struct Plan {
  std::vector<int> waits;     // receives that must be over
  std::vector<int> posts;     // receives that may be posted when it is over
  std::vector<float> staged;  // of a send whose buffer is written later
};

class Execution {
 public:
  Execution(std::span<const Step> steps, const Parties& parties, Scratch& scratch)
      : steps_(steps),
        scratch_(scratch),
        plans_(steps.size()),
        spans_(steps.size()),
        ready_(steps.size()),
        requests_(steps.size(), MPI_REQUEST_NULL),
        posted_(steps.size()),
        over_(steps.size()) {
    for (size_t i = 0; i < steps.size(); ++i) {
      const Step& step = steps[i];
      ready_[i] = {step.call.work, {}, {}};
      if (step.call.operands) ready_[i].operands = *step.call.operands;
      if (step.kind == Kind::collective) ready_[i].party = parties.of(step.members);
      if (step.kind == Kind::receive) plan_receive(int(i));
      if (step.kind == Kind::send) plan_send(i);
      for (int earlier : step.after)
        if (steps[size_t(earlier)].kind == Kind::receive) plans_[i].waits.push_back(earlier);
    }
  }

  std::vector<Span> run_all(Ranks& ranks) {
    start_ = common_start(ranks);
    for (int receive : first_posts_) post(receive);
    for (size_t i = 0; i < steps_.size(); ++i) run_step(i);
    for (size_t i = 0; i < steps_.size(); ++i)
      if (steps_[i].kind == Kind::receive) finish(int(i));
    for (size_t i = 0; i < steps_.size(); ++i)
      if (steps_[i].kind == Kind::send) MPI_Wait(&requests_[i], MPI_STATUS_IGNORE);
    return std::move(spans_);
  }

 private:
  // Processes of a node read the same steady clock, so the last one to come starts it for all. Clocks of
  // several nodes are not compared: there a rank starts its own after the barrier.
  static Clock::time_point common_start(Ranks& ranks) {
    ranks.barrier();
    const std::chrono::duration<double> here = Clock::now().time_since_epoch();
    const auto all = ranks.gather(here.count());
    if (ranks.per_node() != ranks.size()) return Clock::now();
    const std::chrono::duration<double> last(*std::max_element(all.begin(), all.end()));
    return Clock::time_point(std::chrono::duration_cast<Clock::duration>(last));
  }
  double now() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  void plan_receive(int i) {
    const Tensor& buffer = message(steps_[size_t(i)]);
    for (size_t later = size_t(i) + 1; later < steps_.size(); ++later)
      if (touches(steps_[later], buffer, Access::any)) plans_[later].waits.push_back(i);
    int last = i - 1;
    while (last >= 0 && !touches(steps_[size_t(last)], buffer, Access::any)) --last;
    if (last < 0)
      first_posts_.push_back(i);
    else if (steps_[size_t(last)].kind != Kind::receive)
      plans_[size_t(last)].posts.push_back(i);
  }

  void plan_send(size_t i) {
    const Tensor& buffer = message(steps_[i]);
    for (size_t later = i + 1; later < steps_.size(); ++later) {
      if (!touches(steps_[later], buffer, Access::write)) continue;
      plans_[i].staged.resize(size_t(buffer.spec.count));
      return;
    }
  }

  void post(int i) {
    const Step& step = steps_[size_t(i)];
    const Tensor& buffer = message(step);
    MPI_Irecv(buffer.data, int(buffer.spec.count), MPI_FLOAT, step.peer, step.tag, MPI_COMM_WORLD,
              &requests_[size_t(i)]);
    posted_[size_t(i)] = true;
    pending_.push_back(i);
  }

  void finish(int i) {
    if (over_[size_t(i)]) return;
    MPI_Wait(&requests_[size_t(i)], MPI_STATUS_IGNORE);
    ended(i);
  }
  // The list may not have come to the receive when the data is there; its span is set then.
  void ended(int i) {
    over_[size_t(i)] = true;
    spans_[size_t(i)].end = now();
    pending_.erase(std::find(pending_.begin(), pending_.end(), i));
  }

  // MPI moves data only while it is called, and then all of it; what was posted first mostly comes first.
  void progress() {
    while (!pending_.empty()) {
      int done = 0;
      const int receive = pending_.front();
      MPI_Test(&requests_[size_t(receive)], &done, MPI_STATUS_IGNORE);
      if (!done) return;
      ended(receive);
    }
  }

  void send(size_t i) {
    const Step& step = steps_[i];
    const Tensor& buffer = message(step);
    const void* data = buffer.data;
    auto& staged = plans_[i].staged;
    if (!staged.empty()) {
      std::memcpy(staged.data(), data, staged.size() * sizeof(float));
      data = staged.data();
    }
    MPI_Isend(data, int(buffer.spec.count), MPI_FLOAT, step.peer, step.tag, MPI_COMM_WORLD, &requests_[i]);
  }

  void run_step(size_t i) {
    progress();
    for (int receive : plans_[i].waits) finish(receive);
    Span& span = spans_[i];
    span.start = now();
    if (steps_[i].kind == Kind::receive) {
      if (!posted_[i]) post(int(i));
      span.end = std::max(span.start, span.end);
      return;
    }
    if (steps_[i].kind == Kind::send)
      send(i);
    else
      run(ready_[i], scratch_);
    span.end = now();
    for (int receive : plans_[i].posts) post(receive);
  }

  std::span<const Step> steps_;
  Scratch& scratch_;
  std::vector<Plan> plans_;
  std::vector<Span> spans_;
  std::vector<Ready> ready_;
  std::vector<MPI_Request> requests_;
  std::vector<char> posted_, over_;
  std::vector<int> pending_, first_posts_;
  Clock::time_point start_;
};

}  // namespace

std::vector<Span> execute_steps(std::span<const Step> steps, const Parties& parties, Scratch& scratch,
                                Ranks& ranks) {
  for (const Step& step : steps)
    if ((step.kind == Kind::send || step.kind == Kind::receive) &&
        (step.peer < 0 || step.peer >= ranks.size() || step.peer == ranks.rank()))
      throw BackendError("no rank " + std::to_string(step.peer) + " to exchange with");
  return Execution(steps, parties, scratch).run_all(ranks);
}

}  // namespace rehearse::calibration::host
