#include "sim/io/model.hpp"

namespace rehearse {

namespace {

constexpr Named<Mlp> kMlps[] = {{"gelu", "two matrices, GELU between", Mlp::gelu},
                                {"swiglu", "three matrices, gated by SiLU", Mlp::swiglu}};
constexpr Named<PositionEmbedding> kPositions[] = {
    {"learned", "a table of positions", PositionEmbedding::learned},
    {"rope", "rotary", PositionEmbedding::rope},
    {"none", "no positions", PositionEmbedding::none}};
constexpr Named<Attention> kAttentions[] = {
    {"fused", "one kernel", Attention::fused},
    {"unfused", "batched GEMMs, softmax, dropout", Attention::unfused}};

// 4 x hidden, or 8/3 x hidden rounded up to 256 for the three matrices of SwiGLU (Touvron et al. 2023,
// section 2.2).
int default_ffn(const ModelSpec& model) {
  if (model.mlp == Mlp::gelu) return 4 * model.hidden;
  const int wanted = (8 * model.hidden + 2) / 3;
  return (wanted + 255) / 256 * 256;
}

void fill_defaults(MapReader& reader, ModelSpec& model) {
  if (!reader.has("kv_heads")) model.kv_heads = model.heads;
  if (!reader.has("ffn")) model.ffn = default_ffn(model);
  if (reader.has("head_dim") || model.heads == 0) return;
  model.head_dim = model.hidden / model.heads;
  if (model.hidden % model.heads != 0)
    reader.problem(reader.node().find("heads")->mark, "heads", "E-MODEL-HEADS",
                   reader.path_of("hidden") + " " + std::to_string(model.hidden) + " is not a multiple of " +
                       std::to_string(model.heads) + " heads",
                   "give head_dim where heads x head_dim is not hidden");
}

// The keys of a config.json of Hugging Face say the same in other words; what they do not say stays as it is.
std::string as_model(const DocNode& config) {
  const auto word = [&](const char* theirs, const std::string& ours) {
    const DocNode* value = config.find(theirs);
    return value && value->kind == NodeKind::scalar ? ours + ": " + value->text + ", " : "";
  };
  const DocNode* act = config.find("hidden_act");
  const bool gated = act && act->text == "silu";
  return "model={" + word("num_hidden_layers", "layers") + word("hidden_size", "hidden") +
         word("num_attention_heads", "heads") + word("num_key_value_heads", "kv_heads") +
         word("head_dim", "head_dim") + word("intermediate_size", "ffn") + word("vocab_size", "vocab") +
         word("max_position_embeddings", "sequence") + word("tie_word_embeddings", "tied_embeddings") +
         (gated ? "mlp: swiglu, position: rope, dropout: false}" : "mlp: gelu}");
}

bool refuse_foreign_model(const DocNode& node, const std::string& path, Problems& problems) {
  if (!node.find("num_hidden_layers") || !node.find("hidden_size")) return false;
  bool experts = false;
  for (const char* key : {"num_local_experts", "num_experts", "n_routed_experts"})
    experts |= node.find(key) != nullptr;
  problems.add(node.mark, path, "E-NOT-MODELLED",
               std::string("a config.json of Hugging Face is not read yet") +
                   (experts ? ", and its experts are not modelled" : ""),
               experts ? "mixtures of experts cannot be rehearsed" : "try --set '" + as_model(node) + "'");
  return true;
}

}  // namespace

ModelSpec read_model(const DocNode& node, const std::string& path, Problems& problems) {
  ModelSpec model;
  if (refuse_foreign_model(node, path, problems)) return model;
  MapReader reader(node, path, problems);
  reader.optional("name", model.name);
  reader.required("layers", model.layers, IntRange{1, 10'000});
  reader.required("hidden", model.hidden, IntRange{1, 1'000'000});
  reader.required("heads", model.heads, IntRange{1, 16'384});
  reader.optional("kv_heads", model.kv_heads, IntRange{1, 16'384});
  reader.optional("head_dim", model.head_dim, IntRange{1, 16'384});
  reader.optional("ffn", model.ffn, IntRange{1, 10'000'000});
  reader.optional("mlp", model.mlp, kMlps);
  reader.required("vocab", model.vocab, IntRange{1, 100'000'000});
  reader.optional("position", model.position, kPositions);
  if (model.position == PositionEmbedding::learned)
    reader.required("sequence", model.sequence, IntRange{1, 100'000'000});
  else
    reader.optional("sequence", model.sequence, IntRange{1, 100'000'000});
  reader.optional("tied_embeddings", model.tied_embeddings);
  reader.optional("attention", model.attention, kAttentions);
  reader.optional("dropout", model.dropout);
  reader.refuse_not_modelled(
      {"experts", "topk", "moe_ffn", "shared_expert_ffn", "shared_experts", "capacity_factor", "moe_layers",
       "dense_layers"},
      "without it the model is dense, which is another model: mixtures of experts cannot be rehearsed");
  reader.refuse_not_modelled({"q_lora_rank", "kv_lora_rank", "window"},
                             "without it the attention is another one, of other sizes and times");
  reader.finish();
  fill_defaults(reader, model);
  return model;
}

ModelSpec load_model(const std::string& path) {
  Problems problems;
  const DocNode root = parse_yaml_file(path);
  ModelSpec model = read_model(root, "", problems);
  problems.raise();
  return model;
}

}  // namespace rehearse
