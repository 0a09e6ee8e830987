// Writes traces of hand-built steps into a folder that goes with the test.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "tests/support/folder.hpp"
#include "tests/support/trace_lint.hpp"
#include "tests/support/trace_step.hpp"

namespace rehearse::test {

inline TraceSize write_file(const std::string& path, const Step& step, const TraceOptions& options = {}) {
  return write_trace_file(path, step.scenario, step.layout(), step.graph, step.timeline, step.memory,
                          options);
}

inline TraceSize write_dir(const std::string& dir, const Step& step, const TraceOptions& options = {}) {
  return write_trace_dir(dir, step.scenario, step.layout(), step.graph, step.timeline, step.memory, options);
}

inline std::string merged_text(const Step& step, const TraceOptions& options = {}) {
  const TemporaryFolder folder;
  write_file(folder.file("step.json"), step, options);
  return read_trace(folder.file("step.json"));
}

inline std::string rank_text(const Step& step, int rank, TraceOptions options = {}) {
  const TemporaryFolder folder;
  options.ranks = {RankId(rank)};
  write_dir(folder.file("ranks"), step, options);
  return read_trace(folder.file("ranks/rank" + std::to_string(rank) + ".pt.trace.json.gz"));
}

inline double on_grid(double seconds, int steps_per_us) {
  return std::round(seconds * 1e6 * steps_per_us) / steps_per_us;
}

}  // namespace rehearse::test
