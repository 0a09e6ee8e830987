// Collectives of devices that NCCL's cost model does not know (a profile without `architecture`): tables,
// what lies between them, and the profile's own algorithms.
#pragma once
#include <vector>

#include "sim/cost/collectives.hpp"

namespace rehearse {

// Tables of one node and that many ranks, in the profile's order.
std::vector<const CollectiveTable*> tables_for(const DeviceProfile& profile, CollectiveOp op, int ranks);

// By tables, at least one; the part above the smallest size's time is scaled by `nvlink_ratio`.
CollectiveTime from_tables(const std::vector<const CollectiveTable*>& tables, double bytes,
                           double nvlink_ratio);

// Between measured sizes alpha-beta through both, below the first size its time, beyond the last alpha-beta
// through it with the slope of the table's end. Group sizes without a table are interpolated linearly in
// ranks between tables at equal bytes sent per rank; above the largest table each further hop costs a ring-ll
// NVLink hop. Operations without a table: least over the profile's algorithms of latency + bytes / rate.
// `nvlink_more`, latency beyond the profile's, is added to each of these hops, and to the fewest that a
// measured call has.
CollectiveTime plain_in_node(const DeviceProfile& profile, CollectiveOp op, int ranks, Bytes bytes,
                             BytesPerSec nvlink, Seconds nvlink_more);

// The algorithm with the least latency + bytes / rate on an idle network, rate = min(in_node_cap,
// node_network). Ring base + (steps - x) NVLink hops + x network hops, all_reduce steps 2(n-1) and x =
// 2(N-1), all_gather, reduce_scatter, broadcast n-1 and N-1; tree (all_reduce only) base + 2((g-1) NVLink +
// floor(log2 N) network). Wire bytes of a node: ring 2(n-1)/n or (n-1)/n x bytes; double binary tree 2 x
// bytes, on two nodes bytes; all_to_all g (n-g)/n x bytes; send_recv and broadcast bytes; over the payload
// share of the protocol.
WireCollective plain_across(const DeviceProfile& profile, const Stack& stack, CollectiveOp op,
                            const GroupShape& shape, Bytes bytes, BytesPerSec nvlink,
                            BytesPerSec node_network, Seconds nic_latency, Seconds nvlink_more);

}  // namespace rehearse
