// Bytes a rank holds: the static parts of each stage, and the activations of one micro-batch in one chunk.
#pragma once
#include "sim/plan/layout.hpp"

namespace rehearse {

struct StaticMemory {  // bytes of one rank
  double weights = 0, gradients = 0, optimizer = 0, buffers = 0, framework = 0;
};
StaticMemory static_memory(const Scenario& scenario, const std::vector<ChunkPlan>& chunks, StageId stage);

struct ActivationMemory {  // bytes of one rank for one micro-batch of one chunk
  double stored = 0;  // kept from F to B: Korthikanti et al. 2022, section 4 (eqs 1-5), by recompute kind
  double transient =
      0;  // extra while B runs: activations of one recomputed layer, gradients of the widest tensors
  double logits = 0;  // last chunk only: fp32 logits and their gradient, live in F and B of the head
};
ActivationMemory activation_memory(const Scenario& scenario, const ChunkPlan& chunk);

}  // namespace rehearse
