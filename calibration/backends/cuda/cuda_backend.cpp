#include "calibration/backends/cuda/cuda_backend.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "calibration/backends/cuda/kernels.hpp"
#include "calibration/work/overloaded.hpp"
#include "calibration/work/rounding.hpp"

// What load.cpp looks for. Throws BackendError.
extern "C" rehearse::calibration::Backend* rehearse_make_cuda_backend(rehearse::calibration::Ranks* ranks) {
  return std::make_unique<rehearse::calibration::cuda::CudaBackend>(*ranks).release();
}

namespace rehearse::calibration::cuda {

namespace {

// Calls on two streams are queued behind the gate, but not more than a stream's queue can take.
constexpr size_t kHeldCalls = 200;

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// How long before the last rank this one began. Processes of a node read the same steady clock; clocks of
// several nodes are not compared.
double before_last(Clock::time_point begun, Ranks& ranks) {
  const double mine = std::chrono::duration<double>(begun.time_since_epoch()).count();
  const auto all = ranks.gather(mine);
  return ranks.per_node() == ranks.size() ? *std::max_element(all.begin(), all.end()) - mine : 0;
}

// How many of cuBLASLt's algorithms are tried for each GEMM.
int gemm_candidates() {
  const char* text = std::getenv("REHEARSE_GEMM_CANDIDATES");
  if (!text) return 1;
  int count = 0;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), count);
  if (error != std::errc() || *end != '\0' || count < 1 || count > 64)
    throw BackendError("REHEARSE_GEMM_CANDIDATES is a number from 1 to 64, not '" + std::string(text) + "'");
  return count;
}

bool is_collective(const Call& call) { return std::holds_alternative<CollectiveCall>(*call.work); }

double element(const OperandSpec& spec, const std::vector<unsigned char>& bytes, int64_t i) {
  const auto as = [&]<class T>(T) {
    T value;
    std::memcpy(&value, bytes.data() + size_t(i) * sizeof(T), sizeof(T));
    return value;
  };
  if (spec.content == Content::mask) return as(uint8_t{});
  if (spec.content == Content::tokens) return as(int32_t{});
  switch (spec.dtype) {
    case DType::fp16:
      return from_fp16(as(uint16_t{}));
    case DType::bf16:
      return from_bf16(as(uint16_t{}));
    case DType::fp8:
      return from_fp8(as(uint8_t{}));
    case DType::fp32:
    case DType::tf32:
      break;
  }
  return as(float{});
}

int64_t bytes_each(const OperandSpec& spec) { return int64_t(spec.bytes() / double(spec.count)); }

}  // namespace

CudaBackend::CudaBackend(Ranks& ranks)
    : ranks_(ranks),
      device_(choose_device(ranks)),
      nvml_(device_.pci_address),
      gemms_(std::make_unique<Gemms>(gemm_candidates())),
      attentions_(std::make_unique<Attentions>()),
      collectives_(std::make_unique<Collectives>(ranks)) {
  lane(1);
}

CudaBackend::~CudaBackend() {
  cudaDeviceSynchronize();
  recording_.clear();  // a graph ends before the communicators that it uses
}

Environment CudaBackend::environment() {
  return describe(device_, nvml_, ranks_, Gemms::version() + ", " + Attentions::version(),
                  Collectives::version());
}

std::optional<std::string> CudaBackend::refuses(const Work& work) const {
  return std::visit(Overloaded{
                        [&](const GemmCall& call) { return gemms_->refuses(call); },
                        [&](const AttentionCall& call) { return attentions_->refuses(call); },
                        [&](const MemoryCall& call) { return refuses_memory(call); },
                        [&](const CollectiveCall& call) { return collectives_->refuses(call); },
                        [&](const LaunchCall&) { return std::optional<std::string>(); },
                        [&](const OverlapCall& call) {
                          const auto kernel =
                              std::visit([&](const auto& k) { return refuses(Work(k)); }, call.kernel);
                          return kernel ? kernel : collectives_->refuses(call.collective);
                        },
                    },
                    work);
}

void* CudaBackend::allocate(size_t bytes) {
  void* data = nullptr;
  check(cudaMalloc(&data, std::max<size_t>(bytes, 1)),
        ("allocate " + std::to_string(bytes >> 20) + " MiB").c_str());
  return data;
}

