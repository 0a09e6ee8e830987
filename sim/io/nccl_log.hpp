// What nccl-tests prints around its table: the ranks and their GPUs, the name of the test, whether its
// results were right. Lines may stand inside of other output, behind the tags of mpirun and srun.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/spec/nccl.hpp"
#include "sim/spec/profile.hpp"

namespace rehearse {

struct LogWord {
  std::string_view text;
  int column = 1;  // within the whole line
};

struct LogLine {
  bool comment = false;   // begins with '#'
  std::string_view body;  // behind tags and '#'
  std::vector<LogWord> words;
  int column = 1;  // where it begins, behind tags
};
// The views are of `line`.
LogLine log_line(std::string_view line);

// "Rank  0 Group  0 Pid 1887 on worker-1 device  0 [0x8d] NVIDIA H100 80GB HBM3", without "Group"
// before 2.11.
struct LogDevice {
  int rank = -1, group = 0;
  std::string host, name;
  int local = -1;  // number of the device on its host
};
// Nothing where the line is cut before the device.
std::optional<LogDevice> log_device(const LogLine& line);

// What a log says beside its table and its ranks.
struct LogRemarks {
  std::string program;  // "all_reduce_perf"
  std::string library;  // "NCCL 2.29.3"
  std::string failed;   // its last word on wrong results: "Out of bounds values : 3 FAILED"

  // Reads a line; true where it is one of those that end a table. `in_table`: a header came before.
  bool note(std::string_view body, bool in_table);
};

// The operation of the name of a program or a file ("all_reduce_perf"); nothing where none is in it.
std::optional<CollectiveOp> op_in(std::string_view name);

// The architecture of a device by the name that CUDA gives it; nothing for a name that is not known.
std::optional<GpuArchitecture> architecture_in(std::string_view device);

}  // namespace rehearse
