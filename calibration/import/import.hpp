// Samples out of what others measured: the text and the JSON of nccl-tests, and CSV tables.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calibration/samples/sample.hpp"

namespace rehearse::calibration {

struct ImportOptions {
  std::string gpu;  // the device; where ranks list several, what to file them under
  std::string source, licence, caveats, library, driver, toolkit, topology;
  std::optional<CollectiveOp> op;  // where a log does not name its operation
  std::optional<DType> dtype;      // where a table has no column for it; also replaces the column's
  int ranks = 0, nodes = 0;        // where a log does not list its ranks; 0: by the log
  std::string network;             // word of the network between nodes
  double node_network_bytes_per_s = 0, network_latency_s = 0;  // of all NICs of a node; 0: not known
  int domain = 1;          // nodes that NVLink joins: together they are one node of what is written
  double least_bytes = 0;  // collectives of fewer bytes are left out
  bool thin = false;       // of collectives only the size nearest to each power of two
  std::vector<std::pair<std::string, std::string>> where;    // column = value: other rows are left out
  std::vector<std::pair<std::string, std::string>> kernels;  // a table's word for a kernel = the simulator's
  Limits limits;  // rows beyond them become rejected samples; 0: not checked
};

struct Imported {
  Environment environment;
  std::vector<Sample> samples;
  std::vector<std::string> notes;  // what was left out, and why
};

// Reads one file's text. Of out-of-place and in-place times the smaller is kept: the first calls of a size
// are often slow out of place only. Where a log's end says that results were wrong and no row says which, all
// samples are rejected. Throws InputErrors with line and column:
//   E-IMPORT-FORMAT   neither text or JSON of nccl-tests or rccl-tests nor a CSV table of known columns
//   E-IMPORT-HEADER   a table without its header, or with other columns
//   E-IMPORT-ROW      a row that is cut, too long, or holds what is no number
//   E-IMPORT-TWO      a second table, of another group or without a list of its ranks
//   E-IMPORT-RANKS    ranks that are not listed or not all, of different GPUs, on hosts that cannot be told
//   apart E-IMPORT-ONE-RANK a collective of one rank E-IMPORT-OP       an operation that is not named, or not
//   known E-IMPORT-BUSBW    busbw 0 where time and size say otherwise; time, algbw and busbw that contradict
Imported import_text(const std::string& text, const std::string& file, const ImportOptions& options);

}  // namespace rehearse::calibration
