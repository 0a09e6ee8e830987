// Times of collectives and transfers. Pure functions of profile, stack, group shape and size. Bytes as
// nccl-tests counts them: all_reduce and broadcast the vector, all_gather the gathered output, reduce_scatter
// and all_to_all the whole input of a rank, send_recv (ring shift) the message.
#pragma once
#include <string>

#include "sim/plan/layout.hpp"
#include "sim/spec/profile.hpp"

namespace rehearse {

// Bytes that one rank sends, ring algorithms: all_reduce 2(n-1)/n x bytes; all_gather, reduce_scatter,
// all_to_all and broadcast (mean over ranks) (n-1)/n x bytes; send_recv bytes; 0 for one rank.
double bytes_sent_per_rank(CollectiveOp op, int ranks, double bytes);

struct CollectiveTime {
  Seconds time;
  Basis basis = Basis::guess;
  bool outside = false;  // more than a factor 4 beyond the measured sizes, or no table
};

// A collective inside one node, a calibrated duration. Between measured sizes alpha-beta through both, below
// the first size its time, beyond the last alpha-beta through it with the slope of the table's end. Group
// sizes without a table are interpolated linearly in ranks between tables at equal bytes sent per rank; above
// the largest table each further hop costs a ring-ll NVLink hop. Operations without a table: least over the
// profile's algorithms of latency + bytes / rate. `nvlink` (one GPU, one direction): the part of a time above
// the smallest size's scales with the profile's rate over it. One rank takes no time.
CollectiveTime in_node_collective(const DeviceProfile& profile, const Stack& stack, CollectiveOp op,
                                  int ranks, Bytes bytes, BytesPerSec nvlink);

struct WireCollective {
  Seconds latency;  // before the first byte
  double bytes_per_node =
      0;  // that leave, and enter, each node over all its NICs, flags of the protocol included
  BytesPerSec
      in_node_cap;  // rate at which the in-node leg could move bytes_per_node; infinite for one rank a node
  Basis basis = Basis::guess;
  const CollectiveAlgorithm* algorithm = nullptr;  // chosen row of the profile
};

// A collective over shape.nodes x shape.per_node ranks, more than one node. Chooses the algorithm and
// protocol of the profile with the least latency + bytes / rate on an idle network, rate = min(in_node_cap,
// node_network). Latencies as in NCCL's tuning model (src/graph/tuning.cc): ring base + (steps - x) NVLink
// hops + x network hops, all_reduce steps 2(n-1) and x = 2(N-1), all_gather, reduce_scatter, broadcast n-1
// and N-1; tree (all_reduce only) base + 2((g-1) NVLink + floor(log2 N) network). Wire bytes of a node: ring
// 2(n-1)/n or (n-1)/n x bytes; double binary tree 2 x bytes, on two nodes bytes; all_to_all g (n-g)/n x
// bytes; send_recv and broadcast bytes; over the payload share of the protocol. `node_network`: line rate of
// all NICs of a node that the group uses; only used to choose. `nic_latency`: added to every network hop.
WireCollective across_nodes(const DeviceProfile& profile, const Stack& stack, CollectiveOp op,
                            const GroupShape& shape, Bytes bytes, BytesPerSec nvlink,
                            BytesPerSec node_network = BytesPerSec(200e9), Seconds nic_latency = Seconds(0));

// One transfer between two GPUs of a node: by the send_recv table of two ranks where there is one, with the
// difference between `nvlink_latency` and the profile's added; else software and link latency + bytes / rate.
CollectiveTime p2p_in_node(const DeviceProfile& profile, Bytes bytes, BytesPerSec nvlink,
                           Seconds nvlink_latency);

// Latency of a transfer between GPUs of different nodes: the profile's software part + the NIC's own.
Seconds p2p_network_latency(const DeviceProfile& profile, Seconds nic_latency);

// As a GPU trace names the kernel: "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"; the protocol by the size at
// which NCCL changes it on one node of 8 A100: LL to 2 MiB, LL128 to 16 MiB, then SIMPLE.
std::string nccl_kernel_name(CollectiveOp op, DType dtype, Bytes bytes);

}  // namespace rehearse
