// What a probe measures: one call of a kernel or a collective, or one beside the other. The same words as the
// simulator's ops (sim/spec/kernel.hpp), so that whatever a step contains can be measured and run.
#pragma once
#include <string>
#include <variant>

#include "sim/spec/kernel.hpp"
#include "sim/spec/profile.hpp"

namespace rehearse::calibration {

// Which ranks take part. Ranks are numbered node by node. Groups of `size` ranks with `stride` between
// neighbours tile the job: stride 1 is a TP group, stride tp a DP group. `concurrent`: all groups at once, as
// in training; else only that of rank 0. `nodes` and `per_node` say how one group lies: size = nodes x
// per_node.
struct Group {
  int size = 1, stride = 1;
  bool concurrent = false;
  int nodes = 1, per_node = 1;
  bool operator==(const Group&) const = default;
};

// Bytes as nccl-tests counts them: all_reduce and broadcast the vector, all_gather the gathered output,
// reduce_scatter and all_to_all the whole input of a rank, send_recv (ring shift) the message.
struct CollectiveCall {
  CollectiveOp op;
  DType dtype;
  double bytes;
  Group group;
  bool in_place = false;
  bool operator==(const CollectiveCall&) const = default;
};

// An empty kernel: `graph` replayed from a graph, else issued one by one.
struct LaunchCall {
  bool graph;
  bool operator==(const LaunchCall&) const = default;
};

// A kernel beside a collective that runs all the time, and the reverse; `channels` (CTAs, thus SMs) the
// collective may take, 0 = as the library chooses.
struct OverlapCall {
  std::variant<GemmCall, AttentionCall, MemoryCall> kernel;
  CollectiveCall collective;
  int channels = 0;
  bool operator==(const OverlapCall&) const = default;
};

using Work = std::variant<GemmCall, AttentionCall, MemoryCall, CollectiveCall, LaunchCall, OverlapCall>;

// The point's name, unique for the work: "gemm bf16 forward m=2048 n=12288 k=6144",
// "all_reduce fp16 bytes=1048576 ranks=8 nodes=1x8", "... beside ...". Key of resumption, and parsed by
// nobody: samples hold the work as JSON too.
std::string point_of(const Work& work);

// FLOPs that the call does (0 where it does none worth counting), as the simulator counts them: GEMM 2 m n k
// batch; attention 4 batch heads sequence^2 head_dim, half when causal, 2.5 times for the backward.
double flops_of(const Work& work);

// Least bytes of device memory that the call must move: operands once. For collectives 0.
double bytes_of(const Work& work);

}  // namespace rehearse::calibration
