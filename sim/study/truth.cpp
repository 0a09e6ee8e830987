#include "sim/study/truth.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>

#include "sim/graph/schedules.hpp"
#include "sim/io/profile.hpp"
#include "sim/io/topology.hpp"
#include "sim/io/yaml.hpp"
#include "sim/spec/check.hpp"
#include "sim/study/truth_check.hpp"

namespace rehearse {

namespace {

// What cannot be expressed ends the reading of a row with its reason.
struct Skip {
  std::string reason;
};

std::string text_of(const DocNode& map, std::string_view key, const std::string& fallback = {}) {
  const DocNode* node = map.find(key);
  return node && node->kind == NodeKind::scalar ? node->text : fallback;
}
double number_of(const DocNode& map, std::string_view key, double fallback = 0) {
  const std::string text = text_of(map, key);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return text.empty() || *end ? fallback : value;
}
bool flag_of(const DocNode& map, std::string_view key, bool fallback = false) {
  const std::string text = text_of(map, key);
  return text.empty() ? fallback : text == "true";
}
bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// Software generation of a family of results; the profile's default where it is not listed. From 2022 on
// Megatron-LM reduces input gradients beside the weight-gradient GEMM unless told otherwise, whatever a row
// says of overlap.
struct FamilyStack {
  std::string_view family, stack;
  bool async_tp;
};
constexpr FamilyStack kStacks[] = {
    {"korthikanti22", "megatron-2022", true}, {"bloom", "bloom-deepspeed", false},
    {"vtrain", "megatron-deepspeed", false},  {"zero-bubble", "zero-bubble", true},
    {"megascale", "megatron-2022", true},     {"nanotron", "nanotron", false},
    {"simumax", "megatron-te2", false}};
const FamilyStack* find_family(const std::string& family) {
  for (const auto& row : kStacks)
    if (row.family == family) return &row;
  return nullptr;
}

// `domain`: GPUs that NVLink joins, where they are more than a node; of a rack of 72, 64 are used.
struct Machine {
  std::string_view gpu, profile, topology;
  int domain = 0;
};
constexpr Machine kMachines[] = {{"A100-SXM4-80GB", "a100-sxm4-80gb", "dgx-a100-80g"},
                                 {"H100-SXM5-80GB", "h100-sxm5-80gb", "dgx-h100"},
                                 {"H200-SXM", "h200-sxm-141gb", "dgx-h200"},
                                 {"B200", "b200-sxm-180gb", "hgx-b200"},
                                 {"GB200", "gb200", "gb200-nvl72", 64},
                                 {"V100-SXM3-32GB", "v100-sxm2-32gb", "dgx2-v100"}};

// "8 x HDR200 IB", "4 x Omni-Path 100 Gb/s", "8 x 200G RoCE", "800 Gb/s per node", "1600 Gb/s RoCE per node".
void read_network(const std::string& text, Cluster& cluster) {
  if (holds(text, "per GPU")) return;
  const size_t cross = text.find(" x ");
  if (cross != std::string::npos) {
    size_t begin = cross;
    while (begin > 0 && std::isdigit(static_cast<unsigned char>(text[begin - 1]))) --begin;
    const int nics = std::atoi(text.substr(begin, cross - begin).c_str());
    const size_t digit = text.find_first_of("0123456789", cross);
    const double gigabits = digit == std::string::npos ? 0 : std::atof(text.c_str() + digit);
    if (nics > 0 && gigabits > 0) cluster.nics_per_node = nics, cluster.nic = BytesPerSec(gigabits * 1e9 / 8);
    return;
  }
  const size_t unit = text.find(" Gb/s");
  if (unit == std::string::npos) return;
  size_t begin = unit;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(text[begin - 1]))) --begin;
  const double gigabits = std::atof(text.substr(begin, unit - begin).c_str());
  // Rates of a whole node are of cards of 200 Gb/s.
  cluster.nics_per_node = std::max(1, int(gigabits / 200));
  cluster.nic = BytesPerSec(200e9 / 8);
}

