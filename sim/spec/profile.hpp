// A device as calibrated: peaks, tables of measured kernels and collectives, and constants per software
// stack. Read from calibration/profiles/NAME.yaml and the CSV tables that it names (sim/io/profile.hpp).
#pragma once
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/basis.hpp"
#include "sim/base/units.hpp"
#include "sim/spec/kernel.hpp"
#include "sim/spec/nccl.hpp"

namespace rehearse {

enum class CollectiveOp : uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  send_recv,
  broadcast
};

// Rows of a tile of the 16-bit GEMM kernels: a shape fills whole ones.
inline constexpr double kGemmTileRows = 128;

// One measured GEMM, C[m,n] = A[m,k] B[k,n]. The logarithms are kept because a look-up measures distance in
// them, in single precision because tables are long; log2_padding is that of m rounded up to whole tiles over
// m.
struct GemmRow {
  // `before`: the row before, whose logarithms serve again where dimensions repeat, as they do in a sorted
  // table.
  GemmRow(double m_, double n_, double k_, double seconds_, const GemmRow* before = nullptr)
      : m(m_), n(n_), k(k_), seconds(seconds_), log2_k(std::log2(static_cast<float>(k_))) {
    const bool same_m = before && before->m == m, same_n = before && before->n == n;
    log2_m = same_m ? before->log2_m : std::log2(static_cast<float>(m));
    log2_padding = same_m ? before->log2_padding
                          : std::log2(static_cast<float>(std::ceil(m / kGemmTileRows) * kGemmTileRows / m));
    log2_n = same_n ? before->log2_n : std::log2(static_cast<float>(n));
  }
  double m, n, k;
  double seconds;
  float log2_m, log2_n, log2_k, log2_padding;
};
struct GemmTable {
  DType dtype = DType::bf16;
  std::optional<GemmRole> role;  // none: forward layout, and serves every role
  std::vector<GemmRow> rows;     // ascending by (m, n, k), no shape twice
  Basis basis = Basis::measured;
  std::string file, source, licence, caveats;
};

// Measured batched GEMMs, as unfused attention runs them; any role.
struct BatchedGemmRow {
  GemmShape shape;
  double seconds;
};
struct BatchedGemmTable {
  DType dtype = DType::bf16;
  std::vector<BatchedGemmRow> rows;  // ascending by (batch, m, n, k), no shape twice
  Basis basis = Basis::measured;
  std::string file, source, licence, caveats;
};

// One measured memory-bound pass.
struct MemoryRow {
  MemoryShape shape;
  double seconds;
};
struct MemoryTable {
  MemoryKernel kernel = MemoryKernel::copy;
  DType dtype = DType::bf16;
  std::vector<MemoryRow> rows;  // ascending by (rows, width), no shape twice
  Basis basis = Basis::measured;
  std::string file, source, licence, caveats;
};

// One measured fused attention. `causal` rows compute half of the score square. Logarithms as for
// GEMMs: of the sequence, of batch x heads, of heads / kv_heads, of the head size.
struct AttentionRow {
  AttentionRow(double batch_, double sequence_, double heads_, double kv_heads_, double head_dim_,
               bool causal_, double seconds_)
      : batch(batch_),
        sequence(sequence_),
        heads(heads_),
        kv_heads(kv_heads_),
        head_dim(head_dim_),
        causal(causal_),
        seconds(seconds_),
        log2_sequence(std::log2(static_cast<float>(sequence_))),
        log2_blocks(std::log2(static_cast<float>(batch_ * heads_))),
        log2_share(std::log2(static_cast<float>(heads_ / kv_heads_))),
        log2_head_dim(std::log2(static_cast<float>(head_dim_))) {}
  double batch, sequence, heads, kv_heads, head_dim;
  bool causal;
  double seconds;
  float log2_sequence, log2_blocks, log2_share, log2_head_dim;
};
struct AttentionTable {
  DType dtype = DType::bf16;
  bool backward = false;
  std::vector<AttentionRow>
      rows;  // ascending by (sequence, batch, heads, kv_heads, head_dim, causal), none twice
  Basis basis = Basis::measured;
  std::string file, source, licence, caveats;
};

