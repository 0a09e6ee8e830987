#include "sim/spec/check.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "sim/cluster/fabric.hpp"
#include "sim/spec/names.hpp"

namespace rehearse {

Place Places::find(std::string_view key_path) const {
  for (std::string_view path = key_path; !path.empty();) {
    if (const auto it = by_key.find(path); it != by_key.end()) return it->second;
    const size_t dot = path.rfind('.');
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(0, dot);
  }
  return whole;
}

namespace {

std::string num(int64_t n) { return std::to_string(n); }

class Checker {
 public:
  Checker(Scenario& scenario, const Places& places) : s(scenario), places_(places) {}

  void refuse(const std::string& key, std::string code, std::string message, std::string hint = {}) {
    errors_.push_back({places_.find(key), key, std::move(code), std::move(message), std::move(hint)});
  }
  void warn(std::string code, std::string message) {
    s.warnings.push_back({std::move(code), std::move(message)});
  }
  // A key that was given and changes nothing in this combination.
  void idle(const std::string& key, const std::string& why) {
    warn("W-NO-EFFECT", key + " has no effect: " + why);
  }
  bool given(std::string_view key) const { return places_.given(key); }
  // Beside what describes the cluster, which must name it whether this layout uses it or not.
  bool overridden(std::string_view key) const {
    return given(key) && places_.find(key).file != places_.find("cluster.gpu").file;
  }
  // Not merely in a topology of many uses that the scenario names.
  bool asked_for(std::string_view key) const {
    if (!given(key)) return false;
    const auto& file = places_.find(key).file;
    return file == places_.whole.file || file != places_.find("cluster.gpu").file;
  }
  void raise() {
    const auto before = [](const InputError& a, const InputError& b) {
      if (a.place.file != b.place.file) return false;
      return std::pair(a.place.line, a.place.column) < std::pair(b.place.line, b.place.column);
    };
    std::stable_sort(errors_.begin(), errors_.end(), before);
    if (!errors_.empty()) throw InputErrors(std::move(errors_));
  }

  Scenario& s;