void CudaBackend::release(void* data) { check(cudaFree(data), "free memory"); }

void CudaBackend::fill(const Tensor& tensor) {
  cuda::fill(tensor, lane(0).stream.get());
  check(cudaStreamSynchronize(lane(0).stream.get()), "fill a buffer");
}

std::vector<double> CudaBackend::read(const Tensor& tensor, int64_t first, int64_t count) {
  if (count <= 0) return {};
  const int64_t each = bytes_each(tensor.spec);
  std::vector<unsigned char> bytes(static_cast<size_t>(count * each));
  check(cudaMemcpy(bytes.data(), static_cast<const char*>(tensor.data) + first * each, bytes.size(),
                   cudaMemcpyDeviceToHost),
        "read a buffer");
  std::vector<double> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) values[size_t(i)] = element(tensor.spec, bytes, i);
  return values;
}

CudaBackend::Lane& CudaBackend::lane(int index) {
  while (int(lanes_.size()) <= index) lanes_.emplace_back();
  return lanes_[size_t(index)];
}

void CudaBackend::have_events(size_t count) {
  while (events_.size() < count) events_.push_back(make_event());
}

void CudaBackend::prepare(const Call& call, Lane& on, int channels) {
  std::visit(
      Overloaded{
          [&](const GemmCall& gemm) {
            void* workspace = on.scratch->of(Gemms::kWorkspace);
            gemms_->prepare(gemm, *call.operands, workspace, on.stream.get());
          },
          [&](const AttentionCall& attention) { on.scratch->of(attentions_->workspace_bytes(attention)); },
          [&](const CollectiveCall& collective) { collectives_->prepare(collective.group, channels); },
          [](const auto&) {},
      },
      *call.work);
}

void CudaBackend::prepare(std::span<const Call> calls, Lane& on, int channels) {
  const Work* last = nullptr;
  for (const Call& call : calls)
    if (call.work != last) prepare(call, on, channels), last = call.work;
}

void CudaBackend::issue(const Call& call, Lane& on, int channels) {
  const cudaStream_t stream = on.stream.get();
  const Operands& operands = *call.operands;
  std::visit(Overloaded{
                 [&](const GemmCall& gemm) {
                   gemms_->run(gemm, operands, on.scratch->of(Gemms::kWorkspace), stream);
                 },
                 [&](const AttentionCall& attention) {
                   void* workspace = on.scratch->of(attentions_->workspace_bytes(attention));
                   attentions_->run(attention, operands, workspace, stream);
                 },
                 [&](const MemoryCall& memory) { run_memory(memory, operands, stream); },
                 [&](const CollectiveCall& collective) {
                   collectives_->run(collective, channels, operands, stream);
                 },
                 [&](const LaunchCall&) { launch_empty(stream); },
                 [](const OverlapCall&) {
                   throw BackendError("a kernel beside a collective is two calls: time_beside");
                 },
             },
             *call.work);
}

// Waits, and looks after the other ranks meanwhile.
void CudaBackend::finish(const Event& last, bool collectives) {
  if (!collectives) return check(cudaEventSynchronize(last.get()), "run the calls");
  auto looked = Clock::now();
  for (;;) {
    const cudaError_t status = cudaEventQuery(last.get());
    if (status == cudaSuccess) break;
    if (status != cudaErrorNotReady) check(status, "run the calls");
    if (seconds_since(looked) < 0.1) continue;
    collectives_->check_health();
    looked = Clock::now();
  }
  collectives_->check_health();
}

// Each kind of call has run once when it is recorded: libraries load code the first time.
void CudaBackend::record_calls(std::span<const Call> calls, Lane& on) {
  recording_.clear();
  const Work* last = nullptr;
  for (const Call& call : calls)
    if (call.work != last) issue(call, on, 0), last = call.work;
  check(cudaStreamSynchronize(on.stream.get()), "run a call before it is recorded");
  auto graph = record_graph(on.stream, [&] {
    for (const Call& call : calls) issue(call, on, 0);
  });
  recording_.keep(calls, on.scratch->generation(), std::move(graph));
  recording_.replay(on.stream);
  check(cudaStreamSynchronize(on.stream.get()), "replay a graph");
}

