// Bytes a rank holds: the static parts of each stage, and the activations of one micro-batch in one chunk.
#pragma once
#include "sim/plan/layout.hpp"

namespace rehearse {

// Bytes of one rank. Per parameter: its width, the gradient's, and two moments in the optimizer's width with
// a master copy where parameters are narrower (bf16: 2 + 4 + 12 = 18). ZeRO-1 divides the optimizer's part by
// the ranks that reduce a gradient together (gradient_ranks). buffers is an estimate: one gradient bucket (dp
// x cp > 1), one boundary message for each direction a stage receives from (pp > 1), and one gathered
// hidden-sized tensor (sequence parallelism). framework is the profile's constant, 0 where the scenario has
// no profile.
struct StaticMemory {
  double weights = 0, gradients = 0, optimizer = 0, buffers = 0, framework = 0;
};
StaticMemory static_memory(const Scenario& scenario, const std::vector<ChunkPlan>& chunks, StageId stage);

// Bytes of one rank for one micro-batch of one chunk.
struct ActivationMemory {
  // Kept from F to B: Korthikanti et al. 2022, section 4 (eqs 1-5), by recompute kind.
  double stored = 0;
  // Kept of it from I to W where the backward is split: the inputs of the linear layers and the gradients of
  // their outputs, 32 s b h of a 16-bit GPT (Qi et al. 2023, section 3.2), of recomputed layers too.
  double weight = 0;
  // Extra while B runs: what one layer recomputes, the gradients of its widest activations and of its widest
  // matrix; or what the head or the word embedding needs, if that is more.
  double transient = 0;
  // Last chunk only, kept from F to B: the fp32 logits, in which softmax and gradient are formed in place.
  double logits = 0;
};
ActivationMemory activation_memory(const Scenario& scenario, const ChunkPlan& chunk);

}  // namespace rehearse
