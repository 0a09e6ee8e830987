#include <algorithm>
#include <set>

#include "sim/cluster/network.hpp"
#include "sim/io/topology_parts.hpp"

namespace rehearse {
namespace {

void read_tiers(MapReader& reader, Cluster& cluster) {
  const DocNode* list = reader.require("tiers");
  if (!list) return;
  const std::string path = reader.path_of("tiers");
  Problems& problems = reader.problems();
  if (list->kind != NodeKind::list || list->items.empty() || list->items.size() > 4)
    return reader.problem(list->mark, "tiers", "E-TYPE",
                          path + " must be a list of one to four tiers, from the leaves up",
                          "write tiers: [{nodes: 32, oversubscription: 2}]");
  int below = 1;
  for (size_t i = 0; i < list->items.size(); ++i) {
    const DocNode& item = list->items[i];
    MapReader tier_reader(item, path + "[" + std::to_string(i) + "]", problems);
    Tier tier;
    const bool sized = tier_reader.required("nodes", tier.nodes, IntRange{1, 1'000'000});
    tier_reader.optional("oversubscription", tier.oversubscription, NumberRange{1e-3, 1e6});
    tier_reader.optional("latency", tier.latency, kNotNegative);
    tier_reader.finish();
    if (sized && i > 0 && (tier.nodes <= below || tier.nodes % below != 0))
      tier_reader.problem(item.find("nodes")->mark, "nodes", "E-CLUSTER-TIERS",
                          std::to_string(tier.nodes) + " nodes below a switch of tier " +
                              std::to_string(i + 1) + " are not two or more of the tier below, of " +
                              std::to_string(below));
    below = std::max(1, tier.nodes);
    cluster.tiers.push_back(tier);
  }
}

void read_dims(MapReader& reader, bool nodes_given, Cluster& cluster) {
  const DocNode* dims = reader.require("dims");
  if (!dims ||
      !read_value(*dims, reader.path_of("dims"), reader.problems(), cluster.dims, IntRange{1, 1'000'000}))
    return;
  if (cluster.dims.empty() || cluster.dims.size() > 3)
    return reader.problem(dims->mark, "dims", "E-CLUSTER-DIMS",
                          "a torus has one to three dimensions, not " + std::to_string(cluster.dims.size()));
  int64_t product = 1;
  std::string text;
  for (const int n : cluster.dims) {
    product = std::min<int64_t>(product * n, 1'000'000'000);
    text += (text.empty() ? "" : " x ") + std::to_string(n);
  }
  if (!nodes_given && product <= 1'000'000)
    cluster.nodes = static_cast<int>(product);
  else if (product != cluster.nodes)
    reader.problem(dims->mark, "dims", "E-CLUSTER-DIMS",
                   "a torus of " + text + " has " + std::to_string(product) + " nodes, and the cluster " +
                       std::to_string(cluster.nodes),
                   !nodes_given ? "at most 1000000"
                   : reader.path_of("").starts_with("cluster.")
                       ? "nodes follows from dims: try --set cluster.nodes=null"
                       : "nodes follows from dims, and may be left out");
}

// The number of `node7`; nothing for the name of a switch.
std::optional<int64_t> node_number(std::string_view name) {
  if (!name.starts_with("node")) return {};
  const auto parsed = parse_int(name.substr(4));
  return parsed.value;
}

class WireReader {
 public:
  WireReader(MapReader& fabric, bool nodes_given, Cluster& cluster)
      : fabric_(fabric), nodes_given_(nodes_given), cluster_(cluster) {}

  void read(const DocNode& list) {
    const std::string path = fabric_.path_of("links");
    if (list.kind != NodeKind::list || list.items.empty())
      return fabric_.problem(list.mark, "links", "E-TYPE", path + " must be a list of links",
                             "write links: [{from: node0, to: sw1, rate: 50 GB/s}]");
    BytesPerSec common;
    fabric_.optional("rate", common, kPositive);
    bool used = false;
    int64_t highest = 0;
    for (size_t i = 0; i < list.items.size(); ++i) {
      MapReader reader(list.items[i], path + "[" + std::to_string(i) + "]", fabric_.problems());
      Wire wire;
      const bool from = read_end(reader, "from", wire.from, highest);
      const bool ends = read_end(reader, "to", wire.to, highest) && from;
      if (common.value == 0 || reader.has("rate"))
        reader.required("rate", wire.rate, kPositive);
      else
        wire.rate = common, used = true;
      reader.finish();
      if (ends) check_pair(reader, wire);
      cluster_.wires.push_back(wire);
    }
    if (common.value > 0 && !used) refuse_idle(fabric_, "rate", "every link has its own");
    if (!nodes_given_) cluster_.nodes = static_cast<int>(highest) + 1;
  }

 private:
  bool read_end(MapReader& reader, std::string_view key, std::string& name, int64_t& highest) {
    if (!reader.required(key, name)) return false;
    const Mark& mark = reader.node().find(key)->mark;
    const bool plain = std::all_of(name.begin(), name.end(),
                                   [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_'; });
    if (!plain) {
      reader.problem(mark, key, "E-CLUSTER-WIRE", quote(name) + " is no name of a node or a switch",
                     "names are of letters, digits, '-' and '_'");
      return false;
    }
    const auto number = node_number(name);
    if (!number) return true;
    const int64_t nodes = nodes_given_ ? cluster_.nodes : 1'000'000;
    if (*number < 0 || *number >= nodes) {
      reader.problem(mark, key, "E-CLUSTER-WIRE",
                     "there is no " + name + ": the nodes are node0 to node" + std::to_string(nodes - 1));
      return false;
    }
    highest = std::max(highest, *number);
    return true;
  }
  void check_pair(MapReader& reader, const Wire& wire) {
    const Mark& mark = reader.node().mark;
    if (wire.from == wire.to)
      return reader.problem(mark, "to", "E-CLUSTER-WIRE", "a link from " + wire.from + " to itself");
    if (!seen_.insert(std::minmax(wire.from, wire.to)).second)
      reader.problem(mark, "to", "E-CLUSTER-WIRE", wire.from + " and " + wire.to + " are joined twice",
                     "a link carries both ways; give one the rate of all");
  }

  MapReader& fabric_;
  bool nodes_given_;
  Cluster& cluster_;
  std::set<std::pair<std::string, std::string>> seen_;
};

// Those that read_keys() asks for.
std::vector<std::string_view> keys_of(FabricShape shape) {
  switch (shape) {
    case FabricShape::one_tier:
      return {};
    case FabricShape::fat_tree:
    case FabricShape::rail:
      return {"tiers"};
    case FabricShape::torus:
      return {"dims", "rate", "hop_latency"};
    case FabricShape::ring:
    case FabricShape::full_mesh:
      return {"rate", "hop_latency"};
    case FabricShape::dragonfly:
      return {"nodes_per_router", "routers_per_group", "local", "global", "hop_latency"};
    case FabricShape::links:
      return {"links", "rate", "hop_latency"};
  }
  return {};
}

// Links that grow with the square of what they join.
void check_size(MapReader& reader, const Cluster& cluster) {
  const int64_t nodes = cluster.nodes,
                per_group = int64_t(cluster.nodes_per_router) * cluster.routers_per_group;
  const int64_t groups = (nodes + per_group - 1) / per_group;
  const int64_t links = cluster.fabric == FabricShape::full_mesh ? nodes * nodes
                        : cluster.fabric == FabricShape::dragonfly
                            ? groups * groups + nodes * cluster.routers_per_group
                            : 0;
  if (links > 1 << 23)
    reader.problem(reader.node().mark, "shape", "E-CLUSTER-SIZE",
                   "such a network of " + std::to_string(nodes) + " nodes has more than " +
                       std::to_string(1 << 23) + " links");
}

void read_keys(MapReader& reader, bool nodes_given, Cluster& cluster) {
  switch (cluster.fabric) {
    case FabricShape::one_tier:
      return;
    case FabricShape::fat_tree:
    case FabricShape::rail:
      return read_tiers(reader, cluster);
    case FabricShape::torus:
      read_dims(reader, nodes_given, cluster);
      break;
    case FabricShape::ring:
    case FabricShape::full_mesh:
      break;
    case FabricShape::dragonfly:
      reader.required("nodes_per_router", cluster.nodes_per_router, IntRange{1, 1024});
      reader.required("routers_per_group", cluster.routers_per_group, IntRange{1, 1024});
      reader.required("local", cluster.local, kPositive);
      reader.required("global", cluster.global, kPositive);
      break;
    case FabricShape::links:
      if (const DocNode* links = reader.require("links"))
        WireReader(reader, nodes_given, cluster).read(*links);
      break;
  }
  if (cluster.fabric != FabricShape::dragonfly && cluster.fabric != FabricShape::links)
    reader.required("rate", cluster.wire, kPositive);
  reader.optional("hop_latency", cluster.hop_latency, kNotNegative);
}

}  // namespace

void read_fabric(const DocNode& node, const std::string& path, bool nodes_given, Cluster& cluster,
                 Problems& problems) {
  DocNode map = node;
  expand_fabric(map);
  MapReader reader(map, path, problems);
  const DocNode* word = reader.require("shape");
  if (!word) {
    if (map.kind == NodeKind::map) return;  // which keys there are depends on the shape
    return reader.finish();
  }
  std::vector<std::string_view> names;
  for (const auto& row : network_shapes()) names.push_back(row.name);
  const int which =
      read_choice(*word, node.kind == NodeKind::scalar ? path : reader.path_of("shape"), problems, names);
  if (which < 0) return;
  cluster.fabric = network_shapes()[which].value.shape;
  read_keys(reader, nodes_given, cluster);
  const auto own = keys_of(cluster.fabric);
  for (const std::string_view key : {"tiers", "dims", "rate", "nodes_per_router", "routers_per_group",
                                     "local", "global", "links", "hop_latency"})
    if (std::find(own.begin(), own.end(), key) == own.end())
      refuse_idle(reader, key, "a network of shape " + word->text + " has none");
  check_size(reader, cluster);
  reader.finish();
}

}  // namespace rehearse
