#include "sim/cost/moved_bytes.hpp"

#include <algorithm>

namespace rehearse {

double tree_bytes(int members, double bytes) { return (members > 2 ? 2 : 1) * bytes; }

double wire_bytes(const CollectiveQuery& q, Algorithm algorithm, Protocol protocol) {
  if (q.nodes < 2) return 0;
  const double n = q.ranks, flags = wire_factor(protocol);
  if (q.op == CollectiveOp::all_to_all) return q.per_node * (n - q.per_node) / n * q.bytes;
  if (q.op == CollectiveOp::send_recv || q.op == CollectiveOp::broadcast) return q.bytes * flags;
  switch (algorithm) {
    case Algorithm::hierarchical:
      return bytes_sent_per_rank(q.op, q.nodes, q.bytes) * flags;
    case Algorithm::nvls:
    case Algorithm::collnet_direct:
    case Algorithm::collnet_chain:
      return q.op == CollectiveOp::all_reduce ? q.bytes : (q.nodes - 1.0) / q.nodes * q.bytes;
    case Algorithm::tree:
    case Algorithm::nvls_tree:
      return tree_bytes(q.nodes, q.bytes) * flags;
    default:
      return bytes_sent_per_rank(q.op, q.ranks, q.bytes) * flags;
  }
}

static double in_node_bytes(const CollectiveQuery& q, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::tree:
      return tree_bytes(q.per_node, q.bytes);
    case Algorithm::nvls:
    case Algorithm::nvls_tree:
    case Algorithm::collnet_direct:
    case Algorithm::collnet_chain:
      if (q.op == CollectiveOp::all_reduce) return q.bytes;
      [[fallthrough]];
    default:
      return bytes_sent_per_rank(q.op, q.ranks, q.bytes);
  }
}

double line_time(const CollectiveQuery& q, Algorithm algorithm, Protocol protocol) {
  const double in_node = q.per_node > 1 ? in_node_bytes(q, algorithm) / q.in_node.value : 0;
  if (q.nodes == 1) return in_node;
  const double links = q.node_network.value * q.network_share;
  if (q.op == CollectiveOp::send_recv) return q.bytes * q.per_node / links;
  const double wire = wire_bytes(q, algorithm, protocol) / links;
  return q.op == CollectiveOp::all_to_all ? wire : std::max(in_node, wire);
}

Seconds with_nvlink_latency(const DeviceProfile& profile, const CollectiveQuery& q, Seconds measured,
                            Algorithm algorithm, Protocol protocol) {
  if (q.per_node < 2) return measured;
  const Seconds latency = Seconds(profile.nvlink_latency_s.value) + q.nvlink_more;
  const Seconds least = latency * fewest_hops(q.op) + Seconds(line_time(q, algorithm, protocol));
  return std::max(measured + q.nvlink_more * fewest_hops(q.op), std::min(measured, least));
}

}  // namespace rehearse
