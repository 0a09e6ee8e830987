// Measured collectives to compare with: what nccl-tests prints, or a table of columns
// op,ranks,nodes,gpus_per_node,bytes,time_us,algbw_GBps,busbw_GBps,inplace_time_us.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/spec/profile.hpp"

namespace rehearse {

struct MeasuredCollective {
  // What the file says of itself; a log need not say any of it.
  std::optional<CollectiveOp> op;
  std::optional<bool> reduces;  // by the redop of a log's rows
  int ranks = 0, nodes = 0;     // 0: not said; nodes: of a log its hosts
  std::string gpu;              // as a log names that of its first rank
  Place of_op, of_ranks, of_reduces;
  struct Row {
    double bytes = 0, seconds = 0;  // the smaller of out of place and in place
    double bus_factor = 0;          // busbw over bytes / time, as a log printed it; 0: not precise enough
    Place place;
  };
  std::vector<Row> rows;  // in the order of the file
};

// Throws InputErrors with the line: E-AGAINST where the file holds no row, a row is cut or holds what is no
// number, results were wrong, or rows are of several operations or groups; E-FILE-READ.
MeasuredCollective read_measured_collective(const std::string& path);

}  // namespace rehearse
