// A small step's trace, byte by byte.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/support/trace_files.hpp"

namespace rehearse::test {
namespace {

std::string golden_path(const std::string& name) {
  return std::string(REHEARSE_SOURCE_DIR) + "/tests/golden/" + name;
}

void expect_golden(const std::string& name, const std::string& text) {
  if (std::getenv("REHEARSE_UPDATE_GOLDEN") != nullptr)
    std::ofstream(golden_path(name), std::ios::binary) << text;
  std::ifstream file(golden_path(name), std::ios::binary);
  std::stringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(text, expected.str()) << name
                                  << ": if the change is meant, run tools/update_golden and look at the diff";
}

StepShape tiny() {
  StepShape shape;
  shape.micro = 1;
  return shape;
}

TEST(TraceGolden, MergedChunks) { expect_golden("trace_merged.json", merged_text(make_step(tiny()))); }

TEST(TraceGolden, MergedKernels) {
  expect_golden("trace_kernels.json", merged_text(make_step(tiny()), {TraceDetail::kernel, {}}));
}

TEST(TraceGolden, OneRank) {
  expect_golden("trace_rank2.json", rank_text(make_step(tiny()), 2, {TraceDetail::kernel, {}}));
}

}  // namespace
}  // namespace rehearse::test