ModelSpec read_row_model(const DocNode& row, const DocNode& layout) {
  const DocNode* node = row.find("model");
  if (!node) throw Skip{"no model"};
  for (const char* key : {"experts", "moe", "topk", "parallel_block", "sliding_window"})
    if (const DocNode* odd = node->find(key);
        odd && odd->text != "false" && odd->text != "0" && odd->kind != NodeKind::null)
      throw Skip{std::string("model with ") + key};
  ModelSpec model;
  model.name = text_of(*node, "name");
  model.layers = int(number_of(*node, "layers"));
  model.hidden = int(number_of(*node, "hidden"));
  model.heads = int(number_of(*node, "heads"));
  model.kv_heads = int(number_of(*node, "kv_heads", model.heads));
  model.ffn = int(number_of(*node, "ffn", 4.0 * model.hidden));
  model.vocab = int(number_of(*node, "vocab"));
  model.sequence = int(number_of(*node, "seq"));
  if (model.layers <= 0 || model.hidden <= 0 || model.heads <= 0 || model.vocab <= 0 || model.sequence <= 0)
    throw Skip{"model sizes unknown"};
  model.head_dim = int(number_of(*node, "head_dim", double(model.hidden) / model.heads));
  const std::string mlp = text_of(*node, "mlp", "gelu");
  if (mlp != "gelu" && mlp != "swiglu") throw Skip{"mlp " + mlp};
  model.mlp = mlp == "swiglu" ? Mlp::swiglu : Mlp::gelu;
  model.position = mlp == "swiglu" ? PositionEmbedding::rope : PositionEmbedding::learned;
  model.tied_embeddings = mlp != "swiglu";
  model.dropout = mlp != "swiglu";
  const std::string attention = text_of(layout, "attention");
  const bool fused = holds(attention, "flash") || holds(attention, "cuDNN") || holds(attention, "TE");
  model.attention = fused && !holds(attention, "no flash") ? Attention::fused : Attention::unfused;
  return model;
}

// "6 per stage", "7 per stage, last stage 1", "first and last stage one layer fewer", "72 slots ...
// embeddings".
std::vector<int> read_stage_layers(const std::string& text, int layers, int pp, int chunks) {
  const int parts = pp * chunks;
  if (pp == 1) return {};
  if (holds(text, "one layer fewer") || holds(text, "slot")) {
    if ((layers + 2) % parts) throw Skip{"layers do not divide over stages"};
    std::vector<int> split(parts, (layers + 2) / parts);
    --split.front(), --split.back();
    return split;
  }
  if (holds(text, "last stage 1")) {
    std::vector<int> split(parts, std::atoi(text.c_str()));
    split.back() = 1;
    return split;
  }
  if (layers % parts) throw Skip{"layers do not divide over stages"};
  return {};
}

// The word of ours that prose begins with: "full" of "full (every layer)" and of "full-block".
std::string_view first_word(std::string_view text, std::string_view letters) {
  return text.substr(0, text.find_first_not_of(letters));
}
constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kScheduleLetters = "abcdefghijklmnopqrstuvwxyz0123456789-";

Recompute read_recompute(const std::string& text) {
  if (holds(text, "unknown") && !holds(text, "presumed")) throw Skip{"recompute unknown"};
  if (holds(text, "op-level") || holds(text, "every second"))
    throw Skip{"selective recompute of another kind"};
  if (holds(text, "selective")) return {RecomputeKind::selective, -1};
  const std::string_view word = first_word(text, kLetters);
  if (word == "full") return {RecomputeKind::full, -1};
  if (word == "none") return {RecomputeKind::none, -1};
  throw Skip{"recompute " + (text.empty() ? "not stated" : text)};
}

std::string read_schedule(const std::string& text, int pp, int chunks) {
  if (pp == 1) return "1f1b";
  if (text.empty()) return chunks > 1 ? "interleaved" : "1f1b";
  const std::string_view word = first_word(text, kScheduleLetters);
  if (word == "interleaved" || word == "interleaved-1f1b" || word == "1f1b")
    return chunks > 1 ? "interleaved" : "1f1b";
  for (const std::string_view name : {"zb-h1", "zb-h2", "zb-1p", "zb-2p", "zb-v"})
    if (text == name) return text;
  throw Skip{"schedule " + text.substr(0, text.find(' '))};
}

