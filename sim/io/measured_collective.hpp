// Measured collectives to compare with: what nccl-tests prints, or a table of columns
// op,ranks,nodes,gpus_per_node,bytes,time_us,algbw_GBps,busbw_GBps,inplace_time_us.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sim/spec/profile.hpp"

namespace rehearse {

struct MeasuredCollective {
  // What a table says of itself; a log of nccl-tests does not.
  std::optional<CollectiveOp> op;
  int nodes = 0, per_node = 0;
  struct Row {
    double bytes = 0, seconds = 0;  // the smaller of out of place and in place
  };
  std::vector<Row> rows;  // in the order of the file
};

// Throws InputErrors with the line: E-AGAINST where the file holds no row, a row is cut or holds what is no
// number, or rows are of several operations or groups; E-FILE-READ.
MeasuredCollective read_measured_collective(const std::string& path);

}  // namespace rehearse