Elapsed CudaBackend::time(std::span<const Call> calls, Clocking clocking) {
  if (calls.empty()) return {};
  Lane& on = lane(0);
  prepare(calls, on, 0);
  const bool graph = clocking == Clocking::graph;
  if (graph && !recording_.holds(calls, on.scratch->generation())) record_calls(calls, on);
  have_events(2);
  const bool collective = std::any_of(calls.begin(), calls.end(), is_collective);
  if (collective) ranks_.barrier();
  const Event &start = events_[0], &stop = events_[1];
  const auto host = Clock::now();
  record(start, on.stream);
  if (graph)
    recording_.replay(on.stream);
  else
    for (const Call& call : calls) issue(call, on, 0);
  record(stop, on.stream);
  finish(stop, collective);
  const double host_s = seconds_since(host);
  return {seconds_between(start, stop), host_s};
}

std::pair<Elapsed, Elapsed> CudaBackend::time_beside(std::span<const Call> kernels,
                                                     std::span<const Call> collectives, int channels) {
  have_events(5);
  lane(2);
  Lane &left = lane(0), &right = lane(1);
  const Stream& held = lane(2).stream;
  prepare(kernels, left, 0);
  prepare(collectives, right, channels);
  const Event &together = events_[0], &left_start = events_[1], &left_stop = events_[2],
              &right_start = events_[3], &right_stop = events_[4];
  Gate gate(held);
  record(together, held);
  for (Lane* side : {&left, &right}) wait(side->stream, together);
  record(left_start, left.stream);
  record(right_start, right.stream);
  auto host = Clock::now();
  const size_t most = std::max(kernels.size(), collectives.size()), at_first = std::min(most, kHeldCalls / 2);
  for (size_t i = 0; i <= most; ++i) {
    if (i == at_first) {
      ranks_.barrier();
      host = Clock::now();
      gate.open();
    }
    if (i < collectives.size()) issue(collectives[i], right, channels);
    if (i < kernels.size()) issue(kernels[i], left, 0);
    if (i + 1 == collectives.size()) record(right_stop, right.stream);
    if (i + 1 == kernels.size()) record(left_stop, left.stream);
  }
  std::pair<Elapsed, Elapsed> elapsed;
  if (!kernels.empty()) {
    finish(left_stop, false);
    elapsed.first = {seconds_between(left_start, left_stop), seconds_since(host)};
  }
  if (!collectives.empty()) {
    finish(right_stop, true);
    elapsed.second = {seconds_between(right_start, right_stop), seconds_since(host)};
  }
  return elapsed;
}

std::vector<Span> CudaBackend::execute(std::span<const Step> steps) {
  const size_t n = steps.size();
  have_events(2 * n + 1);
  int lanes = 1;
  for (const Step& step : steps) lanes = std::max(lanes, step.lane + 1);
  lane(lanes - 1);
  for (const Step& step : steps)
    if (step.kind == Step::Kind::kernel) prepare(step.call, lane(step.lane), 0);
  collectives_->prepare(steps);
  check(cudaDeviceSynchronize(), "wait for the device");
  ranks_.barrier();
  const Event& origin = events_[2 * n];
  const Clock::time_point begun = Clock::now();
  record(origin, lane(0).stream);
  for (int i = 1; i < lanes; ++i) wait(lane(i).stream, origin);
  for (size_t i = 0; i < n; ++i) {
    const Step& step = steps[i];
    Lane& on = lane(step.lane);
    for (int before : step.after)
      if (steps[size_t(before)].lane != step.lane) wait(on.stream, events_[2 * size_t(before) + 1]);
    record(events_[2 * i], on.stream);
    if (step.kind == Step::Kind::kernel)
      issue(step.call, on, 0);
    else
      collectives_->run(step, on.stream.get());
    record(events_[2 * i + 1], on.stream);
  }
  for (size_t i = 0; i < n; ++i) finish(events_[2 * i + 1], true);
  const double early = before_last(begun, ranks_);
  std::vector<Span> spans;
  spans.reserve(n);
  for (size_t i = 0; i < n; ++i)
    spans.push_back({seconds_between(origin, events_[2 * i]) - early,
                     seconds_between(origin, events_[2 * i + 1]) - early});
  return spans;
}

Health CudaBackend::health() {
  return {nvml_.sm_clock_mhz(), nvml_.power_w(), nvml_.temperature_c(), nvml_.throttled()};
}

}  // namespace rehearse::calibration::cuda
