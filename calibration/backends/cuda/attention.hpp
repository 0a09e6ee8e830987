// Fused attention, where cuDNN was found when this was built.
#pragma once
#include <cuda_runtime_api.h>

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "calibration/work/operands.hpp"

namespace rehearse::calibration::cuda {

class Attentions {
 public:
  Attentions();
  ~Attentions();
  Attentions(const Attentions&) = delete;
  Attentions& operator=(const Attentions&) = delete;

  static std::string version();  // "cuDNN 9.19.0", or "no cuDNN"

  // Why it does not run; where that is so, attention is measured as unfused: batched GEMMs and a softmax.
  std::optional<std::string> refuses(const AttentionCall& call);
  size_t workspace_bytes(const AttentionCall& call);
  void run(const AttentionCall& call, std::span<const Tensor> operands, void* workspace, cudaStream_t stream);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rehearse::calibration::cuda
