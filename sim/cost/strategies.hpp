// The functions of the table of strategies, and what they share.
#pragma once
#include <vector>

#include "sim/cost/transfers.hpp"

namespace rehearse {

// pcie.cpp: a ring over the GPUs of one node, every edge over PCIe. Latency as across nodes, with the hops of
// NCCL's tuning model over PCI (src/graph/tuning.cc: LL 1.0, LL128 2.5, Simple 5.7 us) and the link's on
// each. By NCCL's model where the profile has an architecture, else the protocol of least time on an idle
// node.
std::optional<CollectiveCost> price_over_pcie(const DeviceProfile& profile, const CollectiveQuery& query);

// plain.cpp: devices that NCCL's model does not know (a profile without `architecture`).
// In one node by tables: between measured sizes alpha-beta through both, below the first size its time,
// beyond the last alpha-beta through it with the slope of the table's end. Group sizes without a table are
// interpolated linearly in ranks between tables at equal bytes sent per rank; above the largest table each
// further hop costs a ring-ll NVLink hop. Operations without a table: least over the profile's algorithms of
// latency + bytes / rate. `nvlink_more` is added to each of these hops, and to the fewest of a measured call.
// Over nodes the algorithm with the least latency + bytes / rate on an idle network. Ring base + (steps - x)
// NVLink hops + x network hops, all_reduce steps 2(n-1) and x = 2(N-1), all_gather, reduce_scatter, broadcast
// n-1 and N-1; tree (all_reduce only) base + 2((g-1) NVLink + floor(log2 N) network). Bytes of a node: ring
// 2(n-1)/n or (n-1)/n x bytes; double binary tree 2 x bytes, on two nodes bytes; all_to_all g (n-g)/n x
// bytes; send_recv and broadcast bytes; over the payload share of the protocol.
std::optional<CollectiveCost> price_plain(const DeviceProfile& profile, const CollectiveQuery& query);

// hierarchical.cpp: where nothing else is allowed, an all_reduce over several nodes of several ranks as
// reduce_scatter in each node, a ring over the nodes for each place in them, all_gather; the sum of the
// three.
std::optional<CollectiveCost> price_hierarchical(const DeviceProfile& profile, const CollectiveQuery& query);

// measured.cpp: a table of the same operation and ranks in one node; what is not latency in it scales with
// the rate of NVLink. Not where the filter forbids what NCCL would choose.
std::optional<CollectiveCost> price_measured(const DeviceProfile& profile, const CollectiveQuery& query);

// nccl_corrected.cpp: NCCL's model times exp(mean of log (measured / model) over the profile's tables, each
// at the size with as many bytes a rank, weighed by exp(-distance / 0.4)) against a ratio of 1 at
// distance 2.2. Distances: all_gather to reduce_scatter 0.03, to all_reduce 1.4; 1.25 a doubling of ranks a
// node; 4 between one node and several and 0.15 a doubling of nodes; another network 1 (6 of another kind:
// RDMA, EFA, TCP); another device 0.6; 0.2 a doubling beyond the sizes. all_to_all and send_recv correct each
// other across nodes alone, at 1, and across nodes no table of one node corrects them, nor the reverse.
// Chosen by leaving each of 138 tables of six GPUs out (calibration/README.md). Of what can run the least by
// that, and never less than the bytes that the algorithm moves take on the links; over nodes a table of this
// very group bounds it: no slower network is faster than a measured one, no faster one slower. Outside where
// no table is nearer than 2.2 or the nearest one is of another network.
std::optional<CollectiveCost> price_by_nccl(const DeviceProfile& profile, const CollectiveQuery& query);

// Whether a table was measured on the network that joins the nodes, as far as both are of several and name
// one.
bool network_agrees(const CollectiveQuery& query, const CollectiveTable& table);
// Of the very group of the question, measured; none where the filter forbids what NCCL would choose.
std::vector<const CollectiveTable*> tables_of_group(const DeviceProfile& profile,
                                                    const CollectiveQuery& query);
// Tables of one node and that many ranks, in the profile's order.
std::vector<const CollectiveTable*> tables_for(const DeviceProfile& profile, CollectiveOp op, int ranks);
// By tables, at least one; the part above the smallest size's time is scaled by `nvlink_ratio`.
CollectiveCost from_tables(const std::vector<const CollectiveTable*>& tables, double bytes,
                           double nvlink_ratio);

// By the first strategy that answers at this size alone.
CollectiveCost unpadded_cost(const DeviceProfile& profile, const CollectiveQuery& query);

}  // namespace rehearse