 private:
  const Places& places_;
  std::vector<InputError> errors_;
};

bool batch_divides(const Scenario& s, int64_t dp) { return s.batch.global % (s.batch.micro * dp) == 0; }

// The same GPUs with replicas in the place of parts of a sequence.
std::string without_cp(const Scenario& s) {
  const auto& l = s.layout;
  const int64_t dp = int64_t(l.dp) * l.cp;
  if (l.dp > 0) return batch_divides(s, dp) ? "try --set layout.cp=1 --set layout.dp=" + num(dp) : "";
  return "try --set layout.cp=1";
}

// What is accepted by name but not yet simulated.
void check_modelled(Checker& c) {
  const auto& l = c.s.layout;
  if (l.cp > 1)
    c.refuse("layout.cp", "E-NOT-MODELLED", "context parallelism is not modelled yet", without_cp(c.s));
  if (l.ep > 1)
    c.refuse("layout.ep", "E-NOT-MODELLED", "expert parallelism is not modelled yet",
             "a dense model has no experts: try --set layout.ep=1");
  if (l.zero > 1)
    c.refuse("layout.zero", "E-NOT-MODELLED", "ZeRO-" + num(l.zero) + " is not modelled yet",
             "ZeRO-1 shards the optimizer alone: try --set layout.zero=1");
}

// " without nodes 7 and 9, which are down": they carry no ranks.
std::string without_down(const Cluster& cluster) {
  std::vector<std::string> down;
  for (const auto& o : cluster.overrides)
    if (o.node >= 0 && o.down) down.push_back(num(o.node));
  if (down.empty()) return "";
  if (down.size() > 8) down.resize(8), down.emplace_back("others");
  std::string text = down.size() == 1 ? " without node " : " without nodes ";
  for (size_t i = 0; i < down.size(); ++i)
    text += (i == 0 ? "" : i + 1 == down.size() ? " and " : ", ") + down[i];
  return text + (down.size() == 1 ? ", which is down" : ", which are down");
}

void check_gpus(Checker& c) {
  auto& l = c.s.layout;
  const int64_t gpus = int64_t(c.s.cluster.live_nodes()) * c.s.cluster.gpus_per_node;
  const int64_t model = int64_t(l.tp) * l.cp * l.pp;  // each at most 2^20
  const std::string have = "the cluster has " + num(gpus) + " GPUs (" + num(c.s.cluster.nodes) + " nodes x " +
                           num(c.s.cluster.gpus_per_node) + without_down(c.s.cluster) + ")";
  if (gpus > (1 << 24)) {
    c.refuse("cluster.nodes", "E-CLUSTER-SIZE", have + ", more than " + num(1 << 24));
    return;
  }
  const bool derived = l.dp == 0;
  if (derived && gpus % model == 0) l.dp = static_cast<int>(gpus / model);
  const std::string product = "tp x cp x pp = " + num(l.tp) + " x " + num(l.cp) + " x " + num(l.pp);
  if (l.dp == 0) {
    c.refuse("layout", "E-LAYOUT-GPUS", product + " = " + num(model) + " does not divide the GPUs: " + have,
             "dp is the number of GPUs over tp x cp x pp");
  } else if (model > gpus || model * l.dp != gpus) {
    const std::string needed = model > gpus ? "more" : num(model * l.dp);
    const int64_t dp = gpus % model == 0 ? gpus / model : 0;
    std::string hint = dp == 0                  ? ""
                       : batch_divides(c.s, dp) ? "try --set layout.dp=" + num(dp)
                                                : "dp " + num(dp) + " would multiply out";
    c.refuse(derived ? "layout" : "layout.dp", "E-LAYOUT-GPUS",
             "tp x cp x pp x dp = " + num(l.tp) + " x " + num(l.cp) + " x " + num(l.pp) + " x " + num(l.dp) +
                 " needs " + needed + " GPUs, and " + have,
             hint);
  }
  if (l.dp == 0) l.dp = 1;  // so that the other checks can go on
}

void divides(Checker& c, const std::string& key, const char* code, const std::string& what, int64_t value,
             int64_t by, const std::string& by_what) {
  if (value % by != 0)
    c.refuse(key, code, what + " " + num(value) + " is not a multiple of " + by_what + " " + num(by));
}

void check_tensor_parallel(Checker& c) {
  const auto& m = c.s.model;
  const auto& l = c.s.layout;
  if (m.heads % m.kv_heads != 0)
    c.refuse("model.kv_heads", "E-MODEL-KV-HEADS",
             "heads " + num(m.heads) + " is not a multiple of kv_heads " + num(m.kv_heads));
  divides(c, "layout.tp", "E-LAYOUT-HEADS", "heads", m.heads, l.tp, "tp");
  if (m.kv_heads % l.tp != 0 && l.tp % m.kv_heads != 0)
    c.refuse("layout.tp", "E-LAYOUT-KV-HEADS",
             "tp " + num(l.tp) + " neither divides kv_heads " + num(m.kv_heads) + " nor is a multiple of it");
  divides(c, "layout.tp", "E-LAYOUT-HIDDEN", "hidden", m.hidden, l.tp, "tp");
  divides(c, "layout.tp", "E-LAYOUT-FFN", "ffn", m.ffn, l.tp, "tp");
  if (l.sequence_parallel && l.tp == 1)
    c.refuse("layout.sequence_parallel", "E-LAYOUT-SEQUENCE",
             "sequence_parallel splits the sequence over tp, and tp is 1",
             "it wants layout.tp above 1; without: try --set layout.sequence_parallel=false");
  else if (l.sequence_parallel)
    divides(c, "layout.sequence_parallel", "E-LAYOUT-SEQUENCE", "with sequence_parallel, the sequence of",
            c.s.batch.sequence, l.tp, "tp");
}

// The layers of each chunk, as even as they can be.
std::string uneven_stages(int64_t layers, int64_t chunks) {
  constexpr int64_t most = 64;  // a longer list is none to type
  if (chunks > std::min(layers, most)) return "give layout.stage_layers, the layers of each chunk";
  std::string list;
  for (int64_t i = 0; i < chunks; ++i)
    list += (i ? "," : "") + num(layers / chunks + (i < layers % chunks ? 1 : 0));
  return "for chunks of unlike size: try --set 'layout.stage_layers=[" + list + "]'";
}

void check_pipeline(Checker& c) {
  const auto& m = c.s.model;
  const auto& l = c.s.layout;
  const bool copies = l.placement == Placement::bidirectional;
  const int64_t chunks = int64_t(l.pp) * (copies ? 1 : l.chunks);
  const std::string count = copies ? "pp" : "pp x chunks = " + num(l.pp) + " x " + num(l.chunks);
  int64_t longest = m.layers / chunks;
  if (!l.stage_layers.empty() || c.given("layout.stage_layers")) {
    const int64_t sum = std::accumulate(l.stage_layers.begin(), l.stage_layers.end(), int64_t{0});
    if (int64_t(l.stage_layers.size()) != chunks)
      c.refuse("layout.stage_layers", "E-LAYOUT-STAGES",
               "stage_layers has " + num(int64_t(l.stage_layers.size())) + " numbers, and " + count +
                   " wants " + num(chunks));
    else if (sum != m.layers)
      c.refuse("layout.stage_layers", "E-LAYOUT-STAGES",
               "stage_layers sums to " + num(sum) + ", and the model has " + num(m.layers) + " layers");
    for (const int n : l.stage_layers) longest = std::max<int64_t>(longest, n);
    for (size_t i = 1; i + 1 < l.stage_layers.size(); ++i)
      if (l.stage_layers[i] == 0)
        c.refuse("layout.stage_layers", "E-LAYOUT-STAGES",
                 "chunk " + num(int64_t(i)) + " of stage_layers has no layers",
                 "only the first, with the embedding, and the last, with the head, can do without");
  } else if (m.layers % chunks != 0) {
    c.refuse("layout.pp", "E-LAYOUT-LAYERS",
             "layers " + num(m.layers) + " is not a multiple of " + count + " = " + num(chunks),
             uneven_stages(m.layers, chunks));
    return;
  }
  if (c.s.recompute.full_layers > longest)
    c.refuse("recompute.full_layers", "E-RECOMPUTE-LAYERS",
             "full_layers " + num(c.s.recompute.full_layers) + " is more than the " + num(longest) +
                 " layers of a chunk",
             "for all of them: try --set recompute=full");
}

void check_transfers(Checker& c) {
  const auto& l = c.s.layout;
  if (!l.scatter_gather) return;
  if (l.tp == 1 || l.pp == 1)
    c.refuse("layout.scatter_gather", "E-LAYOUT-SCATTER",
             "scatter_gather cuts what crosses a stage boundary over tp, and " +
                 std::string(l.tp == 1 ? "tp" : "pp") + " is 1",
             "try --set layout.scatter_gather=false");
  else if (l.sequence_parallel)
    c.idle("layout.scatter_gather", "with sequence_parallel only slices cross a stage boundary anyway");
}

void check_batch(Checker& c) {
  const auto& b = c.s.batch;
  const auto& m = c.s.model;
  const int64_t replica = int64_t(b.micro) * c.s.layout.dp;
  if (b.global % replica != 0)
    c.refuse("batch.global", "E-BATCH-GLOBAL",
             "global " + num(b.global) + " is not a multiple of micro x dp = " + num(b.micro) + " x " +
                 num(c.s.layout.dp) + " = " + num(replica));
  else if (b.global / replica > 1'000'000)
    c.refuse("batch.global", "E-BATCH-GLOBAL", num(b.global / replica) + " micro-batches are too many",
             "at most 1000000 on each replica");
  if (b.sequence == 0)
    c.refuse("batch", "E-BATCH-SEQUENCE",
             "batch.sequence is missing, and the model has no sequence to take its place");
  else if (m.position == PositionEmbedding::learned && b.sequence > m.sequence)
    c.refuse("batch.sequence", "E-BATCH-SEQUENCE",
             "sequence " + num(b.sequence) + " is longer than the model's table of " + num(m.sequence) +
                 " positions",
             "for a longer table: try --set model.sequence=" + num(b.sequence));
  else if (m.sequence > 0 && b.sequence > m.sequence)
    c.warn("W-SEQUENCE",
           "batch.sequence " + num(b.sequence) + " is longer than the model's " + num(m.sequence));
  if (int64_t(b.micro) * b.sequence > (int64_t{1} << 30))
    c.refuse("batch.micro", "E-BATCH-TOKENS",
             "micro x sequence = " + num(int64_t(b.micro) * b.sequence) + " tokens is too many",
             "a micro-batch holds at most " + num(int64_t{1} << 30));
}

void check_overlap(Checker& c) {
  const auto& l = c.s.layout;
  const auto& o = c.s.overlap;
  if (o.param_gather && l.zero == 0)
    c.refuse("overlap.param_gather", "E-OVERLAP-GATHER",
             "param_gather gathers weights that zero shards, and zero is 0",
             "try --set layout.zero=1, or --set overlap.param_gather=false");
  const bool alone = gradient_ranks(l) == 1;
  if (l.zero > 0 && alone) c.idle("layout.zero", "dp is 1, so there is nobody to share the optimizer with");
  if (o.tp && l.tp == 1) c.idle("overlap.tp", "tp is 1");
  if (o.p2p && l.pp == 1) c.idle("overlap.p2p", "pp is 1");
  if (c.s.posted_receives && l.pp == 1) c.idle("receives", "pp is 1");
  if (c.s.post_validation && l.pp == 1)
    c.idle("optimizer_sync", "pp is 1, so there is no other stage to wait for");
  if (c.given("overlap.grad_reduce") && alone)
    c.idle("overlap.grad_reduce", "dp is 1, so no gradients are reduced");
  if (c.given("grad_bucket") && alone) c.idle("grad_bucket", "dp is 1, so no gradients are reduced");
}

void check_places_of_ranks(Checker& c) {
  const auto& l = c.s.layout;
  const Cluster& cluster = c.s.cluster;
  const int cut = (l.tp > 1) + (l.cp > 1) + (l.pp > 1) + (l.dp > 1);
  if (c.given("layout.order") && cut < 2) c.idle("layout.order", "no two axes are above 1");
  if (c.given("cluster.rank_order") && cluster.rank_order != RankOrder::node) {
    if (cluster.nodes == 1)
      c.idle("cluster.rank_order", "the cluster has one node");
    else if (cut < 2 && l.pp == 1)
      c.idle("cluster.rank_order", "one group holds all ranks");
  }
  for (const char* key : {"cluster.nic", "cluster.nic_latency", "cluster.nics_per_node"})
    if (cluster.nodes == 1 && c.overridden(key)) c.idle(key, "the cluster has one node");
}

void check_domain(Checker& c) {
  const Cluster& cluster = c.s.cluster;
  if (c.asked_for("cluster.nodes_per_domain") && cluster.nodes_per_domain > 1 && cluster.nodes == 1)
    c.idle("cluster.nodes_per_domain", "the cluster has one node");
  if (c.asked_for("cluster.nvlink_latency") && cluster.gpus_per_domain() == 1)
    c.idle("cluster.nvlink_latency", "each domain of NVLink has one GPU");
}

void check_profile(Checker& c) {
  const DeviceProfile* profile = c.s.profile.get();
  if (!profile) return;
  if (!profile->peak(c.s.precision.compute)) {
    std::string hint = "it has: ";
    for (size_t i = 0; i < profile->peak_flops.size(); ++i)
      hint += (i ? ", " : "") + std::string(name_of(kDTypeNames, profile->peak_flops[i].first));
    c.refuse("precision", "E-PROFILE-DTYPE",
             "profile " + profile->name + " has no peak for " +
                 std::string(name_of(kDTypeNames, c.s.precision.compute)) + ", in which this computes",
             hint);
  }
  if (c.s.cluster.gpu != profile->name)
    c.warn("W-PROFILE-GPU", "the cluster's nodes carry " + c.s.cluster.gpu +
                                ", and the times come from the profile of " + profile->name);
}

// Ranks between neighbours of the tp group.
int64_t tp_stride(const LayoutSpec& l) {
  int64_t stride = 1;
  for (const Axis a : l.order) {
    if (a == Axis::tp) break;
    stride *= a == Axis::cp ? l.cp : a == Axis::pp ? l.pp : a == Axis::dp ? l.dp : 1;
  }
  return stride;
}

void warn_speed(Checker& c) {
  const auto& l = c.s.layout;
  const auto& m = c.s.model;
  const int64_t block = tp_stride(l) * l.tp, node = c.s.cluster.gpus_per_domain();
  if (l.tp > 1 && c.s.cluster.gpus() > node && (block > node || node % block != 0))
    c.warn("W-TP-NODE", "tensor parallel groups of " + num(l.tp) + " leave the NVLink domain of " +
                            num(node) + " GPUs: their collectives cross the network");
  if (m.attention == Attention::unfused && m.head_dim % 8 != 0)
    c.warn("W-HEAD-DIM", "head_dim " + num(m.head_dim) +
                             " is not a multiple of 8: the GEMMs of unfused attention run slowly");
}

}  // namespace

void check(Scenario& scenario, const Places& places) {
  Checker c(scenario, places);
  check_modelled(c);
  check_gpus(c);
  check_tensor_parallel(c);
  check_pipeline(c);
  check_transfers(c);
  check_batch(c);
  check_overlap(c);
  check_places_of_ranks(c);
  check_domain(c);
  check_profile(c);
  warn_speed(c);
  c.raise();
  auto placed = place_ranks(scenario.cluster);
  scenario.layout.gpu_of_rank =
      placed.empty() ? nullptr : std::make_shared<const std::vector<int>>(std::move(placed));
}

}  // namespace rehearse