void read_layout(const DocNode& row, const DocNode& node, Scenario& s) {
  auto& l = s.layout;
  l.tp = int(number_of(node, "tp", 1)), l.pp = int(number_of(node, "pp", 1)),
  l.dp = int(number_of(node, "dp", 1));
  l.cp = int(number_of(node, "cp", 1)), l.ep = int(number_of(node, "ep", 1)),
  l.chunks = int(number_of(node, "vpp", 1));
  if (l.cp > 1) throw Skip{"context parallelism"};
  if (l.ep > 1) throw Skip{"expert parallelism"};
  const std::string zero = text_of(node, "zero", "0");
  if (zero != "0" && zero != "1") throw Skip{"sharded data parallelism (ZeRO " + zero + ")"};
  l.zero = zero == "1" && l.dp > 1 ? 1 : 0;
  if (l.pp == 1) l.chunks = 1;
  l.sequence_parallel = flag_of(node, "sp") && l.tp > 1;
  // Megatron-LM and DeepSpeed send slices unless told otherwise.
  l.scatter_gather = flag_of(node, "scatter_gather", true) && l.tp > 1 && l.pp > 1 && !l.sequence_parallel;
  l.order = {Axis::tp, Axis::cp, Axis::ep, Axis::dp, Axis::pp};
  l.stage_layers = read_stage_layers(text_of(node, "layers_per_stage"), s.model.layers, l.pp, l.chunks);
  s.batch = {int(number_of(node, "gbs")), int(number_of(node, "mbs")), s.model.sequence};
  if (s.batch.global <= 0 || s.batch.micro <= 0) throw Skip{"batch unknown"};
  s.recompute = read_recompute(text_of(node, "recompute"));
  s.schedule = read_schedule(text_of(node, "schedule"), l.pp, l.chunks);
  place_chunks(s, {.chunks = true});
  // The authors of the zero-bubble schedules ran them with their optimizer that waits for no other stage.
  // Tied embeddings would make the first stage wait for the last one after all, so they are presumed untied.
  s.post_validation = s.schedule.starts_with("zb-");
  if (s.post_validation) s.model.tied_embeddings = false;
  const std::string precision = text_of(node, "precision");
  const bool fp8 = holds(precision, "fp8");
  if (fp8 && !s.profile->peak(DType::fp8)) throw Skip{"fp8 on a device without it"};
  s.precision.params = fp8 || holds(precision, "bf16") ? DType::bf16 : DType::fp16;
  s.precision.compute = fp8 ? DType::fp8 : s.precision.params;
  if (holds(precision, "fp16 gradient")) s.precision.grads = DType::fp16;
  if (holds(precision, "bf16 grads")) s.precision.grads = DType::bf16;
  s.overlap = {.grad_reduce = false, .p2p = s.post_validation};
  if (const DocNode* overlap = node.find("overlap"); overlap && overlap->kind == NodeKind::map)
    s.overlap = {flag_of(*overlap, "grad_reduce"), flag_of(*overlap, "param_gather") && l.zero > 0,
                 flag_of(*overlap, "tp_comm") && l.tp > 1, flag_of(*overlap, "p2p") && l.pp > 1};
  if (int64_t(number_of(row, "gpus")) != int64_t(l.tp) * l.pp * l.dp)
    throw Skip{"layout does not multiply out"};
}

class Reader {
 public:
  explicit Reader(const DataRoots& roots) : roots_(roots) {}

  Scenario scenario(const DocNode& row, const std::string& id, const std::string& family) {
    const std::string gpu = text_of(row, "gpu");
    const auto machine = std::find_if(std::begin(kMachines), std::end(kMachines),
                                      [&](const Machine& m) { return m.gpu == gpu; });
    if (machine == std::end(kMachines)) throw Skip{gpu.empty() ? "no GPU" : "no profile for " + gpu};
    const DocNode* layout = row.find("layout");
    if (!layout) throw Skip{"no layout"};
    Scenario s;
    s.name = id;
    s.profile = profile(std::string(machine->profile));
    s.model = read_row_model(row, *layout);
    s.cluster = topology(std::string(machine->topology));
    read_network(text_of(row, "network"), s.cluster);
    read_layout(row, *layout, s);
    const int gpus = int(number_of(row, "gpus"));
    if (!machine->domain)  // else rows name their rack a node
      s.cluster.gpus_per_node = int(number_of(row, "gpus_per_node", s.cluster.gpus_per_node));
    s.cluster.gpus_per_node = std::min(s.cluster.gpus_per_node, gpus);
    s.cluster.nics_per_node = std::min(s.cluster.nics_per_node, s.cluster.gpus_per_node);
    s.cluster.nodes = gpus / s.cluster.gpus_per_node;
    s.cluster.nodes_per_domain = std::max(1, machine->domain / s.cluster.gpus_per_node);
    const FamilyStack* generation = find_family(family);
    s.stack = stack_of(*s.profile, generation);
    if (generation && generation->async_tp && s.layout.tp > 1) s.overlap.tp = true;
    try {
      check(s);
    } catch (const InputErrors& e) {
      throw Skip{e.errors.front().code + ": " + e.errors.front().message};
    }
    return s;
  }

