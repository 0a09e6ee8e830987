// Models and scenarios of published papers, as the plan room's oracles need them.
#pragma once
#include "sim/spec/scenario.hpp"

namespace rehearse::oracle {

// GPT of the Megatron papers: vocabulary 51,200, sequence 2048, learned positions, tied embeddings.
inline ModelSpec gpt(int layers, int hidden, int heads) {
  return {.layers = layers,
          .hidden = hidden,
          .heads = heads,
          .kv_heads = heads,
          .head_dim = hidden / heads,
          .ffn = 4 * hidden,
          .mlp = Mlp::gelu,
          .vocab = 51200,
          .sequence = 2048};
}

inline ModelSpec llama(int layers, int hidden, int heads, int kv_heads, int ffn, int vocab) {
  return {.layers = layers,
          .hidden = hidden,
          .heads = heads,
          .kv_heads = kv_heads,
          .head_dim = hidden / heads,
          .ffn = ffn,
          .mlp = Mlp::swiglu,
          .vocab = vocab,
          .sequence = 4096,
          .position = PositionEmbedding::rope,
          .tied_embeddings = false,
          .attention = Attention::fused,
          .dropout = false};
}

inline Scenario scenario(ModelSpec model, LayoutSpec layout, BatchSpec batch) {
  Scenario s;
  s.model = std::move(model);
  s.layout = std::move(layout);
  s.batch = batch;
  return s;
}

}  // namespace rehearse::oracle
