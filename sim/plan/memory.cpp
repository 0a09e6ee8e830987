#include "sim/plan/memory.hpp"

#include <algorithm>
#include <vector>

#include "sim/plan/model_math.hpp"

namespace rehearse {

namespace {

// What a tensor of a block is cut by. `whole`: hidden-sized ones between the TP regions, which every TP rank
// holds whole unless sequence parallelism cuts them too. `cut`: those inside a TP region.
enum class Cut { whole, cut };

struct StoredTensor {
  double bytes;  // before the cut
  Cut cut;
  bool core;  // of the attention core: dropped and computed again under selective recompute
};

// Widths of elements and sizes that every tensor is made of.
struct Sizes {
  double tokens;       // of one micro-batch on one rank
  double hidden, ffn;  // elements a token
  double query, kv;    // elements a token over all TP ranks
  double scores;       // heads x query tokens x keys, over all TP ranks
  double statistics;   // heads x tokens, over all TP ranks
  double wide;         // bytes of an activation
  double gemm;         // bytes of an activation that is kept as the input of a linear layer
  double whole_share;  // part of a `whole` tensor that a rank holds
  double cut_share;
};

Sizes sizes_of(const Scenario& scenario) {
  const auto& model = scenario.model;
  const auto& layout = scenario.layout;
  const double tokens = static_cast<double>(scenario.batch.micro) * scenario.batch.sequence / layout.cp;
  const double compute = bytes_of(scenario.precision.compute);
  Sizes z{};
  z.tokens = tokens;
  z.hidden = model.hidden;
  z.ffn = model.ffn;
  z.query = static_cast<double>(model.heads) * model.head_dim;
  z.kv = static_cast<double>(std::max(model.kv_heads, layout.tp)) * model.head_dim;
  z.scores = static_cast<double>(model.heads) * tokens * scenario.batch.sequence;
  z.statistics = model.heads * tokens;
  z.wide = std::max(compute, 2.0);  // fp8 is a format of GEMM inputs; all else stays 16 bit
  z.gemm = compute;
  z.cut_share = 1.0 / layout.tp;
  z.whole_share = layout.sequence_parallel ? z.cut_share : 1.0;
  return z;
}

double share(const Sizes& z, const StoredTensor& t) {
  return t.bytes * (t.cut == Cut::cut ? z.cut_share : z.whole_share);
}

double block_input(const Sizes& z) { return z.wide * z.tokens * z.hidden * z.whole_share; }

// Korthikanti et al. 2022, section 4.1, tensor by tensor; for a 16-bit GPT they sum to sbh (34 + 5 a s / h).
// Statistics of the norms and biases are left out, as there. Fused attention keeps one fp32 log-sum-exp a row
// instead of scores, and draws its dropout again from a seed.
std::vector<StoredTensor> block_tensors(const ModelSpec& model, const Sizes& z) {
  const bool gated = model.mlp == Mlp::swiglu;
  const double th = z.tokens * z.hidden;
  const double mask = model.dropout ? 1 : 0;
  std::vector<StoredTensor> tensors{
      {z.wide * th, Cut::whole, false},                             // input of the first norm
      {z.gemm * th, Cut::whole, false},                             // its output, input of QKV
      {z.wide * z.tokens * (z.query + 2 * z.kv), Cut::cut, false},  // Q, K and V
      {z.gemm * z.tokens * z.query, Cut::cut, false},               // input of the projection
      {mask * th, Cut::whole, false},                               // dropout mask after it
      {z.wide * th, Cut::whole, false},                             // input of the second norm
      {z.gemm * th, Cut::whole, false},                             // its output, input of FC1
      {z.wide * z.tokens * z.ffn * (gated ? 2 : 1), Cut::cut,
       false},                                       // output of FC1, input of the activation
      {z.gemm * z.tokens * z.ffn, Cut::cut, false},  // input of FC2
      {mask * th, Cut::whole, false},                // dropout mask after it
  };
  if (model.attention == Attention::fused) {
    tensors.push_back({4 * z.statistics, Cut::cut, true});
  } else {
    tensors.push_back({z.wide * z.scores, Cut::cut, true});  // softmax output
    if (model.dropout)
      tensors.push_back({(1 + z.wide) * z.scores, Cut::cut, true});  // mask and dropped-out scores
  }
  return tensors;
}

struct BlockBytes {
  double kept = 0;  // without the core
  double core = 0;
};

BlockBytes block_bytes(const ModelSpec& model, const Sizes& z) {
  BlockBytes sum;
  for (const auto& t : block_tensors(model, z)) (t.core ? sum.core : sum.kept) += share(z, t);
  return sum;
}

// Gradients alive at once inside a block's backward: those of the input and output of its widest element-wise
// step (activation, or softmax; dQ, dK, dV and dO when fused), beside two hidden-sized ones (residual and
// branch).
double block_gradients(const ModelSpec& model, const Sizes& z) {
  const double activation = z.wide * z.tokens * z.ffn * (model.mlp == Mlp::swiglu ? 3 : 2);
  const double attention =
      model.attention == Attention::fused ? z.wide * z.tokens * 2 * (z.query + z.kv) : 2 * z.wide * z.scores;
  return std::max(activation, attention) * z.cut_share + 2 * block_input(z);
}

// The gradient of the widest matrix stands in the parameters' width until it is added to the gradient buffer.
// (A stack that fuses the addition into the GEMM does without; the estimate keeps it.)
double widest_weight_gradient(const Scenario& scenario, const Sizes& z) {
  const double fc1 = z.ffn * (scenario.model.mlp == Mlp::swiglu ? 2 : 1);
  return std::max(fc1, z.query + 2 * z.kv) * z.hidden * z.cut_share * bytes_of(scenario.precision.params);
}

// Inputs of the four linear layers, and the gradients of their outputs.
double block_for_weights(const ModelSpec& model, const Sizes& z) {
  const double th = z.tokens * z.hidden;
  const double whole = 2 * z.gemm * th + 2 * z.wide * th;
  const double cut = z.tokens * (z.gemm * (z.query + z.ffn) +
                                 z.wide * (z.query + 2 * z.kv + z.ffn * (model.mlp == Mlp::swiglu ? 2 : 1)));
  return whole * z.whole_share + cut * z.cut_share;
}

double block_transient(const Scenario& scenario, const ChunkPlan& chunk, const Sizes& z,
                       const BlockBytes& block) {
  if (chunk.layers == 0) return 0;
  double recomputed = 0;
  if (chunk.recomputed_layers > 0)
    recomputed = block.kept + block.core - block_input(z);
  else if (scenario.recompute.kind == RecomputeKind::selective)
    recomputed = block.core;
  return recomputed + block_gradients(scenario.model, z) + widest_weight_gradient(scenario, z);
}

double stored_of_head(const Sizes& z) { return (z.wide + z.gemm) * z.tokens * z.hidden * z.whole_share; }

// Of the word embedding or the head matrix.
double word_gradient(const Scenario& scenario, const Sizes& z) {
  const double matrix = padded_vocab(scenario.model, scenario.layout.tp) * z.hidden * z.cut_share;
  return matrix * bytes_of(scenario.precision.params);
}

double logit_count(const Scenario& scenario, const Sizes& z) {
  return z.tokens * padded_vocab(scenario.model, scenario.layout.tp) * z.cut_share;
}

// Bytes an element of one parameter's optimizer state: two moments, and a master copy where the parameters
// are narrower than it.
double optimizer_bytes(const Precision& precision) {
  const double state = bytes_of(precision.optimizer);
  const bool master = bytes_of(precision.params) < state;
  return (master ? 3 : 2) * state;
}

double communication_buffers(const Scenario& scenario, const std::vector<ChunkPlan>& chunks, StageId stage,
                             double gradients) {
  const auto& layout = scenario.layout;
  const auto z = sizes_of(scenario);
  double bytes = 0;
  if (gradient_ranks(layout) > 1) bytes += std::min(scenario.grad_bucket.value, gradients);
  if (layout.pp > 1) {
    bool receives_forward = false, receives_backward = false;
    for (const auto& chunk : chunks) {
      if (chunk.stage != stage) continue;
      receives_forward = receives_forward || !chunk.embedding;
      receives_backward = receives_backward || !chunk.head;
    }
    bytes += (receives_forward + receives_backward) * block_input(z);
  }
  if (layout.sequence_parallel && layout.tp > 1) bytes += z.wide * z.tokens * z.hidden;
  return bytes;
}

}  // namespace

StaticMemory static_memory(const Scenario& scenario, const std::vector<ChunkPlan>& chunks, StageId stage) {
  double parameters = 0;
  for (const auto& chunk : chunks)
    if (chunk.stage == stage) parameters += chunk_parameters(scenario, chunk).total();
  const auto& precision = scenario.precision;
  const auto& layout = scenario.layout;
  const double shards = layout.zero >= 1 ? gradient_ranks(layout) : 1;
  StaticMemory memory;
  memory.weights = parameters * bytes_of(precision.params);
  memory.gradients = parameters * bytes_of(precision.grads);
  memory.optimizer = parameters * optimizer_bytes(precision) / shards;
  memory.buffers = communication_buffers(scenario, chunks, stage, memory.gradients);
  memory.framework = scenario.profile ? scenario.profile->framework_bytes.value : 0;
  return memory;
}

ActivationMemory activation_memory(const Scenario& scenario, const ChunkPlan& chunk) {
  const auto& model = scenario.model;
  const auto z = sizes_of(scenario);
  const auto block = block_bytes(model, z);
  const bool selective = scenario.recompute.kind == RecomputeKind::selective;
  const double whole_layer = block.kept + (selective ? 0 : block.core);
  const int kept_layers = chunk.layers - chunk.recomputed_layers;

  ActivationMemory memory;
  memory.stored = kept_layers * whole_layer + chunk.recomputed_layers * block_input(z);
  if (chunk.embedding && model.dropout) memory.stored += z.tokens * z.hidden * z.whole_share;  // mask
  if (chunk.head) memory.stored += stored_of_head(z);

  memory.weight = chunk.layers * block_for_weights(model, z);
  if (chunk.head) memory.weight += z.gemm * z.tokens * z.hidden * z.whole_share;
  memory.transient = block_transient(scenario, chunk, z, block);
  if (chunk.embedding)  // made when the backward has freed all else of this micro-batch
    memory.transient = std::max(memory.transient, word_gradient(scenario, z) - memory.stored);
  if (chunk.head) {
    const double logits = logit_count(scenario, z);
    const double narrow_gradient = z.wide < 4 ? z.wide * logits : 0;
    memory.logits = 4 * logits;
    memory.transient =
        std::max(memory.transient, narrow_gradient + word_gradient(scenario, z) + block_input(z));
  }
  return memory;
}

}  // namespace rehearse
