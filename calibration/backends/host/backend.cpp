#include "calibration/backends/backend.hpp"

#include <cblas.h>
#include <malloc.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <thread>

#include "calibration/backends/host/machine.hpp"
#include "calibration/backends/host/refusal.hpp"
#include "calibration/backends/host/run.hpp"
#include "calibration/work/values.hpp"

namespace rehearse::calibration {
namespace host {

void run(const Ready& ready, Scratch& scratch) {
  if (const auto* gemm = std::get_if<GemmCall>(ready.work)) return run_gemm(*gemm, ready.operands);
  if (const auto* memory = std::get_if<MemoryCall>(ready.work)) return run_memory(*memory, ready.operands);
  if (const auto* attention = std::get_if<AttentionCall>(ready.work))
    return run_attention(*attention, ready.operands, scratch);
  if (const auto* collective = std::get_if<CollectiveCall>(ready.work))
    return run_collective(*collective, ready.operands, ready.party);
}

namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kHugePage = size_t(2) << 20;

double seconds(Clock::time_point start, Clock::time_point end) {
  return std::chrono::duration<double>(end - start).count();
}

class HostBackend final : public Backend {
 public:
  explicit HostBackend(Ranks& ranks) : ranks_(ranks) { openblas_set_num_threads(1); }

  Environment environment() override { return describe(ranks_); }
  std::optional<std::string> refuses(const Work& work) const override {
    return refusal(work, ranks_.size(), ranks_.per_node(), cores_of_rank(ranks_));
  }

  void* allocate(size_t bytes) override;
  void release(void* data) override;
  void fill(const Tensor& tensor) override;
  std::vector<double> read(const Tensor& tensor, int64_t first, int64_t count) override;

  // Nothing can be recorded here: graph is as stream.
  Elapsed time(std::span<const Call> calls, Clocking) override {
    const auto ready = prepare(calls);
    meet(ready);
    return timed(ready);
  }
  // refuses() has turned down calls with channels: there are none.
  std::pair<Elapsed, Elapsed> time_beside(std::span<const Call> kernels, std::span<const Call> collectives,
                                          int channels) override;
  std::vector<Span> execute(std::span<const Step> steps) override {
    std::vector<std::vector<int>> groups;
    for (const auto& step : steps)
      if (step.kind == Step::Kind::collective) groups.push_back(step.members);
    parties_.prepare(groups);
    return execute_steps(steps, parties_, scratch_, ranks_);
  }

  Health health() override {
    Health health;
    health.clock_mhz = core_clock_mhz();
    return health;
  }

 private:
  // Ranks that communicate start together.
  void meet(std::span<const Ready> calls);
  std::vector<Ready> prepare(std::span<const Call> calls);
  Elapsed timed(std::span<const Ready> calls);

