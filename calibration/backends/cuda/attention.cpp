#include "calibration/backends/cuda/attention.hpp"

#include <algorithm>

#include "calibration/backends/cuda/attention_graph.hpp"
#include "calibration/backends/cuda/cuda.hpp"

namespace rehearse::calibration::cuda {

namespace {

constexpr size_t kOldest = 90600;        // before, the caller had to clear the sums of dQ
constexpr size_t kOddSequences = 91600;  // before, backward needed padding masks for them

struct Ready {
  CudnnPlan plan;
  std::vector<int64_t> operands;
  std::vector<std::pair<int64_t, int64_t>> scratch;
  std::string refused;
};

int64_t aligned(int64_t bytes) { return (bytes + 255) / 256 * 256; }

std::optional<std::string> out_of_reach(const AttentionCall& call) {
  if (!is_16_bit(call.dtype)) return "fused attention takes fp16 and bf16";
  const size_t version = cudnnGetVersion();
  if (version < kOldest) return "fused attention needs cuDNN 9.6 or newer";
  if (call.backward && version < kOddSequences && int64_t(call.shape.sequence) % 128 != 0)
    return "fused attention backward needs cuDNN 9.16 or newer for sequences that are not a multiple of 128";
  return std::nullopt;
}

}  // namespace

struct Attentions::State {
  CudnnTarget target;
  std::string broken;  // why cuDNN did not start
  std::vector<std::pair<AttentionCall, std::unique_ptr<Ready>>> plans;

  Ready& ready(const AttentionCall& call) {
    const auto same = [&](const auto& entry) { return entry.first == call; };
    if (const auto known = std::find_if(plans.rbegin(), plans.rend(), same); known != plans.rend())
      return *known->second;
    auto made = std::make_unique<Ready>();
    if (const auto reason = broken.empty() ? out_of_reach(call) : std::optional(broken)) {
      made->refused = *reason;
    } else {
      try {
        AttentionGraph graph = call.backward ? attention_backward(call) : attention_forward(call);
        made->plan = graph.graph.plan(target);
        made->operands = std::move(graph.operands);
        made->scratch = std::move(graph.scratch);
      } catch (const BackendError& error) {
        made->refused = error.what();
      }
    }
    return *plans.emplace_back(call, std::move(made)).second;
  }
};

Attentions::Attentions() : state_(std::make_unique<State>()) {
  const cudnnStatus_t status = cudnnCreate(&state_->target.handle);
  if (status != CUDNN_STATUS_SUCCESS)
    state_->broken = std::string("cuDNN does not start: ") + cudnnGetErrorString(status);
}
Attentions::~Attentions() {
  state_->plans.clear();
  if (state_->broken.empty()) cudnnDestroy(state_->target.handle);
}

std::string Attentions::version() {
  const size_t v = cudnnGetVersion();
  return "cuDNN " + std::to_string(v / 10000) + "." + std::to_string(v / 100 % 100) + "." +
         std::to_string(v % 100);
}

std::optional<std::string> Attentions::refuses(const AttentionCall& call) {
  const Ready& ready = state_->ready(call);
  if (ready.refused.empty()) return std::nullopt;
  return ready.refused;
}

size_t Attentions::workspace_bytes(const AttentionCall& call) {
  const Ready& ready = state_->ready(call);
  int64_t bytes = aligned(ready.plan.workspace_bytes());
  for (const auto& [id, size] : ready.scratch) bytes += aligned(size);
  return size_t(bytes);
}

void Attentions::run(const AttentionCall& call, std::span<const Tensor> operands, void* workspace,
                     cudaStream_t stream) {
  Ready& ready = state_->ready(call);
  if (!ready.refused.empty()) throw BackendError(ready.refused);
  std::vector<std::pair<int64_t, void*>> tensors;
  for (size_t i = 0; i < ready.operands.size(); ++i)
    tensors.emplace_back(ready.operands[i], operands[i].data);
  char* next = static_cast<char*>(workspace) + aligned(ready.plan.workspace_bytes());
  for (const auto& [id, bytes] : ready.scratch) {
    tensors.emplace_back(id, next);
    next += aligned(bytes);
  }
  check_cudnn(cudnnSetStream(state_->target.handle, stream), "set the stream");
  ready.plan.run(state_->target.handle, tensors, workspace);
}

}  // namespace rehearse::calibration::cuda
