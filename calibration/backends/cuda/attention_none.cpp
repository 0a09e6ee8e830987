// Instead of attention.cpp where cuDNN was not found.
#include "calibration/backends/backend.hpp"
#include "calibration/backends/cuda/attention.hpp"

namespace rehearse::calibration::cuda {

namespace {
constexpr const char* kReason = "built without cuDNN, which runs fused attention";
}

struct Attentions::State {};
Attentions::Attentions() = default;
Attentions::~Attentions() = default;

std::string Attentions::version() { return "no cuDNN"; }
std::optional<std::string> Attentions::refuses(const AttentionCall&) { return kReason; }
size_t Attentions::workspace_bytes(const AttentionCall&) { return 0; }
void Attentions::run(const AttentionCall&, std::span<const Tensor>, void*, cudaStream_t) {
  throw BackendError(kReason);
}

}  // namespace rehearse::calibration::cuda