  Ranks& ranks_;
  std::map<void*, std::pair<void*, size_t>> mappings_;  // [operand]: start and length
  Parties parties_;
  Scratch scratch_;
};

void* HostBackend::allocate(size_t bytes) {
  // Linux promises memory that it does not have; the ranks of a node ask at the same time.
  const double available = memory_available() / ranks_.per_node();
  if (available > 0 && double(bytes) > 0.9 * available)
    throw BackendError("no memory for " + std::to_string(bytes) + " bytes");
  // Mapped apart from malloc's heap, in huge pages: with small ones addresses cost more than short kernels.
  const size_t rounded = (std::max<size_t>(bytes, 1) + kHugePage - 1) / kHugePage * kHugePage;
  void* mapped =
      mmap(nullptr, rounded + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw BackendError("no memory for " + std::to_string(bytes) + " bytes");
  void* data = mapped;
  size_t room = rounded + kHugePage;
  std::align(kHugePage, rounded, data, room);
  if (bytes >= 2 * kHugePage) madvise(data, rounded, MADV_HUGEPAGE);  // advice: may fail
  std::memset(data, 0, bytes);
  mappings_[data] = {mapped, rounded + kHugePage};
  return data;
}

void HostBackend::release(void* data) {
  const auto at = mappings_.find(data);
  if (at == mappings_.end()) return;
  munmap(at->second.first, at->second.second);
  mappings_.erase(at);
}

void fill_normal(const OperandSpec& spec, float* data) {
  for (int64_t i = 0; i < spec.count; ++i) data[i] = float(value_at(spec.seed, uint64_t(i)) * spec.scale);
}

void HostBackend::fill(const Tensor& tensor) {
  const auto& spec = tensor.spec;
  const auto count = uint64_t(spec.count);
  switch (spec.content) {
    case Content::normal:
      return fill_normal(spec, static_cast<float*>(tensor.data));
    case Content::mask:
      for (uint64_t i = 0; i < count; ++i) static_cast<uint8_t*>(tensor.data)[i] = mask_at(spec.seed, i);
      return;
    case Content::tokens:
      for (uint64_t i = 0; i < count; ++i)
        static_cast<int32_t*>(tensor.data)[i] = token_at(spec.seed, i, spec.bound);
      return;
    case Content::zero:
      std::memset(tensor.data, 0, size_t(spec.bytes()));
      return;
  }
}

std::vector<double> HostBackend::read(const Tensor& tensor, int64_t first, int64_t count) {
  std::vector<double> values;
  values.reserve(size_t(count));
  for (int64_t i = first; i < first + count; ++i) {
    if (tensor.spec.content == Content::mask)
      values.push_back(static_cast<const uint8_t*>(tensor.data)[i]);
    else if (tensor.spec.content == Content::tokens)
      values.push_back(static_cast<const int32_t*>(tensor.data)[i]);
    else
      values.push_back(static_cast<const float*>(tensor.data)[i]);
  }
  return values;
}

std::vector<Ready> HostBackend::prepare(std::span<const Call> calls) {
  std::vector<std::vector<int>> groups(calls.size());
  for (size_t i = 0; i < calls.size(); ++i)
    if (const auto* c = std::get_if<CollectiveCall>(calls[i].work))
      groups[i] = members_of(c->group, ranks_.rank(), ranks_.size());
  parties_.prepare(groups);
  std::vector<Ready> ready;
  for (size_t i = 0; i < calls.size(); ++i) {
    // A rank outside of the group has nothing to do.
    if (std::holds_alternative<CollectiveCall>(*calls[i].work) && groups[i].empty()) continue;
    ready.push_back(
        {calls[i].work, *calls[i].operands, groups[i].empty() ? Party{} : parties_.of(groups[i])});
  }
  return ready;
}

void HostBackend::meet(std::span<const Ready> calls) {
  for (const Ready& call : calls) {
    const auto* collective = std::get_if<CollectiveCall>(call.work);
    if (!collective || call.party.communicator == MPI_COMM_NULL) continue;
    if (collective->group.concurrent)
      ranks_.barrier();
    else
      MPI_Barrier(call.party.communicator);
    return;
  }
}

Elapsed HostBackend::timed(std::span<const Ready> calls) {
  const auto start = Clock::now();
  for (const Ready& call : calls) run(call, scratch_);
  const double elapsed = seconds(start, Clock::now());
  return {elapsed, elapsed};
}

// MPI knows this thread alone, so the kernels get another.
std::pair<Elapsed, Elapsed> HostBackend::time_beside(std::span<const Call> kernels,
                                                     std::span<const Call> collectives, int channels) {
  if (channels != 0) throw BackendError("the host has no channels to limit");
  const auto first = prepare(kernels), second = prepare(collectives);
  std::atomic<int> arrived = 0;
  const auto start_both = [&arrived] {
    ++arrived;
    while (arrived < 2) {
    }
  };
  Elapsed beside;
  Scratch scratch;
  std::thread thread([&] {
    start_both();
    const auto start = Clock::now();
    for (const Ready& call : first) run(call, scratch);
    beside.device_s = beside.host_s = seconds(start, Clock::now());
  });
  meet(second);
  start_both();
  const Elapsed collective = timed(second);
  thread.join();
  return {beside, collective};
}

}  // namespace
}  // namespace host

std::unique_ptr<Backend> make_host_backend(Ranks& ranks) {
#ifdef __GLIBC__
  // MPI takes a buffer of the message's size for a reduction. Given back to the system after each call, as
  // malloc does beyond 32 MiB, it costs more in page faults than the reduction itself.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
#endif
  return std::make_unique<host::HostBackend>(ranks);
}

}  // namespace rehearse::calibration
