#include "sim/spec/bus_factor.hpp"

namespace rehearse {

double bytes_sent_per_rank(CollectiveOp op, int ranks, double bytes) {
  if (ranks <= 1) return 0;
  const double share = (ranks - 1.0) / ranks;
  switch (op) {
    case CollectiveOp::all_reduce:
      return 2 * share * bytes;
    case CollectiveOp::send_recv:
      return bytes;
    default:
      return share * bytes;
  }
}

double bus_factor(CollectiveOp op, int ranks) {
  return op == CollectiveOp::broadcast ? 1 : bytes_sent_per_rank(op, ranks, 1);
}

}  // namespace rehearse