 private:
  static const Stack& stack_of(const DeviceProfile& profile, const FamilyStack* family) {
    const Stack* stack = family ? profile.stack(std::string(family->stack)) : nullptr;
    if (!stack) stack = profile.stack(profile.default_stack);
    if (!stack) throw Skip{"profile without the stack it names as its default"};
    return *stack;
  }
  std::string path(FileKind kind, const std::string& name) {
    DocNode node;
    node.kind = NodeKind::scalar;
    node.text = name;
    Problems problems;
    const auto found = resolve(node, name, kind, ".", roots_, problems);
    problems.raise();
    return *found;
  }
  std::shared_ptr<const DeviceProfile> profile(const std::string& name) {
    auto& kept = profiles_[name];
    if (!kept) kept = load_profile(path(FileKind::profile, name));
    return kept;
  }
  Cluster topology(const std::string& name) {
    if (!clusters_.count(name)) clusters_[name] = load_topology(path(FileKind::topology, name));
    return clusters_[name];
  }

  const DataRoots& roots_;
  std::map<std::string, std::shared_ptr<const DeviceProfile>> profiles_;
  std::map<std::string, Cluster> clusters_;
};

std::string sweep_of(const DocNode& row) {
  const DocNode* model = row.find("model");
  const DocNode* layout = row.find("layout");
  if (!model || !layout) return {};
  std::string key = text_of(row, "group");
  for (const char* part : {"name", "layers", "hidden", "heads", "seq", "vocab"})
    key += '|' + text_of(*model, part);
  return key + '|' + text_of(row, "gpus") + '|' + text_of(*layout, "gbs");
}

}  // namespace

TruthFile load_truth(const std::string& path, const DataRoots& roots) {
  const DocNode document = parse_yaml_file(path);
  Problems problems;
  MapReader file(document, "", problems);
  for (const char* free : {"version", "conventions", "gpu_reference", "sources"}) file.find(free);
  const DocNode* rows = document.kind == NodeKind::map ? file.find("rows") : nullptr;
  if (!rows || rows->kind != NodeKind::list)
    throw InputErrors({place_of(rows ? rows->mark : document.mark), "rows", "E-TRUTH-ROWS",
                       "a file of measured steps has a list 'rows'", ""});
  file.finish();
  problems.raise();
  Reader reader(roots);
  TruthFile result;
  for (const DocNode& node : rows->items) {
    TruthRow row;
    Problems of_row;
    check_truth_row(node, "rows[" + std::to_string(result.rows.size()) + "]", of_row);
    try {
      of_row.raise();
      row = {.id = text_of(node, "id"),
             .family = text_of(node, "family"),
             .kind = text_of(node, "kind"),
             .tier = text_of(node, "tier"),
             .sweep = sweep_of(node),
             .measured_s = number_of(node, "target_iteration_s"),
             .scenario = {},
             .skipped = {}};
      if (row.kind == "iteration" && row.measured_s <= 0) throw Skip{"no measured step time"};
      row.scenario = reader.scenario(node, row.id, row.family);
    } catch (const Skip& skip) {
      row.skipped = skip.reason;
    } catch (const InputErrors& found) {
      if (of_row.empty()) throw;  // of the data that rows name
      row.id = text_of(node, "id"), row.family = text_of(node, "family");
      row.refused = true;
      row.skipped = found.errors.front().code + ": " + found.errors.front().message;
      result.errors.insert(result.errors.end(), found.errors.begin(), found.errors.end());
    }
    result.rows.push_back(std::move(row));
  }
  return result;
}

}  // namespace rehearse
