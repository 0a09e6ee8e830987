// Times of collectives and transfers. Pure functions of profile, stack, group shape and size. Bytes as
// nccl-tests counts them: all_reduce and broadcast the vector, all_gather the gathered output, reduce_scatter
// and all_to_all the whole input of a rank, send_recv (ring shift) the message.
#pragma once
#include <string>
#include <string_view>

#include "sim/plan/layout.hpp"
#include "sim/spec/bus_factor.hpp"

namespace rehearse {

struct CollectiveTime {
  Seconds time;
  Basis basis = Basis::guess;
  bool outside = false;  // more than a factor 4 beyond the measured sizes, or no table near the group
  std::string_view algorithm = "ring",
                   protocol = "simple";  // as NCCL's model chooses; "p2p" where it has none
};

// What a cluster says of collectives beyond rates and latencies.
struct CollectiveContext {
  std::string_view network;  // word of the network, which measured tables name too; empty: any
  bool sharp = false;        // switches reduce
  bool pcie = false;         // joins the GPUs of a node, in place of NVLink
  Seconds nvlink_more;       // latency of NVLink beyond the profile's
  int nics = 0;              // of a node that the ranks use; 0: one a GPU
};

// A collective inside one node, a calibrated duration: a table of this operation and number of ranks, or
// NCCL's model as the profile's other tables correct it (nccl_predict.hpp); without an architecture in the
// profile as plain_collectives.hpp. Never more than with more bytes (padded.hpp). `nvlink` (one GPU, one
// direction): the part of a time above the smallest size's scales with the profile's rate over it. One rank
// takes no time. Throws InputErrors (E-NCCL-ALGO) where Stack::nccl leaves nothing that can run.
CollectiveTime in_node_collective(const DeviceProfile& profile, const Stack& stack, CollectiveOp op,
                                  int ranks, Bytes bytes, BytesPerSec nvlink,
                                  const CollectiveContext& context = {});

struct WireCollective {
  Seconds latency;  // before the first byte
  double bytes_per_node =
      0;  // that leave, and enter, each node over all its NICs, flags of the protocol included
  BytesPerSec in_node_cap;  // most at which bytes_per_node move; infinite where nothing but links limits them
  Basis basis = Basis::guess;
  Seconds time;          // alone on an idle network, by tables or the model; 0 without an architecture
  bool outside = false;  // as CollectiveTime
  std::string_view algorithm = "ring", protocol = "simple";

  bool switches_reduce() const { return algorithm == "nvls" || algorithm.starts_with("collnet"); }
};

// A collective over shape.nodes x shape.per_node ranks, more than one node: what padded.hpp says it
// takes alone, as a flow that takes just that on links of `node_network`. `node_network`: rate that the links
// of all NICs of a node that the group uses carry: line rate x Stack::network_efficiency. `nic_latency`: node
// to node; what it has beyond 2.7 us is added to every network hop. Without an architecture in the profile as
// plain_collectives.hpp. Throws as in_node_collective().
WireCollective across_nodes(const DeviceProfile& profile, const Stack& stack, CollectiveOp op,
                            const GroupShape& shape, Bytes bytes, BytesPerSec nvlink,
                            BytesPerSec node_network = BytesPerSec(200e9), Seconds nic_latency = Seconds(0),
                            const CollectiveContext& context = {});

// One transfer between two GPUs of a node: by the send_recv table of two ranks where there is one, with the
// difference between `nvlink_latency` and the profile's added; else software and link latency + bytes / rate.
CollectiveTime p2p_in_node(const DeviceProfile& profile, Bytes bytes, BytesPerSec nvlink,
                           Seconds nvlink_latency);

// Latency of a transfer between GPUs of different nodes: the profile's software part + the NIC's own.
Seconds p2p_network_latency(const DeviceProfile& profile, Seconds nic_latency);

// As a GPU trace names the kernel: "ncclDevKernel_AllReduce_Sum_bf16_RING_LL".
std::string nccl_kernel_name(CollectiveOp op, DType dtype, std::string_view algorithm,
                             std::string_view protocol);

// The same of a ring; the protocol by the size at
// which NCCL changes it on one node of 8 A100: LL to 2 MiB, LL128 to 16 MiB, then SIMPLE.
std::string nccl_kernel_name(CollectiveOp op, DType dtype, Bytes bytes);

}  // namespace rehearse
