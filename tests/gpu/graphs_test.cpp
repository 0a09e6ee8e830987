// cuDNN takes the graphs of attention for devices that need not be there. Its engines compile with the
// driver's help, so without a driver the last step, a plan, is the one that may be missing.
#include <gmock/gmock.h>

#include "calibration/backends/backend.hpp"
#include "calibration/backends/cuda/attention_graph.hpp"
#include "tests/support/skip.hpp"

namespace rehearse::calibration::cuda {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StrEq;

struct Gpu {
  const char* name;
  int capability, sms, shared, clock_khz, memory_khz, l2;
};
constexpr Gpu kGpus[] = {{"A100", 800, 108, 166912, 1410000, 1593000, 41943040},
                         {"H100", 900, 132, 232448, 1980000, 2619000, 52428800},
                         {"B200", 1000, 148, 232448, 1965000, 3996000, 132644864}};

std::string properties(const Gpu& gpu) {
  const auto field = [](const char* name, int value) {
    return "\"" + std::string(name) + "\": " + std::to_string(value) + ", ";
  };
  return "{\"maxGridSize\": [2147483647, 65535, 65535], \"maxBlockSize\": [1024, 1024, 64], " +
         field("regsPerBlock", 65536) + field("multiProcessorCount", gpu.sms) + field("warpSize", 32) +
         field("maxSharedMemoryPerBlock", 49152) + field("maxSharedMemoryPerBlockOptin", gpu.shared) +
         field("reservedSharedMemoryPerBlock", 1024) + field("maxRegistersPerSM", 65536) +
         field("maxCtasPerSM", 32) + field("maxThreadsPerBlock", 1024) + field("maxThreadsPerSM", 2048) +
         field("pciDeviceId", 0) + field("isTccDriver", 0) + field("supportCoopLaunch", 1) +
         field("smClockRateKHz", gpu.clock_khz) + field("memClockRateKHz", gpu.memory_khz) +
         field("l2CacheSize", gpu.l2) + field("deviceVer", gpu.capability) + field("driverVer", 13000) +
         field("cudaDeviceId", 0) + "\"totalGlobalMem\": 80000000000, \"deviceName\": \"NVIDIA " + gpu.name +
         "\"}";
}

// What cuDNN says to a graph: "planned", or why it is not.
std::string planned(const CudnnGraph& graph, const Gpu& gpu) {
  try {
    return graph.plan(target_of_properties(properties(gpu))).workspace_bytes() >= 0 ? "planned"
                                                                                    : "no workspace";
  } catch (const BackendError& error) {
    return error.what();
  }
}

std::string old_cudnn() {
  return test::skip_line("cuDNN reads a device's properties from 9.11 on", "a newer cuDNN");
}

auto taken() { return AnyOf(StrEq("planned"), HasSubstr("no engine runs this graph on this device")); }

TEST(Graphs, OfAttentionArePutTogetherForEveryGpu) {
  if (cudnnGetVersion() < 91100) GTEST_SKIP() << old_cudnn();
  for (const Gpu& gpu : kGpus)
    for (bool backward : {false, true})
      for (bool causal : {false, true}) {
        const AttentionCall call{DType::bf16, backward, {2, 1024, 16, backward ? 16.0 : 4.0, 128, causal}};
        const AttentionGraph graph = backward ? attention_backward(call) : attention_forward(call);
        EXPECT_EQ(graph.operands.size(), backward ? 9u : 5u);
        EXPECT_EQ(graph.scratch.size(), backward ? 2u : 0u);
        EXPECT_THAT(planned(graph.graph, gpu), taken()) << gpu.name << " backward " << backward;
      }
}

TEST(Graphs, OfSharedKeyHeadsArePutTogether) {
  if (cudnnGetVersion() < 91100) GTEST_SKIP() << old_cudnn();
  const AttentionCall call{DType::fp16, true, {1, 1000, 8, 2, 64, true}};
  EXPECT_THAT(planned(attention_backward(call).graph, kGpus[1]), taken());
}

TEST(Graphs, ThatAreWrongAreNotTaken) {
  if (cudnnGetVersion() < 91100) GTEST_SKIP() << old_cudnn();
  const auto wrong = [] {
    CudnnGraph graph;
    const auto a = graph.tensor(CUDNN_DATA_HALF, {1, 1, 64, 32}, {2048, 2048, 32, 1});
    const auto b = graph.tensor(CUDNN_DATA_HALF, {1, 1, 48, 64}, {3072, 3072, 64, 1});
    const auto c = graph.tensor(CUDNN_DATA_HALF, {1, 1, 64, 64}, {4096, 4096, 64, 1});
    graph.matmul(a, b, c);  // 32 columns against 48 rows
    return planned(graph, kGpus[1]);
  };
  std::string said;
  try {
    said = wrong();
  } catch (const BackendError& error) {
    said = error.what();
  }
  EXPECT_THAT(said, HasSubstr("cuDNN: cannot"));
}

TEST(Graphs, NeedPropertiesThatCudnnReads) { EXPECT_THROW(target_of_properties("{}"), BackendError); }

}  // namespace
}  // namespace rehearse::calibration::cuda
