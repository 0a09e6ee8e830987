// What a collective takes: one question, one answer, and a table of strategies that answer it. Pure functions
// of profile and question. Bytes as nccl-tests counts them: all_reduce and broadcast the vector, all_gather
// the gathered output, reduce_scatter and all_to_all the whole input of a rank, send_recv (ring shift) the
// message.
#pragma once
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "sim/plan/layout.hpp"
#include "sim/spec/bus_factor.hpp"

namespace rehearse {

// The group, how its GPUs are joined, and what may run. A node is what NCCL takes for one: an NVLink domain.
struct CollectiveQuery {
  CollectiveOp op = CollectiveOp::all_reduce;
  int ranks = 2, nodes = 1, per_node = 2;  // per_node: of the fullest node
  double bytes = 0;
  bool pcie = false;              // joins the GPUs of a node, in place of NVLink
  BytesPerSec in_node;            // of that link, one GPU, one direction
  Seconds nvlink_more;            // latency of NVLink beyond the profile's
  Seconds pcie_latency;           // GPU to GPU; of one node
  BytesPerSec node_network{0};    // line rate of all NICs of a node that the ranks use
  double network_share = 1;       // of that rate that links carry
  int nics = 0;                   // of these; 0: one a GPU
  Seconds nic_latency;            // node to node
  std::string_view network = {};  // its word, which measured tables name too; empty: any
  bool sharp = false;             // its switches reduce
  NcclFilter filter = {};
};

struct CollectiveCost {
  Seconds time;     // alone on idle links of the question's rates
  Seconds latency;  // before the first byte, where there are links; no more than `time`
  // Bytes that go each way over all NICs of a node, or (PCIe) over each edge of a ring, flags of the protocol
  // included; 0 inside an island, which no link leaves.
  double link_bytes = 0;
  BytesPerSec rate_cap{
      std::numeric_limits<double>::infinity()};  // of link_bytes, whatever the links let pass
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  Basis basis = Basis::guess;  // measured: at a size of a table of this very group
  bool outside = false;        // more than a factor 4 beyond the measured sizes, or no table near the group

  bool switches_reduce() const {
    return algorithm == Algorithm::nvls || algorithm == Algorithm::collnet_direct ||
           algorithm == Algorithm::collnet_chain;
  }
};

// A way to answer. Another one is a row, and a .cpp with its function.
struct CollectiveStrategy {
  std::string_view name, help;
  // Nothing where the question is none of its own.
  std::optional<CollectiveCost> (*price)(const DeviceProfile& profile, const CollectiveQuery& query);
  bool padded;  // asked at several sizes, so that no call takes longer than one of more bytes
};
std::span<const CollectiveStrategy> collective_strategies();

// By the first strategy that answers. Where it is padded: at powers of two and at the sizes of tables of this
// very group, each no more than at a larger one, linear in the bytes between them; algorithm and protocol are
// those of `bytes` itself. One rank takes no time. Throws InputErrors (E-NCCL-ALGO) where the filter leaves
// nothing that can run, std::invalid_argument where the profile has neither an architecture nor algorithms.
CollectiveCost collective_cost(const DeviceProfile& profile, const CollectiveQuery& query);

// The question that a group asks which lies as `shape`. `ports` and `hop_latency` as in plan/group_links.hpp.
CollectiveQuery query_of(const Scenario& scenario, CollectiveOp op, const GroupShape& shape, Bytes bytes,
                         int ports, Seconds hop_latency);
CollectiveCost group_collective(const Scenario& scenario, CollectiveOp op, const GroupShape& shape,
                                Bytes bytes, int ports, Seconds hop_latency);

}  // namespace rehearse
