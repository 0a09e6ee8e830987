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
  std::optional<CollectiveOp> op;
  int ranks = 0, nodes = 0;  // nodes: of a log its hosts; 0: not said
  std::string gpu;           // as a log names that of its first rank
  Place of_op, of_ranks;
  struct Row {
    double bytes = 0, seconds = 0;  // the smaller of out of place and in place
    Place place;
  };
  std::vector<Row> rows;  // of a log by size
};

// What the caller knows of the group; 0: the file tells.
struct AskedGroup {
  int ranks = 0, per_node = 0;
};

// Of a log the tables of `op`. Throws InputErrors with the line: E-AGAINST where the file holds no row, a row
// is cut or holds what is no number, results were wrong, rows are of another operation or of several groups,
// or neither the log nor `asked` says who took part; E-FILE-READ.
MeasuredCollective read_measured_collective(const std::string& path, CollectiveOp op,
                                            const AskedGroup& asked);

}  // namespace rehearse
