// What NCCL printed of its own predictions against the model here. The figures of nccl_model_checks.csv are
// those of NVIDIA/nccl issues 1453 and 1519.
#include "sim/cost/nccl_model.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "sim/spec/names.hpp"

namespace rehearse {
namespace {

struct Check {
  int nodes = 0, per_node = 0;
  CollectiveOp op{};
  Algorithm algorithm{};
  Protocol protocol{};
  double bytes = 0, latency_us = 0, time_us = 0;  // 0: not printed
};

std::vector<Check> checks() {
  std::ifstream file(std::string(REHEARSE_SOURCE_DIR) + "/tests/oracle/nccl_model_checks.csv");
  std::string line;
  std::getline(file, line);
  std::vector<Check> rows;
  while (std::getline(file, line)) {
    std::vector<std::string> f;
    std::istringstream fields(line);
    for (std::string field; std::getline(fields, field, ',');) f.push_back(field);
    const auto number = [](const std::string& text) { return text.empty() ? 0 : std::stod(text); };
    rows.push_back({std::stoi(f[0]), std::stoi(f[1]), find_named(kOpNames, f[2])->value,
                    find_named(kAlgorithmNames, f[3])->value, find_named(kProtocolNames, f[4])->value,
                    number(f[5]), number(f[6]), number(f[7])});
  }
  return rows;
}

// 8 x H100 with 8 NICs of 400 Gb/s, as the logs have it.
NcclSystem h100(int nodes) {
  NcclSystem s = nccl_system(GpuArchitecture::hopper, BytesPerSec(450e9), nodes, 8, BytesPerSec(400e9));
  s.plain_tree = true;
  return s;
}

TEST(NcclModel, ReproducesWhatNcclPrinted) {
  int times = 0, latencies = 0;
  for (const auto& c : checks()) {
    const auto t = nccl_time(h100(c.nodes), c.op, c.nodes * c.per_node, c.nodes, c.per_node,
                             std::max(c.bytes, 1.0), c.algorithm, c.protocol);
    ASSERT_TRUE(t);
    if (c.time_us > 0) {
      ++times;
      EXPECT_NEAR(t->time.value * 1e6 / c.time_us, 1, 1e-6) << c.bytes;
    } else {
      ++latencies;
      EXPECT_NEAR(t->latency.value * 1e6, c.latency_us, 0.05);
    }
  }
  EXPECT_EQ(times, 2);
  EXPECT_EQ(latencies, 6);
}

std::string chosen(GpuArchitecture a, double nvlink, CollectiveOp op, int nodes, int per_node, double bytes,
                   double network = 400e9) {
  const auto s = nccl_system(a, BytesPerSec(nvlink), nodes, per_node, BytesPerSec(network));
  const auto t = nccl_choice(s, op, nodes * per_node, nodes, per_node, bytes);
  return t ? std::string(name_of(kAlgorithmNames, t->algorithm)) + " " +
                 std::string(name_of(kProtocolNames, t->protocol))
           : "none";
}

// What logs and the maintainers say is chosen.
TEST(NcclModel, ChoosesAsLogsShow) {
  constexpr auto ar = CollectiveOp::all_reduce, ag = CollectiveOp::all_gather;
  const auto a100 = GpuArchitecture::ampere, h = GpuArchitecture::hopper, b200 = GpuArchitecture::blackwell;
  EXPECT_EQ(chosen(a100, 300e9, ar, 1, 8, 1 << 20), "ring ll");
  EXPECT_EQ(chosen(a100, 300e9, ar, 1, 8, 8 << 20), "ring ll128");
  EXPECT_EQ(chosen(a100, 300e9, ar, 1, 8, 256 << 20), "ring simple");
  EXPECT_EQ(chosen(h, 450e9, ar, 1, 8, 512 << 10), "ring ll");
  EXPECT_EQ(chosen(h, 450e9, ar, 1, 8, 4 << 20), "nvls simple");
  EXPECT_EQ(chosen(h, 450e9, ar, 1, 4, 256 << 20), "ring simple");  // NVLS not below 5 GPUs
  EXPECT_EQ(chosen(h, 450e9, ag, 1, 8, 1 << 20), "ring ll");
  EXPECT_EQ(chosen(h, 450e9, ag, 1, 8, 256 << 20), "ring simple");
  EXPECT_EQ(chosen(h, 450e9, ar, 2, 8, 32 << 10), "tree ll");
  EXPECT_EQ(chosen(h, 450e9, ar, 2, 8, 1 << 20), "tree ll128");
  EXPECT_EQ(chosen(h, 450e9, ar, 2, 8, 64 << 20), "nvls_tree simple");
  EXPECT_EQ(chosen(h, 450e9, ar, 8, 8, 256 << 20), "nvls_tree simple");
  EXPECT_EQ(chosen(b200, 900e9, ar, 1, 8, 1 << 20), "ring ll");
  EXPECT_EQ(chosen(b200, 900e9, ar, 1, 8, 64 << 20), "nvls simple");
  EXPECT_EQ(chosen(h, 450e9, ag, 64, 1, 1 << 12, 50e9), "pat simple");
}

TEST(NcclModel, RunsOnlyWhatNcclWould) {
  NcclSystem s = nccl_system(GpuArchitecture::hopper, BytesPerSec(450e9), 4, 8, BytesPerSec(400e9));
  const auto runs = [&](CollectiveOp op, Algorithm a, Protocol p, int nodes = 4, int per_node = 8) {
    return nccl_time(s, op, nodes * per_node, nodes, per_node, 1e6, a, p).has_value();
  };
  constexpr auto ar = CollectiveOp::all_reduce, ag = CollectiveOp::all_gather;
  constexpr auto simple = Protocol::simple;
  EXPECT_FALSE(runs(ag, Algorithm::tree, simple));
  EXPECT_FALSE(runs(ar, Algorithm::pat, simple, 4, 1));
  EXPECT_TRUE(runs(ag, Algorithm::pat, simple, 4, 1));
  EXPECT_FALSE(runs(ag, Algorithm::pat, simple));
  EXPECT_FALSE(runs(ar, Algorithm::nvls, simple));
  EXPECT_FALSE(runs(ar, Algorithm::collnet_direct, simple));
  EXPECT_FALSE(runs(ar, Algorithm::nvls_tree, simple, 1));
  EXPECT_FALSE(runs(ar, Algorithm::nvls_tree, Protocol::ll));
  EXPECT_FALSE(runs(ar, Algorithm::nvls, simple, 1, 4));
  EXPECT_FALSE(runs(CollectiveOp::broadcast, Algorithm::tree, simple));
  EXPECT_FALSE(runs(CollectiveOp::all_to_all, Algorithm::ring, simple));
  s.sharp = true;
  EXPECT_TRUE(runs(ar, Algorithm::nvls, simple));
  EXPECT_TRUE(runs(ar, Algorithm::collnet_direct, simple));
  EXPECT_TRUE(runs(ag, Algorithm::collnet_direct, simple));
  EXPECT_TRUE(runs(ar, Algorithm::collnet_chain, simple));
  EXPECT_FALSE(runs(ag, Algorithm::collnet_chain, simple));
  s.architecture = GpuArchitecture::ampere;
  EXPECT_FALSE(runs(ar, Algorithm::nvls_tree, simple));
  s.nvlink = false;
  EXPECT_FALSE(runs(ar, Algorithm::ring, Protocol::ll128));
  EXPECT_TRUE(runs(ar, Algorithm::ring, Protocol::ll));
}

TEST(NcclModel, FiltersAreThoseOfTheEnvironment) {
  std::string unknown;
  EXPECT_EQ(nccl_bits("ring", kAlgorithmNames, unknown), 1u << 1);
  EXPECT_EQ(nccl_bits("ring,tree", kAlgorithmNames, unknown), 3u);
  EXPECT_EQ(nccl_bits("^ll128", kProtocolNames, unknown), 5u);
  EXPECT_FALSE(nccl_bits("^ll,ll128,simple", kProtocolNames, unknown));
  EXPECT_TRUE(unknown.empty());
  EXPECT_FALSE(nccl_bits("ring,rong", kAlgorithmNames, unknown));
  EXPECT_EQ(unknown, "rong");
  const auto s = nccl_system(GpuArchitecture::hopper, BytesPerSec(450e9), 2, 8, BytesPerSec(400e9));
  NcclFilter ring;
  ring.algorithms = 1u << 1;
  const auto t = nccl_choice(s, CollectiveOp::all_reduce, 16, 2, 8, 1e9, ring);
  ASSERT_TRUE(t);
  EXPECT_EQ(t->algorithm, Algorithm::ring);
}

}  // namespace
}  // namespace rehearse
