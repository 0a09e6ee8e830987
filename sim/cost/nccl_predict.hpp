// What a collective takes on GPUs that NCCL's cost model knows: a table measured for the very group, or
// NCCL's model times what was measured over what it says in the other tables of the profile.
#pragma once
#include <string_view>

#include "sim/cost/nccl_model.hpp"

namespace rehearse {

struct CollectiveCase {
  CollectiveOp op = CollectiveOp::all_reduce;
  int ranks = 2, nodes = 1, per_node = 2;  // per_node: of the fullest node
  double bytes = 0;                        // as nccl-tests counts them
  BytesPerSec nvlink;                      // one GPU, one direction
  BytesPerSec node_network;                // line rate of all NICs of a node that the ranks use
  double network_share = 1;                // of that rate that links carry
  int nics = 0;                            // of these; 0: one a GPU
  Seconds nic_latency;                     // node to node
  Seconds nvlink_more;                     // latency of NVLink beyond the profile's
  std::string_view network;                // its word; empty: any
  bool sharp = false;
  bool pcie = false;  // joins the GPUs of a node, in place of NVLink
};

struct Prediction {
  Seconds time;
  Seconds latency;                       // of the model, no more than `time`
  std::string_view algorithm, protocol;  // by the model; "p2p" and "simple" where there is none
  Basis basis = Basis::guess;            // measured: at a size of a table of this very group
  bool outside = false;  // more than a factor 4 beyond a table's sizes, or no table near enough to correct
};

// The model alone. all_to_all and send_recv (a ring shift), which have no algorithm, by 8 us + 0.6 us a rank
// (send_recv 10 us) and the slower of NVLink and the bytes that leave a node over 0.926 of its NICs' rate,
// which 2 nodes of B300 and 2 racks of GB200 reach within 4 %. Throws InputErrors (E-NCCL-ALGO) where nothing
// that the filter allows can run.
Prediction nccl_prediction(const DeviceProfile& profile, const CollectiveCase& c, const NcclFilter& filter);

// A table of the same operation, nodes and ranks a node, network word and (within a factor 1.5) rate wins;
// what is not latency in it scales with the rate of the links. Else the model times exp(mean of log
// (measured / model) over the profile's tables, each at the size with as many bytes a rank, weighed by
// exp(-distance / 0.4)) against a ratio of 1 at distance 2.2. Distances: all_gather to reduce_scatter 0.03,
// to all_reduce 1.4; 1.25 a doubling of ranks a node; 1.5 between one node and several and 0.15 a doubling of
// nodes; another network 1 and 1 a doubling of the rate; another device 0.6; 0.2 a doubling beyond the sizes.
// all_to_all and send_recv correct each other across nodes alone, at 1, and across nodes no table of one node
// corrects them, nor the reverse. Chosen by leaving each of 138 tables
// of six GPUs out (calibration/README.md). Never less than the bytes that the algorithm moves take on the
// links; of what can run the least by that. With a filter that forbids what NCCL would choose no table wins.
// `hierarchical` alone: an all_reduce over several nodes of several ranks is the sum of its three calls, all
// else as without it.
Prediction predict_collective(const DeviceProfile& profile, const CollectiveCase& c,
                              const NcclFilter& filter = {});

// Bytes that one who is neither root nor leaf sends in a tree's all_reduce: once up and once down; of two
// members each sends once. A node's GPUs are a chain in it.
double tree_bytes(int members, double bytes);

// Bytes that leave (and enter) each node over its NICs, flags of the protocol included; 0 in one node. Rings
// 2(n-1)/n or (n-1)/n of the bytes; trees over nodes twice the bytes, on two nodes once; SHARP once;
// hierarchical 2(N-1)/N, N nodes;
// all_to_all g(n-g)/n; send_recv and broadcast once.
double wire_bytes(const CollectiveCase& c, std::string_view algorithm, std::string_view protocol);

}  // namespace rehearse
