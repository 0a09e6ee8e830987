// NCCL's own cost model (NCCL 2.30.7, src/graph/tuning.cc; constants are facts of that file, Apache-2.0): a
// time for each algorithm and protocol that can run, of which NCCL takes the least.
//   time = latency + bytes / rate, bytes as the API counts them (all_gather, reduce_scatter: over all ranks)
// It is the rule by which NCCL chooses; what really passes differs from it by 10 to 40 % (see
// nccl_corrected.cpp).
#pragma once
#include <optional>

#include "sim/base/units.hpp"
#include "sim/spec/nccl.hpp"
#include "sim/spec/profile.hpp"

namespace rehearse {

// What NCCL's search finds in a machine, and what the model asks of it. Rates of one channel.
struct NcclSystem {
  GpuArchitecture architecture = GpuArchitecture::hopper;
  bool nvlink = true;  // joins the GPUs of a node; else PCIe
  bool amd = false;    // host CPU: AMD; else Intel
  bool sharp = false;  // the network reduces: CollNet
  bool plain_tree =
      false;            // the search found a plain tree (0.85 of the rate), not the balanced one of DGX nodes
  int channels = 0;     // of rings and trees
  BytesPerSec channel;  // inside a node where there is one, else between nodes
  // Of trees on 2 nodes, where each byte goes over the network once: NCCL counts what passes inside the node,
  // up to twice what the NICs let through (src/graph/search.cc).
  BytesPerSec tree_channel;
  int nvls_channels = 0;  // 0: none
  BytesPerSec nvls_in_node, nvls_network;
  Seconds nic_latency;       // that the NIC reports: beyond the model's own
  Seconds nvlink_latency;    // beyond the model's own, of each hop inside a node
  double latency_scale = 1;  // of all latencies
};

struct NcclTime {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  Seconds latency;
  BytesPerSec rate;  // of the bytes as the API counts them
  Seconds time;
};

// One algorithm and protocol over `ranks` on `nodes`, `per_node` on each; nothing where NCCL would not run
// it: broadcast by rings alone; all_gather and reduce_scatter by ring, PAT, NVLS, CollNetDirect; all_reduce
// by all but PAT; PAT with one GPU a node; NVLS and NVLSTree from Hopper on, over NVSwitch, from 5 GPUs a
// node on; NVLSTree over nodes; NVLS over nodes and CollNet with SHARP; LL and LL128 for rings and trees,
// LL128 over NVLink; never all_to_all and send_recv, which have no algorithm.
std::optional<NcclTime> nccl_time(const NcclSystem& system, CollectiveOp op, int ranks, int nodes,
                                  int per_node, double bytes, Algorithm algorithm, Protocol protocol);

// The least of those that the filter allows; nothing where none can run.
std::optional<NcclTime> nccl_choice(const NcclSystem& system, CollectiveOp op, int ranks, int nodes,
                                    int per_node, double bytes, const NcclFilter& filter = {});

// The search's result for nodes whose GPUs each have `nvlink` (data sheet, one direction) and whose NICs
// together have `node_network`, by the rates that NCCL counts a link with (20 of 25, 40.1 of 50 GB/s; 48 of a
// NIC's 50 GB/s): 12 channels inside a node; between nodes one a NIC, of 25 GB/s or more one for
// each 24 GB/s, at least 4; 8 of NVLS. `nics`: 0: one a GPU.
NcclSystem nccl_system(GpuArchitecture architecture, BytesPerSec nvlink, int nodes, int per_node,
                       BytesPerSec node_network, int nics = 0);

}  // namespace rehearse