// Times of one collective over one group shape; sizes ascending, as nccl-tests counts bytes. Of several
// tables of one operation and shape the first in DeviceProfile::collectives leads; a later one only serves
// sizes beyond its end. A table of another device (basis guess) only corrects NCCL's model.
struct CollectiveTable {
  CollectiveOp op;
  int nodes = 1, per_node = 1;  // ranks = nodes x per_node; a node is what NVLink joins
  // Of several nodes: what joins them, in the word that topologies have for it, the rate of all NICs of a
  // node that the ranks use, and the latency from node to node.
  std::string network;
  BytesPerSec node_network;
  Seconds network_latency{2.7e-6};
  std::vector<double> bytes, seconds;
  Basis basis = Basis::measured;
  std::string file, source, licence, caveats;
};

// Where NCCL's cost model does not hold (no architecture): one way to run a collective. latency = base +
// hops, and the share of the wire rate that carries data.
struct CollectiveAlgorithm {
  std::string name;  // "ring-ll"
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  Constant base_s, hop_nvlink_s, hop_network_s;
  Constant payload;  // fraction of the bytes on a wire that are payload: 1/2 for LL, 120/128 for LL128, 1 for
                     // Simple
};

// Constants that belong to the software rather than to the chip; one set per software generation.
struct Stack {
  std::string name, help;
  Constant gemm_scale;         // multiplies GEMM times
  Constant memory_efficiency;  // fraction of HBM bandwidth that memory-bound passes reach
  Constant kernel_floor_s;     // least time of any kernel on the device, s
  Constant host_per_kernel_s;  // CPU time to issue one kernel, s
  Constant host_per_exchange_s{
      0, Basis::guess, "not given"};   // idle compute before a forward or backward where transfers between
                                       // stages block: the host waits for them before it issues kernels, s
  Constant overlap_slowdown;           // extra time of compute beside a collective, fraction
  Constant network_efficiency;         // fraction of the NIC line rate that collectives reach
  Constant p2p_efficiency;             // the same for stage-to-stage transfers
  Constant wgrad_scale;                // weight-gradient GEMM time over forward GEMM of the same shape
  Constant grad_accumulate_bytes;      // HBM bytes a parameter and micro-batch to add gradients
  Constant loss_bytes_per_logit;       // HBM bytes a logit for the loss, forward and backward together
  Constant optimizer_bytes_per_param;  // HBM bytes a parameter for one optimizer step
  Constant straggler_per_doubling;     // extra step fraction per doubling of GPUs beyond one node
  Constant blocking_launches;          // 1: a kernel is issued only when the one before has ended
                                       // (CUDA_LAUNCH_BLOCKING=1); 0: the host runs ahead
  NcclFilter nccl;                     // what NCCL may choose from (NCCL_ALGO, NCCL_PROTO); not of a profile
};

struct DeviceProfile {
  std::string name;             // "a100-sxm4-80gb"
  std::string file;             // path it was read from
  std::string digest;           // of the YAML and its tables, for provenance
  Constant memory_bytes;        // capacity
  Constant hbm_bytes_per_s;     // data-sheet bandwidth
  Constant nvlink_bytes_per_s;  // one GPU, one direction, of the node that the tables were measured on
  Constant nvlink_latency_s;    // GPU to GPU, of the same node
  Constant sms;                 // streaming multiprocessors
  Constant framework_bytes;     // CUDA context, NCCL buffers, allocator slack
  std::vector<std::pair<DType, Constant>> peak_flops;  // dense, FLOP/s
  std::vector<GemmTable> gemm;                         // one a type and role
  std::vector<BatchedGemmTable> batched_gemm;          // one a type
  std::vector<MemoryTable> memory;                     // one a kernel and type
  std::vector<AttentionTable> attention;
  Constant attention_backward;  // backward time over forward time of fused attention, where no table has it
  Constant odd_head_flops;  // FLOP/s of batched GEMMs whose n or k is not a multiple of 8, without a table
  std::vector<CollectiveTable> collectives;
  std::optional<GpuArchitecture> architecture;  // by which NCCL's cost model prices what no table measures
  double nccl_latency_scale = 1;                // of its latencies; other than 1 in studies of latency
  std::vector<CollectiveAlgorithm>
      algorithms;              // at least one where there is no architecture, which serves in their place
  Constant nvlink_efficiency;  // in-node fraction of line rate where no table measures it
  Constant p2p_nvlink_latency_s, p2p_network_latency_s;  // software's share of a point-to-point transfer
  std::vector<Stack> stacks;
  std::string default_stack;

  const Constant* peak(DType t) const {
    for (const auto& [dtype, flops] : peak_flops)
      if (dtype == t) return &flops;
    return nullptr;
  }
  const Stack* stack(const std::string& wanted) const {
    for (const auto& s : stacks)
      if (s.name == wanted) return &s;
    return nullptr;
  }
};

}  // namespace rehearse
