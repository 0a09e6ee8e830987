// Bytes that a collective moves over links, by its algorithm.
#pragma once
#include "sim/cost/collective.hpp"

namespace rehearse {

// Bytes that one who is neither root nor leaf sends in a tree's all_reduce: once up and once down; of two
// members each sends once. A node's GPUs are a chain in it.
double tree_bytes(int members, double bytes);

// Bytes that leave (and enter) each node over its NICs, flags of the protocol included; 0 in one node. Rings
// 2(n-1)/n or (n-1)/n of the bytes; trees over nodes twice the bytes, on two nodes once; SHARP once;
// hierarchical 2(N-1)/N, N nodes; all_to_all g(n-g)/n; send_recv and broadcast once.
double wire_bytes(const CollectiveQuery& query, Algorithm algorithm, Protocol protocol);

// Least seconds of the bytes that the algorithm moves, on links at line rate.
double line_time(const CollectiveQuery& query, Algorithm algorithm, Protocol protocol);

// A measured time where NVLink's latency is not the one that it was measured with: of how many waits for it
// the time consists is not known, so that the fewest of the operation are counted. What is taken off leaves
// those waits and the bytes at line rate.
Seconds with_nvlink_latency(const DeviceProfile& profile, const CollectiveQuery& query, Seconds measured,
                            Algorithm algorithm, Protocol protocol);

}  // namespace rehearse
