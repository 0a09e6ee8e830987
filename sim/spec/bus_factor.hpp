// What a collective moves, whatever carries it.
#pragma once
#include "sim/spec/profile.hpp"

namespace rehearse {

// Bytes that one rank sends, ring algorithms: all_reduce 2(n-1)/n x bytes; all_gather, reduce_scatter,
// all_to_all and broadcast (mean over ranks) (n-1)/n x bytes; send_recv bytes; 0 for one rank.
double bytes_sent_per_rank(CollectiveOp op, int ranks, double bytes);

// Bus bandwidth factor of nccl-tests: busbw = bytes / time x factor. all_reduce 2(n-1)/n; all_gather,
// reduce_scatter, all_to_all (n-1)/n; send_recv, broadcast 1.
double bus_factor(CollectiveOp op, int ranks);

// Waits for a link, one after the other, that no algorithm does without.
constexpr int fewest_hops(CollectiveOp op) { return op == CollectiveOp::all_reduce ? 2 : 1; }

}  // namespace rehearse
