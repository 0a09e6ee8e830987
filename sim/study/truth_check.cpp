#include "sim/study/truth_check.hpp"

#include <algorithm>

namespace rehearse {
namespace {

enum class Kind {
  word,
  count,   // from 1
  number,  // above 0
  flag,
  scalar,    // a word or a number
  anything,  // not looked into
};

struct Key {
  std::string_view name;
  Kind kind;
  int64_t most = 0;  // of a count
};

constexpr int64_t kMostGpus = 1'000'000;
constexpr int64_t kMostSize = 100'000'000;  // of a dimension of a model

constexpr Key kRowKeys[] = {{"id", Kind::word},
                            {"family", Kind::word},
                            {"group", Kind::word},
                            {"kind", Kind::word},
                            {"tier", Kind::word},
                            {"core", Kind::flag},
                            {"source", Kind::anything},
                            {"gpu", Kind::word},
                            {"gpus", Kind::count, kMostGpus},
                            {"gpus_per_node", Kind::count, kMostGpus},
                            {"network", Kind::word},
                            {"model", Kind::anything},   // kModelKeys
                            {"layout", Kind::anything},  // kLayoutKeys
                            {"measured", Kind::anything},
                            {"target_iteration_s", Kind::number},
                            {"derived", Kind::anything},
                            {"peer_predictions", Kind::anything},
                            {"sources", Kind::anything},
                            {"conventions", Kind::anything},
                            {"flop_convention", Kind::anything},
                            {"confidence", Kind::anything},
                            {"unknowns", Kind::anything},
                            {"notes", Kind::anything}};

constexpr Key kModelKeys[] = {{"name", Kind::word},
                              {"params_b", Kind::number},
                              {"layers", Kind::count, 100'000},
                              {"hidden", Kind::count, kMostSize},
                              {"heads", Kind::count, kMostSize},
                              {"kv_heads", Kind::count, kMostSize},
                              {"head_dim", Kind::count, kMostSize},
                              {"ffn", Kind::count, kMostSize},
                              {"mlp", Kind::word},
                              {"vocab", Kind::count, kMostSize},
                              {"seq", Kind::count, kMostSize},
                              {"tied_embeddings", Kind::flag},
                              {"parallel_block", Kind::flag},
                              {"sliding_window", Kind::scalar},
                              {"sliding_pattern", Kind::word},
                              {"attention_type", Kind::word},
                              {"experts", Kind::count, kMostSize},
                              {"topk", Kind::count, kMostSize},
                              {"moe", Kind::scalar},
                              {"moe_ffn", Kind::count, kMostSize},
                              {"shared_expert_ffn", Kind::count, kMostSize},
                              {"dense_layers", Kind::count, 100'000},
                              {"kv_lora", Kind::count, kMostSize},
                              {"q_lora", Kind::count, kMostSize},
                              {"qk_head_dim", Kind::count, kMostSize},
                              {"qk_rope_dim", Kind::count, kMostSize},
                              {"v_head_dim", Kind::count, kMostSize},
                              {"notes", Kind::anything}};

constexpr Key kLayoutKeys[] = {{"tp", Kind::count, kMostGpus},
                               {"pp", Kind::count, kMostGpus},
                               {"dp", Kind::count, kMostGpus},
                               {"cp", Kind::count, kMostGpus},
                               {"ep", Kind::count, kMostGpus},
                               {"etp", Kind::count, kMostGpus},
                               {"vpp", Kind::count, 100'000},
                               {"mbs", Kind::count, kMostSize},
                               {"gbs", Kind::count, kMostSize},
                               {"microbatches", Kind::count, kMostSize},
                               {"grad_accum", Kind::count, kMostSize},
                               {"sp", Kind::flag},
                               {"zero", Kind::scalar},
                               {"recompute", Kind::word},
                               {"schedule", Kind::word},
                               {"precision", Kind::word},
                               {"attention", Kind::word},
                               {"overlap", Kind::anything},  // kOverlapKeys
                               {"scatter_gather", Kind::flag},
                               {"layers_per_stage", Kind::anything},
                               {"stage_note", Kind::word},
                               {"product_mismatch", Kind::word},
                               {"capacity_factor", Kind::number},
                               {"dispatcher", Kind::word},
                               {"cp_comm", Kind::word},
                               {"cross_entropy_fusion", Kind::flag},
                               {"compile", Kind::flag},
                               {"ddp", Kind::word},
                               {"framework", Kind::word},
                               {"fsdp_group", Kind::count, kMostGpus},
                               {"replica_groups", Kind::count, kMostGpus},
                               {"recipe_match", Kind::anything},
                               {"notes", Kind::anything}};

constexpr Key kOverlapKeys[] = {{"grad_reduce", Kind::flag},
                                {"param_gather", Kind::flag},
                                {"tp_comm", Kind::flag},
                                {"p2p", Kind::flag},
                                {"moe_a2a", Kind::flag}};

void check_value(const DocNode& node, const std::string& path, const Key& key, Problems& problems) {
  switch (key.kind) {
    case Kind::word: {
      std::string text;
      read_value(node, path, problems, text);
      return;
    }
    case Kind::count: {
      int64_t value = 0;
      read_value(node, path, problems, value, IntRange{1, key.most});
      return;
    }
    case Kind::number: {
      double value = 0;
      read_value(node, path, problems, value, NumberRange{0, 1e15, true});
      return;
    }
    case Kind::flag: {
      bool value = false;
      read_value(node, path, problems, value);
      return;
    }
    case Kind::scalar:
      if (node.kind != NodeKind::scalar)
        problems.add(node.mark, path, "E-TYPE", path + " must be a word or a number, not " + describe(node));
      return;
    case Kind::anything:
      return;
  }
}

// An empty value says no more than a key that is left out.
template <size_t N>
void check_keys(const DocNode& map, const std::string& path, const Key (&keys)[N], Problems& problems) {
  if (map.kind != NodeKind::map) {
    problems.add(map.mark, path, "E-TYPE", path + " must be a mapping, not " + describe(map));
    return;
  }
  for (const DocEntry& entry : map.entries) {
    const auto key =
        std::find_if(std::begin(keys), std::end(keys), [&](const Key& k) { return k.name == entry.key; });
    if (key == std::end(keys)) {
      std::vector<std::string_view> names;
      for (const Key& k : keys) names.push_back(k.name);
      problems.add(entry.mark, path + "." + entry.key, "E-KEY-UNKNOWN",
                   "no row of measured steps has the key " + quote(entry.key) + " here",
                   suggest(entry.key, names));
    } else if (entry.value.kind != NodeKind::null) {
      check_value(entry.value, path + "." + entry.key, *key, problems);
    }
  }
}

void check_word(const DocNode& row, const char* key, const std::string& path,
                std::vector<std::string_view> names, Problems& problems) {
  const DocNode* node = row.find(key);
  if (node && node->kind == NodeKind::scalar) read_choice(*node, path + "." + key, problems, names);
}

}  // namespace

void check_truth_row(const DocNode& row, const std::string& path, Problems& problems) {
  check_keys(row, path, kRowKeys, problems);
  if (row.kind != NodeKind::map) return;
  for (const char* key : {"id", "family", "kind", "tier"})
    if (const DocNode* node = row.find(key); !node || node->kind == NodeKind::null)
      problems.add(row.mark, path + "." + key, "E-KEY-MISSING", path + " has no " + quote(key));
  check_word(row, "kind", path,
             {"iteration", "oom", "memory", "layer_time", "pipeline_part", "ablation", "scaling", "trend"},
             problems);
  check_word(row, "tier", path, {"A", "B", "C"}, problems);
  if (const DocNode* model = row.find("model")) check_keys(*model, path + ".model", kModelKeys, problems);
  const DocNode* layout = row.find("layout");
  if (!layout) return;
  check_keys(*layout, path + ".layout", kLayoutKeys, problems);
  if (const DocNode* overlap = layout->find("overlap"); overlap && overlap->kind == NodeKind::map)
    check_keys(*overlap, path + ".layout.overlap", kOverlapKeys, problems);
}

}  // namespace rehearse
