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
};

AttentionGraph graph_of(const AttentionCall& call) {
  return call.backward ? attention_backward(call) : attention_forward(call);
}

// A call for all of its kind: what an engine takes does not depend on how many sequences there are, nor on
// their length but for its remainder.
AttentionCall kind_of(AttentionCall call) {
  call.shape.batch = 1;
  const auto rest = int64_t(call.shape.sequence) % 128;
  call.shape.sequence = double(rest == 0 ? 1024 : 896 + rest);
  return call;
}

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
  size_t latest = 0;  // of plans: calls repeat
  std::vector<std::pair<AttentionCall, std::optional<std::string>>> answers;

  Ready& ready(const AttentionCall& call) {
    const auto same = [&](const auto& entry) { return entry.first == call; };
    if (latest < plans.size() && same(plans[latest])) return *plans[latest].second;
    latest = size_t(std::find_if(plans.begin(), plans.end(), same) - plans.begin());
    if (latest < plans.size()) return *plans[latest].second;
    if (!broken.empty()) throw BackendError(broken);
    if (const auto reason = out_of_reach(call)) throw BackendError(*reason);
    AttentionGraph graph = graph_of(call);
    auto made = std::make_unique<Ready>(
        Ready{graph.graph.plan(target), std::move(graph.operands), std::move(graph.scratch)});
    return *plans.emplace_back(call, std::move(made)).second;
  }

  // Why cuDNN has no engine for calls of this kind.
  std::optional<std::string> no_engine(const AttentionCall& kind) {
    try {
      if (graph_of(kind).graph.engines(target) > 0) return std::nullopt;
      return "cuDNN has no engine for it on this device";
    } catch (const BackendError& error) {
      return error.what();
    }
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
  State& state = *state_;
  if (!state.broken.empty()) return state.broken;
  if (auto reason = out_of_reach(call)) return reason;
  const AttentionCall kind = kind_of(call);
  for (const auto& [known, answer] : state.answers)
    if (known == kind) return answer;
  return state.answers.emplace_back(kind, state.no_engine(kind)).second;
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
