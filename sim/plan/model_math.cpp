#include "sim/plan/model_math.hpp"

#include <algorithm>

namespace rehearse {

// gelu models are GPT-like: every linear layer has a bias, norms are LayerNorm (scale and shift). swiglu
// models are Llama-like: no biases, RMSNorm (scale alone).
static bool has_biases(const ModelSpec& model) { return model.mlp == Mlp::gelu; }
static double norm_parameters(const ModelSpec& model) {
  return (has_biases(model) ? 2.0 : 1.0) * model.hidden;
}

int padded_vocab(const ModelSpec& model, int tp) {
  const int multiple = 128 * tp;
  return (model.vocab + multiple - 1) / multiple * multiple;
}

namespace {

// Parameters of one block on one TP rank. Column-parallel: QKV, FC1 with their biases. Row-parallel:
// projection, FC2, whose biases every rank holds whole, like the norms (Shoeybi et al. 2019, section 3).
struct BlockShare {
  double matrices = 0, sharded_biases = 0, replicated = 0;
};

BlockShare block_share(const ModelSpec& model, int tp) {
  const double h = model.hidden;
  const double query = static_cast<double>(model.heads) / tp * model.head_dim;
  // Fewer KV heads than TP ranks: each rank still needs one whole head.
  const double kv = std::max(static_cast<double>(model.kv_heads) / tp, 1.0) * model.head_dim;
  const double fc1 = (model.mlp == Mlp::swiglu ? 2.0 : 1.0) * model.ffn / tp;
  const double fc2 = static_cast<double>(model.ffn) / tp;
  BlockShare share;
  share.matrices = h * (query + 2 * kv) + query * h + h * fc1 + fc2 * h;
  share.replicated = 2 * norm_parameters(model);
  if (has_biases(model)) {
    share.sharded_biases = query + 2 * kv + fc1;
    share.replicated += 2 * h;
  }
  return share;
}

// Forward FLOPs of one token; a multiply-add is 2.
struct TokenFlops {
  double matrices = 0;  // of one block
  double core = 0;      // of one block: QK^T and softmax x V over the sequence
  double head = 0;
};

TokenFlops token_flops(const Scenario& scenario) {
  const auto& model = scenario.model;
  const double seen = scenario.mfu_attention_causal ? 0.5 : 1.0;
  TokenFlops flops;
  flops.matrices = 2 * block_share(model, 1).matrices;
  flops.core = 4.0 * scenario.batch.sequence * model.heads * model.head_dim * seen;
  flops.head = 2.0 * model.hidden * padded_vocab(model, scenario.layout.tp);
  return flops;
}

double step_tokens(const Scenario& scenario) {
  return static_cast<double>(scenario.batch.global) * scenario.batch.sequence;
}

}  // namespace

double block_parameters(const ModelSpec& model) {
  const auto whole = block_share(model, 1);
  return whole.matrices + whole.sharded_biases + whole.replicated;
}

double embedding_parameters(const ModelSpec& model, int padded_vocab) {
  const double positions = model.position == PositionEmbedding::learned ? model.sequence : 0;
  return (padded_vocab + positions) * model.hidden;
}

double head_parameters(const ModelSpec& model, int padded_vocab) {
  const double matrix = model.tied_embeddings ? 0.0 : static_cast<double>(padded_vocab) * model.hidden;
  return norm_parameters(model) + matrix;
}

double total_parameters(const ModelSpec& model, int padded_vocab) {
  return model.layers * block_parameters(model) + embedding_parameters(model, padded_vocab) +
         head_parameters(model, padded_vocab);
}

ChunkParameters chunk_parameters(const Scenario& scenario, const ChunkPlan& chunk) {
  const auto& model = scenario.model;
  const int tp = scenario.layout.tp;
  const auto block = block_share(model, tp);
  const double word_share = static_cast<double>(padded_vocab(model, tp)) / tp * model.hidden;
  ChunkParameters p;
  p.sharded = chunk.layers * (block.matrices + block.sharded_biases);
  p.replicated = chunk.layers * block.replicated;
  if (chunk.embedding) {
    p.embedding += word_share;
    if (model.position == PositionEmbedding::learned)
      p.replicated += static_cast<double>(model.sequence) * model.hidden;
  }
  if (chunk.head) {
    p.replicated += norm_parameters(model);
    // The first stage uses the table it has; of two copies of the model both ends hold one.
    const bool beside_embedding =
        chunk.stage.value == 0 || scenario.layout.placement == Placement::bidirectional;
    if (!model.tied_embeddings || !beside_embedding) p.embedding += word_share;
  }
  p.sharded += p.embedding;
  return p;
}

StageMessage stage_message(const Scenario& s) {
  const double whole =
      double(s.batch.micro) * s.batch.sequence * s.model.hidden * bytes_of(s.precision.params);
  const bool sliced = s.layout.sequence_parallel || s.layout.scatter_gather;
  return {whole, sliced ? whole / s.layout.tp : whole};
}

// Narayanan et al. 2021, section 5.1: 72 B s l h^2 (1 + s/6h + V/12lh) for a GPT without recompute, written
// per matrix.
Flop model_flops(const Scenario& scenario) {
  const auto token = token_flops(scenario);
  const double forward = scenario.model.layers * (token.matrices + token.core) + token.head;
  return Flop(3 * forward * step_tokens(scenario));
}

// Full: one more forward of the block. Selective: of the attention core alone (Korthikanti et al. 2022,
// section 5).
Flop recompute_flops(const Scenario& scenario) {
  const auto token = token_flops(scenario);
  if (scenario.recompute.kind == RecomputeKind::selective)
    return Flop(scenario.model.layers * token.core * step_tokens(scenario));
  double layers = 0;
  for (const auto& chunk : plan_chunks(scenario)) layers += chunk.recomputed_layers;
  return Flop(layers * (token.matrices + token.core) * step_tokens(scenario));
}

}  // namespace rehearse
