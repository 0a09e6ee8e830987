#include "sim/io/scenario_parts.hpp"

#include <algorithm>

#include "sim/spec/names.hpp"

namespace rehearse {

namespace {

constexpr Named<DType> kComputeTypes[] = {{"fp32", "", DType::fp32},
                                          {"tf32", "", DType::tf32},
                                          {"fp16", "", DType::fp16},
                                          {"bf16", "", DType::bf16},
                                          {"fp8", "", DType::fp8}};
constexpr Named<DType> kStoredTypes[] = {
    {"fp32", "", DType::fp32}, {"fp16", "", DType::fp16}, {"bf16", "", DType::bf16}};

constexpr Precision word(DType compute, DType params) { return {compute, params, DType::fp32, DType::fp32}; }
struct PrecisionWord {
  std::string_view name;
  Precision value;
};
constexpr PrecisionWord kPrecisionWords[] = {{"bf16", word(DType::bf16, DType::bf16)},
                                             {"fp16", word(DType::fp16, DType::fp16)},
                                             {"fp8", word(DType::fp8, DType::bf16)},
                                             {"fp32", word(DType::fp32, DType::fp32)}};

constexpr Named<RecomputeKind> kRecomputeKinds[] = {
    {"none", "keep all activations", RecomputeKind::none},
    {"selective", "recompute the attention core", RecomputeKind::selective},
    {"full", "keep only the input of each layer", RecomputeKind::full}};

int place_in(const std::vector<Axis>& order, Axis axis) {
  return static_cast<int>(std::find(order.begin(), order.end(), axis) - order.begin());
}

// The axes of "tp-pp-dp"; empty where a problem was noted.
std::vector<Axis> read_axes(const DocNode& node, Problems& problems) {
  const std::string key = "layout.order",
                    shape = "axes from inside out, as in --set layout.order=tp-cp-pp-ep-dp";
  const auto refuse = [&](const std::string& message, const std::string& hint) {
    problems.add(node.mark, key, "E-LAYOUT-ORDER", message, hint);
    return std::vector<Axis>{};
  };
  if (node.kind != NodeKind::scalar) return refuse(key + " must be a word, not " + describe(node), shape);
  std::vector<Axis> order;
  for (const auto name : split(node.text, '-')) {
    const auto* axis = find_named(kAxisNames, name);
    if (!axis) return refuse(key + ": " + quote(name) + " is not an axis", shape);
    if (std::find(order.begin(), order.end(), axis->value) != order.end())
      return refuse(key + ": " + quote(name) + " stands twice", shape);
    order.push_back(axis->value);
  }
  if (std::find(order.begin(), order.end(), Axis::ep) != order.end() &&
      place_in(order, Axis::ep) + 1 != place_in(order, Axis::dp))
    return refuse(key + ": ep must stand directly inside dp", "write ...-ep-dp-...");
  return order;
}

// All five axes: those that were left out, being of size 1, go where they do no harm (tp and cp innermost, ep
// inside dp).
void read_order(const DocNode& node, LayoutSpec& layout, Problems& problems) {
  auto order = read_axes(node, problems);
  if (order.empty()) return;
  const std::pair<Axis, int> sizes[] = {
      {Axis::tp, layout.tp}, {Axis::cp, layout.cp}, {Axis::pp, layout.pp}, {Axis::dp, layout.dp}};
  for (const auto& [axis, size] : sizes) {
    if (std::find(order.begin(), order.end(), axis) != order.end()) continue;
    if (size != 1)
      problems.add(node.mark, "layout.order", "E-LAYOUT-ORDER",
                   "layout.order leaves out " + std::string(name_of(kAxisNames, axis)) +
                       (size == 0 ? ", whose size is derived" : ", whose size is " + std::to_string(size)),
                   "only axes of size 1 may be left out");
    const bool inner = axis == Axis::tp || axis == Axis::cp;
    order.insert(inner ? order.begin() : order.end(), axis);
  }
  if (std::find(order.begin(), order.end(), Axis::ep) == order.end())
    order.insert(order.begin() + place_in(order, Axis::dp), Axis::ep);
  std::copy(order.begin(), order.end(), layout.order.begin());
}

}  // namespace

static constexpr Named<Placement> kPlacements[] = {
    {"looped", "chunk c on stage c mod pp", Placement::looped},
    {"vee", "down the stages and back up", Placement::vee},
    {"bidirectional", "two copies of the model, in opposite directions", Placement::bidirectional},
};

LayoutSpec read_layout(const DocNode& node, Problems& problems) {
  LayoutSpec layout;
  layout.dp = 0;
  MapReader reader(node, "layout", problems);
  const IntRange size{1, 1 << 20};
  reader.optional("tp", layout.tp, size);
  reader.optional("cp", layout.cp, size);
  reader.optional("pp", layout.pp, size);
  reader.optional("ep", layout.ep, size);
  reader.optional("dp", layout.dp, size);
  reader.optional("chunks", layout.chunks, IntRange{1, 4096});
  reader.optional("placement", layout.placement, kPlacements);
  reader.optional("sequence_parallel", layout.sequence_parallel);
  reader.optional("zero", layout.zero, IntRange{0, 3});
  reader.optional("scatter_gather", layout.scatter_gather);
  reader.optional("stage_layers", layout.stage_layers, IntRange{0, 100'000});
  if (const DocNode* order = reader.find("order")) read_order(*order, layout, problems);
  reader.refuse_not_modelled({"expert_tp"},
                             "it cuts the experts of a mixture, and mixtures cannot be rehearsed");
  reader.finish();
  return layout;
}

BatchSpec read_batch(const DocNode& node, Problems& problems) {
  BatchSpec batch;
  MapReader reader(node, "batch", problems);
  reader.required("global", batch.global, IntRange{1, 100'000'000});
  reader.optional("micro", batch.micro, IntRange{1, 1'000'000});
  reader.optional("sequence", batch.sequence, IntRange{1, 100'000'000});
  reader.finish();
  return batch;
}

Recompute read_recompute(const DocNode& node, Problems& problems) {
  Recompute recompute;
  if (node.kind != NodeKind::map) {
    read_value(node, "recompute", problems, recompute.kind, kRecomputeKinds);
    return recompute;
  }
  MapReader reader(node, "recompute", problems);
  if (reader.required("full_layers", recompute.full_layers, IntRange{0, 100'000}))
    recompute.kind = RecomputeKind::full;
  reader.finish();
  return recompute;
}

Precision read_precision(const DocNode& node, Problems& problems) {
  Precision precision;
  if (node.kind != NodeKind::map) {
    std::vector<std::string_view> names;
    for (const auto& row : kPrecisionWords) names.push_back(row.name);
    const int i = read_choice(node, "precision", problems, names);
    return i < 0 ? precision : kPrecisionWords[i].value;
  }
  MapReader reader(node, "precision", problems);
  reader.optional("compute", precision.compute, kComputeTypes);
  for (const auto& row : kPrecisionWords)  // what is not given is as the word for `compute` has it
    if (row.value.compute == precision.compute) precision = row.value;
  if (precision.compute == DType::tf32) precision.params = DType::fp32;
  reader.optional("params", precision.params, kStoredTypes);
  reader.optional("grads", precision.grads, kStoredTypes);
  reader.optional("optimizer", precision.optimizer, kStoredTypes);
  reader.finish();
  return precision;
}

Overlap read_overlap(const DocNode& node, Problems& problems) {
  Overlap overlap;
  MapReader reader(node, "overlap", problems);
  reader.optional("grad_reduce", overlap.grad_reduce);
  reader.optional("param_gather", overlap.param_gather);
  reader.optional("tp", overlap.tp);
  reader.optional("p2p", overlap.p2p);
  reader.finish();
  return overlap;
}

bool expand_precision(DocNode& node) {
  for (const auto& row : kPrecisionWords) {
    if (row.name != node.text) continue;
    DocNode compute = node;
    DocNode map;
    map.kind = NodeKind::map;
    map.mark = node.mark;
    map.entries.push_back({"compute", node.mark, std::move(compute)});
    node = std::move(map);
    return true;
  }
  return false;
}

namespace {

template <class T, size_t N>
void read_bits(MapReader& map, const char* key, const Named<T> (&table)[N], uint8_t& out) {
  std::string text, unknown;
  const DocNode* node = map.find(key);
  if (!node || !read_value(*node, map.path_of(key), map.problems(), text)) return;
  if (const auto bits = nccl_bits(text, table, unknown)) {
    out = *bits;
  } else if (unknown.empty() && !text.empty()) {
    map.problem(node->mark, key, "E-NCCL-ALGO", map.path_of(key) + " leaves nothing: " + quote(text));
  } else {
    map.problem(node->mark, key, "E-CHOICE", map.path_of(key) + " cannot be " + quote(unknown),
                suggest_nccl(unknown, table));
  }
}

}  // namespace

NcclFilter read_collectives(const DocNode& node, Problems& problems) {
  NcclFilter filter;
  MapReader map(node, "collectives", problems);
  read_bits(map, "algorithm", kAlgorithmNames, filter.algorithms);
  read_bits(map, "protocol", kProtocolNames, filter.protocols);
  map.finish();
  return filter;
}

}  // namespace rehearse
