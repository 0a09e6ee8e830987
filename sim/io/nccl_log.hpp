// What nccl-tests and rccl-tests print: a list of ranks and a table of sizes for each test, inside of
// whatever else a log holds, behind the tags of launchers; what they write with -J; JSON lines. One reader
// for all who take logs.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/spec/nccl.hpp"
#include "sim/spec/profile.hpp"

namespace rehearse {

// "Rank  0 Group  0 Pid 1887 on worker-1 device  0 [0x8d] NVIDIA H100 80GB HBM3", without "Group"
// before 2.11.
struct LogDevice {
  int rank = -1, group = 0;
  std::string host, name;
  int local = -1;  // number of the device on its host
  Place place;
};

// One size. Times in us, rates in GB/s of 10^9.
struct NcclRow {
  double bytes = 0, count = 0;
  std::string type, redop;
  struct Half {
    double time_us = 0, algbw = 0, busbw = 0, wrong = 0;
    // Of the last digit printed: how far rounding may be off.
    double algbw_step = 0, busbw_step = 0, time_step = 0;
  };
  std::vector<Half> halves;  // out of place, in place
  Place place;
  int type_column = 0;
  std::string path;  // in a file of JSON: "results[3]"
  double wrong() const;
  double best_us() const;  // of both halves the smaller
};

struct NcclTable {
  std::string program;  // "all_reduce_perf"; empty where nothing names it
  Place of_program;
  std::vector<LogDevice> devices;
  int ranks = 0, nodes = 0;  // where a file states them and lists no devices
  Place abridged;            // line 0: nothing says that some of the list are left out
  Place header;              // line 0: rows without a header, their columns by their number
  std::vector<NcclRow> rows;
  int empty_rows = 0;  // of 0 bytes, left out
  std::string failed;  // its last word on wrong results: "Out of bounds values : 3 FAILED"
  Place of_failed;
  std::optional<CollectiveOp> op() const;
  bool rows_tell() const;  // a row says that it is wrong
};

struct NcclLog {
  std::string library;                           // "NCCL 2.29.3"
  std::string started;                           // as written
  std::map<std::string, std::string> variables;  // NCCL_*, of -J
  std::vector<NcclTable> tables;                 // at least one, each with a row or an empty one
};

// Text or JSON, as the file holds it, behind whatever tags; nothing where it is neither.
std::optional<NcclLog> read_nccl(std::string_view text, const std::string& file);

// Throws InputErrors with line and column: E-IMPORT-HEADER, E-IMPORT-ROW, E-IMPORT-TWO, E-IMPORT-RANKS.
// `file`: as messages name it.
NcclLog read_nccl_log(std::string_view text, const std::string& file);
// The same of -J (versions 1 and 2) and of JSON lines of rccl-tests; all that is wrong is E-IMPORT-*.
NcclLog read_nccl_json(std::string_view text, const std::string& file);

// Who took part in each call of a table.
struct LoggedGroup {
  int ranks = 0, nodes = 0;
  int hosts = 0;            // that the log lists; 0: it lists none, not all, or they cannot be told apart
  int stride = 1;           // between its ranks
  bool concurrent = false;  // groups alike ran beside it
  std::string gpu;          // of its first rank
  Place place;              // of the last line that says so
  int per_node() const { return ranks / nodes; }
};
// `ranks`, `nodes`: as the user says, before what the log does; 0: by the log. Throws E-IMPORT-RANKS where
// both leave it open or contradict: ranks are missing, hosts cannot be told apart, groups differ;
// E-IMPORT-ONE-RANK. `say_nodes`: the option that a hint names.
LoggedGroup group_of(const NcclTable& table, int ranks, int nodes,
                     const std::string& say_nodes = "--nodes N");

// What a row says against itself or the group, if anything: code and message.
struct Contradiction {
  std::string code, message;
};
std::optional<Contradiction> contradiction(const NcclRow& row, CollectiveOp op, int ranks);

// Bytes of an element by nccl-tests' word for its type ("float", "int8"); 0 for a word that it does not
// print.
double nccl_width(std::string_view word);
// Nothing for integers and double, which no training step sends.
std::optional<DType> nccl_dtype(std::string_view word);

// The operation of the name of a program or a file ("all_reduce_perf", "AllReduce"); nothing where none is in
// it.
std::optional<CollectiveOp> op_in(std::string_view name);
// That of a path: by its last part.
std::optional<CollectiveOp> op_in_file(std::string_view path);

// The architecture of a device by the name that CUDA gives it; nothing for a name that is not known.
std::optional<GpuArchitecture> architecture_in(std::string_view device);

}  // namespace rehearse
