// A backend whose memory and kernels are another's, and whose faults and times are what a test wants.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "calibration/backends/backend.hpp"

namespace rehearse::calibration {

// One process that passes for one rank of several: the others hold `others(mine)`.
class ScriptedRanks final : public Ranks {
 public:
  explicit ScriptedRanks(int size = 1, int rank = 0) : size_(size), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_rank() const override { return rank_; }
  int per_node() const override { return size_; }
  void barrier() override {}
  std::vector<double> gather(double value) override {
    std::vector<double> all(size_t(size_), other(value));
    all[size_t(rank_)] = value;
    return all;
  }
  std::string broadcast(const std::string& text, int) override { return text; }
  std::function<double(double)> other = [](double value) { return value; };

 private:
  int size_, rank_;
};

class ScriptedBackend final : public Backend {
 public:
  explicit ScriptedBackend(std::unique_ptr<Backend> inner) : inner_(std::move(inner)) {}

  std::function<void(const Call&)> after;      // each call: spoils what it delivered
  std::function<Elapsed(size_t calls)> clock;  // instead of the true times
  std::function<void(const Call&)> instead;    // of running it
  std::function<std::optional<std::string>(const Work&)> refuse;
  double memory_bytes = 1e12;
  Health now;
  int runs = 0;     // calls of time()
  size_t held = 0;  // allocations not released
  std::map<void*, double> sizes;
  std::vector<std::vector<const void*>> seen;  // first operand of each call of each time()

  Environment environment() override { return inner_->environment(); }
  std::optional<std::string> refuses(const Work& work) const override {
    return refuse ? refuse(work) : std::nullopt;
  }
  void* allocate(size_t bytes) override {
    double used = double(bytes);
    for (const auto& [data, size] : sizes) used += size;
    if (used > memory_bytes) throw BackendError("out of memory");
    void* data = inner_->allocate(bytes);
    sizes[data] = double(bytes);
    ++held;
    return data;
  }
  void release(void* data) override {
    sizes.erase(data);
    --held;
    inner_->release(data);
  }
  void fill(const Tensor& tensor) override { inner_->fill(tensor); }
  std::vector<double> read(const Tensor& tensor, int64_t first, int64_t count) override {
    return inner_->read(tensor, first, count);
  }
  Elapsed time(std::span<const Call> calls, Clocking clocking) override {
    ++runs;
    seen.emplace_back();
    for (const Call& call : calls) {
      seen.back().push_back(call.operands->empty() ? nullptr : call.operands->front().data);
      if (instead)
        instead(call);
      else if (!clock || calls.size() == 1)  // where times are made up, results are only looked at alone
        inner_->time({&call, 1}, clocking);
      if (after) after(call);
    }
    return clock ? clock(calls.size()) : Elapsed{1e-3, 1e-3};
  }
  std::pair<Elapsed, Elapsed> time_beside(std::span<const Call> kernels, std::span<const Call> collectives,
                                          int) override {
    return {time(kernels, Clocking::stream), time(collectives, Clocking::stream)};
  }
  std::vector<Span> execute(std::span<const Step>) override { return {}; }
  Health health() override { return now; }

 private:
  std::unique_ptr<Backend> inner_;
};

}  // namespace rehearse::calibration
