#include "sim/io/topology.hpp"

#include <algorithm>

#include "sim/io/topology_parts.hpp"

namespace rehearse {
namespace {

constexpr Named<NodeShape> kNodeShapes[] = {
    {"nvswitch", "NVLink from every GPU to every other", NodeShape::nvswitch},
    {"pairs", "NVLink joins GPUs two by two, PCIe the rest", NodeShape::pairs},
    {"pcie", "PCIe alone", NodeShape::pcie}};
constexpr Named<RankOrder> kRankOrders[] = {{"node", "node after node", RankOrder::node},
                                            {"rail", "consecutive ranks on one rail", RankOrder::rail}};

void check_nics(MapReader& reader, const Cluster& cluster) {
  const int gpus = cluster.gpus_per_node, nics = cluster.nics_per_node;
  if (gpus % nics == 0 || nics % gpus == 0) return;
  const DocNode* at = reader.node().find("nics_per_node");
  reader.problem(
      at ? at->mark : reader.node().mark, "nics_per_node", "E-CLUSTER-NICS",
      std::to_string(gpus) + " GPUs and " + std::to_string(nics) + " NICs a node: neither divides the other",
      "give every GPU as many NICs, or every NIC as many GPUs");
}

void read_nvlink(MapReader& reader, Cluster& cluster) {
  if (cluster.node == NodeShape::pcie) {
    for (const char* key : {"nvlink", "nvlink_latency"})
      refuse_idle(reader, key, "no NVLink joins the GPUs of such a node");
  } else if (reader.has("nvlink") || reader.has("nvlink_latency")) {
    reader.required("nvlink", cluster.nvlink, kPositive);
    reader.required("nvlink_latency", cluster.nvlink_latency, kNotNegative);
  }
  if (cluster.node == NodeShape::nvswitch)
    reader.optional("nodes_per_domain", cluster.nodes_per_domain, IntRange{1, 1024});
  else
    refuse_idle(reader, "nodes_per_domain", "only nodes of NVSwitches share an NVLink domain");
  if (cluster.node == NodeShape::pairs && cluster.gpus_per_node % 2 != 0)
    reader.problem(reader.node().find("node")->mark, "node", "E-CLUSTER-PAIRS",
                   "pairs need an even number of GPUs a node, not " + std::to_string(cluster.gpus_per_node));
}

void read_switches(MapReader& reader, Cluster& cluster) {
  const DocNode* per_switch = reader.find("gpus_per_switch");
  reader.optional("bridge", cluster.bridge, kPositive);
  if (!per_switch)
    return refuse_idle(reader, "bridge", "without gpus_per_switch all GPUs are below one PCIe switch");
  if (!read_value(*per_switch, reader.path_of("gpus_per_switch"), reader.problems(), cluster.gpus_per_switch,
                  IntRange{1, 1024}))
    return;
  const int gpus = cluster.gpus_per_node, below = cluster.gpus_per_switch;
  if (gpus % below != 0)
    return reader.problem(per_switch->mark, "gpus_per_switch", "E-CLUSTER-PCIE",
                          std::to_string(below) + " GPUs a PCIe switch do not divide the " +
                              std::to_string(gpus) + " of a node");
  if (gpus == below) return refuse_idle(reader, "bridge", "all GPUs of the node are below one PCIe switch");
  reader.require("bridge");
}

void read_pcie(MapReader& outer, Cluster& cluster) {
  const bool needed = cluster.node != NodeShape::nvswitch;
  const DocNode* node = needed ? outer.require("pcie") : outer.find("pcie");
  if (!node) return;
  MapReader reader(*node, outer.path_of("pcie"), outer.problems());
  reader.required("rate", cluster.pcie, kPositive);
  if (needed) {
    reader.required("latency", cluster.pcie_latency, kNotNegative);
    read_switches(reader, cluster);
  } else {
    for (const char* key : {"latency", "gpus_per_switch", "bridge"})
      refuse_idle(reader, key, "GPUs reach each other by NVLink; PCIe only leads to the NICs");
  }
  reader.finish();
}

void read_nodes(MapReader& reader, Cluster& cluster) {
  reader.optional("nodes", cluster.nodes, IntRange{1, 1'000'000});
  reader.required("gpus_per_node", cluster.gpus_per_node, IntRange{1, 1024});
  reader.required("gpu", cluster.gpu);
  reader.optional("node", cluster.node, kNodeShapes);
  read_nvlink(reader, cluster);
  read_pcie(reader, cluster);
  reader.required("nics_per_node", cluster.nics_per_node, IntRange{1, 1024});
  reader.required("nic", cluster.nic, kPositive);
  reader.required("nic_latency", cluster.nic_latency, kNotNegative);
  reader.optional("network", cluster.network);
}

void read_sharp(MapReader& reader, Cluster& cluster) {
  const bool switches = cluster.fabric != FabricShape::torus && cluster.fabric != FabricShape::ring &&
                        cluster.fabric != FabricShape::full_mesh;
  if (switches)
    reader.optional("sharp", cluster.sharp);
  else
    refuse_idle(reader, "sharp", "this network has no switches that could reduce");
}

void read_order(MapReader& reader, bool nodes_known, const FindFile& find_file, Cluster& cluster) {
  const DocNode* placement = reader.find("placement");
  if (!placement) {
    reader.optional("rank_order", cluster.rank_order, kRankOrders);
    return;
  }
  refuse_idle(reader, "rank_order", "the placement says where each rank is");
  const auto path = find_file(*placement, reader.path_of("placement"));
  if (path && nodes_known) read_placement(*path, *placement, cluster, reader.problems());
}

Cluster read_parts(const DocNode& node, const std::string& path, Problems& problems,
                   const FindFile& find_file) {
  Cluster cluster;
  MapReader reader(node, path, problems);
  reader.optional("name", cluster.name);
  read_nodes(reader, cluster);
  check_nics(reader, cluster);
  if (const DocNode* fabric = reader.find("fabric"))
    read_fabric(*fabric, reader.path_of("fabric"), reader.has("nodes"), cluster, problems);
  read_sharp(reader, cluster);
  const bool known = says_nodes(node);
  if (const DocNode* overrides = reader.find("overrides"))
    read_overrides(*overrides, reader.path_of("overrides"), known, cluster, problems);
  read_order(reader, known, find_file, cluster);
  reader.finish();
  return cluster;
}

}  // namespace

void refuse_idle(MapReader& reader, std::string_view key, const std::string& why) {
  if (!reader.has(key)) return reader.set_aside(key);
  const std::string path = reader.path_of(key);
  if (const DocNode* value = reader.find(key))  // a file of a topology alone takes no settings
    reader.problem(value->mark, key, "E-CLUSTER-KEY", path + " has no effect: " + why,
                   path.starts_with("cluster.") ? "leave out the key: try --set " + path + "=null"
                                                : "leave out the key");
}

Cluster read_topology(const DocNode& node, const std::string& path, Problems& problems,
                      const FindFile& find_file) {
  Problems own;
  Cluster cluster = read_parts(node, path, own, find_file);
  if (own.empty() && says_nodes(node) && int64_t(cluster.nodes) * cluster.gpus_per_node <= 1 << 24)
    check_network(node, path, cluster, own);
  try {
    own.raise();
  } catch (const InputErrors& found) {
    problems.add(found);
  }
  return cluster;
}

bool says_nodes(const DocNode& cluster) {
  const auto has = [](const DocNode& map, std::string_view key) {
    const DocNode* value = map.find(key);
    return value && value->kind != NodeKind::absent;
  };
  const DocNode* fabric = cluster.find("fabric");
  return has(cluster, "nodes") || (fabric && (has(*fabric, "dims") || has(*fabric, "links")));
}

Cluster load_topology(const std::string& path) {
  Problems problems;
  const DocNode root = parse_yaml_file(path);
  Cluster cluster = read_topology(root, "", problems, [&](const DocNode& value, const std::string& key) {
    return resolve(value, key, FileKind::placement, folder_of(path), {}, problems);
  });
  problems.raise();
  return cluster;
}

void expand_fabric(DocNode& fabric) {
  if (fabric.kind != NodeKind::scalar) return;
  DocNode map;
  map.kind = NodeKind::map;
  map.mark = fabric.mark;
  map.entries.push_back({"shape", fabric.mark, std::move(fabric)});
  fabric = std::move(map);
}

// Puts `above`'s keys into `below`.
static void merge_keys(DocNode& below, const DocNode& above) {
  for (const auto& entry : above.entries) {
    const auto before = std::find_if(below.entries.begin(), below.entries.end(),
                                     [&](const DocEntry& other) { return other.key == entry.key; });
    if (before == below.entries.end())
      below.entries.push_back(entry);
    else
      *before = entry;
  }
}

static bool keeps_shape(const DocNode& fabric, const DocNode& topology) {
  const DocNode* shape = fabric.find("shape");
  const DocNode* before = topology.find("shape");
  return !shape || (before && shape->text == before->text);
}

// KEY=null takes away the scenario's key or, where it has none, the topology's.
static bool takes_away(const DocEntry& entry) {
  return entry.value.kind == NodeKind::absent && entry.mark.source == entry.value.mark.source;
}

DocNode merge_cluster(const DocNode& cluster) {
  DocNode merged = cluster;
  merged.entries.clear();
  if (const DocNode* topology = cluster.find("topology"); topology && topology->kind == NodeKind::map)
    merged = *topology;
  for (const auto& entry : cluster.entries) {
    if (entry.key == "topology") continue;
    DocNode* before = merged.find(entry.key);
    const bool parts = entry.value.kind == NodeKind::map && before;
    if (parts && entry.key == "fabric") expand_fabric(*before);
    if (!before)
      merged.entries.push_back(entry);
    else if (takes_away(entry))
      std::erase_if(merged.entries, [&](const DocEntry& other) { return other.key == entry.key; });
    else if (parts && before->kind == NodeKind::map &&
             (entry.key == "pcie" || (entry.key == "fabric" && keeps_shape(entry.value, *before))))
      merge_keys(*before, entry.value);
    else if (entry.value.kind != NodeKind::absent)
      *std::find_if(merged.entries.begin(), merged.entries.end(),
                    [&](const DocEntry& other) { return other.key == entry.key; }) = entry;
  }
  return merged;
}

}  // namespace rehearse
