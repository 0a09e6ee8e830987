// Every shipped topology and model loads, is named as its file is, and carries the figures of the data
// sheets.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

#include "sim/io/model.hpp"
#include "sim/io/topology.hpp"

namespace rehearse {
namespace {

using testing::AllOf;
using testing::Field;

std::vector<std::string> yaml_files(const std::string& folder) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(REHEARSE_SOURCE_DIR "/" + folder))
    if (entry.path().extension() == ".yaml") found.push_back(entry.path().string());
  std::sort(found.begin(), found.end());
  return found;
}

std::string stem(const std::string& path) { return std::filesystem::path(path).stem().string(); }

// Studies of a network of one size.
bool fixes_nodes(const std::string& name) { return name == "a100-rail-1024" || name == "a100-torus-4x4x4"; }

TEST(ShippedTopologies, AllLoadAndAreNamedAsTheirFile) {
  const auto files = yaml_files("topologies");
  ASSERT_GE(files.size(), 27u);
  for (const auto& file : files) {
    const Cluster cluster = load_topology(file);
    EXPECT_EQ(cluster.name, stem(file));
    EXPECT_FALSE(cluster.gpu.empty()) << file;
    EXPECT_EQ(cluster.nodes > 1, fixes_nodes(cluster.name)) << file << ": else a scenario says how many";
    if (cluster.nvlink.value == 0) continue;  // as the profile has it, or none
    EXPECT_GT(cluster.nvlink, cluster.nic) << file;
    EXPECT_GT(cluster.nic_latency, cluster.nvlink_latency) << file;
  }
}

TEST(ShippedTopologies, CarryTheDataSheets) {
  struct Sheet {
    const char* name;
    const char* gpu;
    double nvlink, nic;  // B/s
    int gpus = 8, nics = 8, domain = 8;
  };
  const Sheet sheets[] = {{"dgx-a100-80g", "a100-sxm4-80gb", 12 * 25e9, 200e9 / 8},
                          {"a100-rail-1024", "a100-sxm4-80gb", 12 * 25e9, 200e9 / 8},
                          {"aws-p4d", "a100-sxm4-40gb", 12 * 25e9, 100e9 / 8, 8, 4},
                          {"aws-p5", "h100-sxm5-80gb", 18 * 25e9, 100e9 / 8, 8, 32},
                          {"aws-p5en", "h200-sxm-141gb", 18 * 25e9, 200e9 / 8, 8, 16},
                          {"aws-p6-b200", "b200-sxm-180gb", 18 * 50e9, 400e9 / 8},
                          {"gcp-a3-high", "h100-sxm5-80gb", 18 * 25e9, 200e9 / 8, 8, 4},
                          {"gcp-a3-mega", "h100-sxm5-80gb", 18 * 25e9, 200e9 / 8},
                          {"gcp-a3-ultra", "h200-sxm-141gb", 18 * 25e9, 400e9 / 8},
                          {"gcp-a4", "b200-sxm-180gb", 18 * 50e9, 400e9 / 8},
                          {"azure-nd-a100-v4", "a100-sxm4-40gb", 12 * 25e9, 200e9 / 8},
                          {"azure-nd-h100-v5", "h100-sxm5-80gb", 18 * 25e9, 400e9 / 8},
                          {"oci-a100", "a100-sxm4-40gb", 12 * 25e9, 100e9 / 8, 8, 16},
                          {"oci-h100", "h100-sxm5-80gb", 18 * 25e9, 200e9 / 8, 8, 16},
                          {"oci-h200", "h200-sxm-141gb", 18 * 25e9, 400e9 / 8},
                          {"hgx-b300", "b300-sxm-288gb", 18 * 50e9, 800e9 / 8},
                          {"dgx-a100-40g", "a100-sxm4-40gb", 12 * 25e9, 200e9 / 8},
                          {"dgx-h100", "h100-sxm5-80gb", 18 * 25e9, 400e9 / 8},
                          {"dgx-h200", "h200-sxm-141gb", 18 * 25e9, 400e9 / 8},
                          {"dgx2-v100", "v100-sxm2-32gb", 6 * 25e9, 100e9 / 8, 16, 8, 16},
                          {"hgx-b200", "b200-sxm-180gb", 18 * 50e9, 400e9 / 8},
                          {"gb200-nvl72", "gb200", 18 * 50e9, 400e9 / 8, 4, 4, 72},
                          {"gb300-nvl72", "gb300", 18 * 50e9, 800e9 / 8, 4, 4, 72}};
  for (const auto& sheet : sheets) {
    const Cluster c = load_topology(std::string(REHEARSE_SOURCE_DIR "/topologies/") + sheet.name + ".yaml");
    EXPECT_THAT(c, AllOf(Field(&Cluster::gpu, sheet.gpu), Field(&Cluster::gpus_per_node, sheet.gpus),
                         Field(&Cluster::nics_per_node, sheet.nics)))
        << sheet.name;
    EXPECT_EQ(c.gpus_per_domain(), sheet.domain) << sheet.name;
    EXPECT_DOUBLE_EQ(c.nvlink.value, sheet.nvlink) << sheet.name;
    EXPECT_DOUBLE_EQ(c.nic.value, sheet.nic) << sheet.name;
  }
}

TEST(ShippedModels, AllLoadAndAreNamedAsTheirFile) {
  const auto files = yaml_files("scenarios/models");
  ASSERT_GE(files.size(), 11u);
  for (const auto& file : files) {
    const ModelSpec model = load_model(file);
    EXPECT_EQ(model.name, stem(file));
    EXPECT_EQ(model.heads * model.head_dim, model.hidden) << file;
  }
}

}  // namespace
}  // namespace rehearse
