// The step as a Chrome trace: JSON events that Perfetto, speedscope, catapult and HTA read. Two forms from
// one writer. Merged, for viewers: all chosen ranks in one file, times in microseconds on a grid of 1/8 us
// (the finest that is exact both as a double and in whole nanoseconds), flow arrows for transfers between
// stages. Per rank, for HTA: one file a rank, whole microseconds, every kernel with device, stream and
// correlation, no arrows. Process id = rank + 1, thread id = Stream. One event a line, in order of time, the
// longer slice first; streamed: what is held in memory does not grow with the number of events. The same
// input gives the same bytes.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sim/account/report.hpp"

namespace rehearse {

enum class TraceDetail : uint8_t {
  chunk,   // one slice a task: F, B, optimizer, collectives, transfers
  kernel,  // programs expanded into their kernels and in-node collectives; the merged form keeps the chunk
           // around them
};

struct TraceOptions {
  TraceDetail detail = TraceDetail::chunk;
  std::vector<RankId> ranks;  // empty: one of each class that was simulated
};

// What was written. Of several files, the sum; `largest_*` of the largest of them.
struct TraceSize {
  int files = 0;
  int64_t events = 0, bytes = 0;  // bytes of JSON, before compression
  int64_t largest_events = 0, largest_bytes = 0;
  int64_t left_out = 0;         // slices shorter than the time grid
  int64_t arrows_left_out = 0;  // transfers too short to hold both ends of their arrow
};

// `path` ends in .json or .json.gz. Throws InputErrors: E-TRACE-PATH (neither ending, or it cannot be
// written), E-TRACE-RANKS (no such rank, or one that no simulated class can be told to stand for).
TraceSize write_trace_file(const std::string& path, const Scenario& scenario, const ParallelLayout& layout,
                           const TaskGraph& graph, const Timeline& timeline, const MemoryReport& memory,
                           const TraceOptions& options);

// Writes DIR/rankN.pt.trace.json.gz, making DIR where it is missing. Throws as above; also E-TRACE-DIR where
// DIR holds other .json or .gz files: HTA reads every one of them as a rank.
TraceSize write_trace_dir(const std::string& dir, const Scenario& scenario, const ParallelLayout& layout,
                          const TaskGraph& graph, const Timeline& timeline, const MemoryReport& memory,
                          const TraceOptions& options);

// W-TRACE-SIZE where a file is over 100 MB of JSON or 500,000 events, with the way to narrow it.
std::vector<Warning> trace_warnings(const TraceSize& size, const TraceOptions& options);

}  // namespace rehearse
