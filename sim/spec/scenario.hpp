// What was asked for: plain values, already read and checked one by one; cross-checks are in spec/check.hpp.
#pragma once
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/base/units.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/spec/profile.hpp"

namespace rehearse {

enum class Axis : uint8_t { tp, cp, pp, ep, dp };
inline constexpr int kAxes = 5;

enum class Mlp { gelu, swiglu };
enum class PositionEmbedding { learned, rope, none };
enum class Attention { fused, unfused };

struct ModelSpec {
  std::string name;
  int layers = 0;
  int hidden = 0;
  int heads = 0;
  int kv_heads = 0;  // default: heads
  int head_dim = 0;  // default: hidden / heads
  int ffn = 0;       // default: 4 x hidden (gelu), 8/3 x hidden rounded up to 256 (swiglu)
  Mlp mlp = Mlp::gelu;
  int vocab = 0;     // as asked for; padded_vocab() is what is computed
  int sequence = 0;  // rows of the learned position table
  PositionEmbedding position = PositionEmbedding::learned;
  bool tied_embeddings = true;
  Attention attention = Attention::unfused;
  bool dropout = true;  // dropout kernels and masks on residuals and attention scores
};

// Which stage holds a chunk of the model. The schedule decides it.
enum class Placement : uint8_t {
  looped,         // chunk c on stage c mod p
  vee,            // 2 chunks a stage: down the stages and back up, so that the last chunk is on stage 0
  bidirectional,  // 2 chunks a stage, of two whole copies of the model that run in opposite directions
};

struct LayoutSpec {
  int tp = 1, cp = 1, pp = 1, ep = 1, dp = 1;
  int chunks = 1;  // model chunks a pipeline rank (virtual stages)
  Placement placement = Placement::looped;
  bool sequence_parallel = false;
  int zero = 0;  // 0 or 1 (distributed optimizer)
  std::array<Axis, 5> order{Axis::tp, Axis::cp, Axis::pp, Axis::ep, Axis::dp};  // from inside out
  bool scatter_gather = false;  // TP ranks send slices across a stage boundary and gather inside the node
  // GPU of each rank (check() fills it from the cluster); none: rank r on GPU r.
  std::shared_ptr<const std::vector<int>> gpu_of_rank;
  std::vector<int> stage_layers;  // optional: layers of each part, parts() numbers; empty = equal

  // Parts that the layers are cut into.
  int parts() const { return placement == Placement::bidirectional ? pp : pp * chunks; }
};

// Ranks that hold the same weights and reduce their gradients together: dp x cp, twice as many where the
// pipeline holds two copies of the model.
constexpr int gradient_ranks(const LayoutSpec& layout) {
  return layout.dp * layout.cp * (layout.placement == Placement::bidirectional ? 2 : 1);
}

struct BatchSpec {
  int global = 0;    // sequences a step, all replicas
  int micro = 1;     // sequences a micro-batch, one replica
  int sequence = 0;  // tokens a sequence
};

enum class RecomputeKind { none, selective, full };
struct Recompute {
  RecomputeKind kind = RecomputeKind::none;
  int full_layers = -1;  // >= 0: the first n layers of each chunk are fully recomputed (kind = full)
};

struct Precision {
  DType compute = DType::bf16, params = DType::bf16, grads = DType::fp32, optimizer = DType::fp32;
};

struct Overlap {
  bool grad_reduce = true;    // gradient buckets are reduced during the last micro-batch's backward
  bool param_gather = false;  // ZeRO-1: weights gathered during the first forward, else before it
  bool tp = false;            // input-gradient all-reduce beside the weight-gradient GEMM
  bool p2p = false;  // transfers between stages run beside compute; else the sender waits for its send
};

struct Scenario {
  std::string name;
  std::string file;  // as given on the command line
  ModelSpec model;
  Cluster cluster;
  std::shared_ptr<const DeviceProfile> profile;
  Stack stack;  // software constants, one of the profile's stacks
  LayoutSpec layout;
  BatchSpec batch;
  std::string schedule = "1f1b";  // a built-in name, or the path of a .csv (resolved)
  Recompute recompute;
  Precision precision;
  Overlap overlap;
  Bytes grad_bucket{160e6};
  bool mfu_attention_causal = false;
  // The optimizer of a stage does not wait for the norm of all gradients: it steps, and what turns out wrong
  // is taken back (Qi et al. 2023, section 4). Steps then follow each other without a common barrier.
  bool post_validation = false;
  // A transfer starts when the receiver has come to its receive, in the order of its communication stream;
  // else as soon as its bytes are there.
  bool posted_receives = false;
  double max_live = 0;  // for the schedule `auto`, as BuildOptions::max_live
  std::vector<Warning> warnings;

  int micro_batches() const { return batch.global / (batch.micro * layout.dp); }
};

}  // namespace rehearse
