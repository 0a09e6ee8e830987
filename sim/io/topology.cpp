#include "sim/io/topology.hpp"

namespace rehearse {

static constexpr Named<FabricShape> kShapes[] = {
    {"one_tier", "every NIC on one non-blocking switch", FabricShape::one_tier}};

static void check_nics(MapReader& reader, const Cluster& cluster) {
  const int gpus = cluster.gpus_per_node, nics = cluster.nics_per_node;
  if (gpus % nics == 0 || nics % gpus == 0) return;
  const DocNode* at = reader.node().find("nics_per_node");
  reader.problem(
      at ? at->mark : reader.node().mark, "nics_per_node", "E-CLUSTER-NICS",
      std::to_string(gpus) + " GPUs and " + std::to_string(nics) + " NICs a node: neither divides the other",
      "give every GPU as many NICs, or every NIC as many GPUs");
}

Cluster read_topology(const DocNode& node, const std::string& path, Problems& problems) {
  Cluster cluster;
  MapReader reader(node, path, problems);
  reader.optional("name", cluster.name);
  reader.optional("nodes", cluster.nodes, IntRange{1, 1'000'000});
  reader.required("gpus_per_node", cluster.gpus_per_node, IntRange{1, 1024});
  reader.required("gpu", cluster.gpu);
  if (reader.has("nvlink") || reader.has("nvlink_latency")) {
    reader.required("nvlink", cluster.nvlink, kPositive);
    reader.required("nvlink_latency", cluster.nvlink_latency, kNotNegative);
  }
  reader.required("nics_per_node", cluster.nics_per_node, IntRange{1, 1024});
  reader.required("nic", cluster.nic, kPositive);
  reader.required("nic_latency", cluster.nic_latency, kNotNegative);
  reader.optional("fabric", cluster.fabric, kShapes);
  reader.finish();
  check_nics(reader, cluster);
  return cluster;
}

Cluster load_topology(const std::string& path) {
  Problems problems;
  const DocNode root = parse_yaml_file(path);
  Cluster cluster = read_topology(root, "", problems);
  problems.raise();
  return cluster;
}

DocNode merge_cluster(const DocNode& cluster) {
  DocNode merged = cluster;
  merged.entries.clear();
  if (const DocNode* topology = cluster.find("topology"); topology && topology->kind == NodeKind::map)
    merged = *topology;
  for (const auto& entry : cluster.entries) {
    if (entry.key == "topology") continue;
    DocEntry* before = nullptr;
    for (auto& other : merged.entries)
      if (other.key == entry.key) before = &other;
    if (!before)
      merged.entries.push_back(entry);
    else if (entry.value.kind != NodeKind::absent)
      *before = entry;
  }
  return merged;
}

}  // namespace rehearse
