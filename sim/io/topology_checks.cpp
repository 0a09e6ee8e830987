#include <map>
#include <set>
#include <stdexcept>

#include "sim/base/file.hpp"
#include "sim/cluster/fabric.hpp"
#include "sim/io/topology_parts.hpp"

namespace rehearse {
namespace {

std::string item_path(const std::string& path, size_t i) { return path + "[" + std::to_string(i) + "]"; }

std::set<int> nodes_down(const Cluster& cluster) {
  std::set<int> down;
  for (const auto& o : cluster.overrides)
    if (o.node >= 0 && o.down) down.insert(o.node);
  return down;
}

// One override; nothing where it is refused.
bool read_override(const DocNode& item, const std::string& path, bool nodes_known, const Cluster& cluster,
                   Problems& problems, Override& out) {
  MapReader reader(item, path, problems);
  if (item.kind != NodeKind::map) return false;
  const bool link = reader.find("link"), node = reader.find("node");
  const bool slow = reader.find("slow"), down = reader.find("down");
  bool good = link != node && slow != down;
  if (link == node)
    reader.problem(item.mark, "", "E-CLUSTER-OVERRIDE", "an override names either a link or a node",
                   "write {link: node3.nic5, slow: 0.5} or {node: 3, down: true}");
  if (slow == down)
    reader.problem(item.mark, "", "E-CLUSTER-OVERRIDE", "an override is either slow or down",
                   "slow is what is left of the rate, such as 0.5; or write down: true");
  const IntRange nodes{0, nodes_known ? cluster.nodes - 1 : 1'000'000};
  if (node) good = reader.optional("node", out.node, nodes) && good;
  if (link) good = reader.optional("link", out.link) && good;
  if (slow) good = reader.optional("slow", out.slow, kFraction) && good;
  if (down) good = reader.optional("down", out.down) && good;
  if (good && down && !out.down) {
    good = false;
    reader.problem(item.find("down")->mark, "down", "E-CLUSTER-KEY",
                   reader.path_of("down") + " has no effect: it is false",
                   "write down: true, or leave out the override");
  }
  reader.finish();
  return good;
}

std::vector<std::string> link_names(const Fabric& fabric) {
  std::vector<std::string> names;
  for (int l = 0; l < fabric.link_count(); ++l) {
    names.push_back(fabric.link_name(LinkId(l)));
    for (const std::string_view end : {".up", ".down"})
      if (names.back().ends_with(end)) {
        names.push_back(names.back().substr(0, names.back().size() - end.size()));
        break;
      }
  }
  return names;
}

void refuse_unknown(const DocNode& overrides, const std::string& path, const Fabric& fabric,
                    Problems& problems) {
  const auto names = link_names(fabric);
  const std::vector<std::string_view> views(names.begin(), names.end());
  for (const size_t i : fabric.unknown_overrides()) {
    const std::string& link = fabric.cluster().overrides[i].link;
    const auto near = nearest(link, views);
    problems.add(overrides.items[i].find("link")->mark, item_path(path, i) + ".link", "E-CLUSTER-OVERRIDE",
                 "no link is called " + quote(link),
                 near.empty() ? "links have names such as " + names.front() + " and " + names.back() +
                                    "; rehearse topology --from GPU --to GPU tells those of a path"
                              : "did you mean '" + std::string(near) + "'?");
  }
}

// Why two GPUs do not reach each other; empty where they do.
std::string cut(const Fabric& fabric, int from, int to) {
  try {
    for (const LinkId l : fabric.route(GpuId(from), GpuId(to)).links)
      if (fabric.link(l).rate.value <= 0)
        return "no way is left from GPU " + std::to_string(from) + " to GPU " + std::to_string(to) + ": " +
               fabric.link_name(l) + " is down";
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return {};
}

// Each GPU to and from one GPU of the first and one of the last domain: who reaches both, both ways, reaches
// all.
std::string find_cut(const Fabric& fabric) {
  const Cluster& cluster = fabric.cluster();
  const auto down = nodes_down(cluster);
  std::vector<int> gpus;
  for (int g = 0; g < cluster.nodes * cluster.gpus_per_node; ++g)
    if (!down.contains(fabric.node_of(GpuId(g)))) gpus.push_back(g);
  for (const int g : gpus)
    for (const int other : {gpus.front(), gpus.back()}) {
      if (g == other) continue;
      if (std::string why = cut(fabric, other, g); !why.empty()) return why;
      if (std::string why = cut(fabric, g, other); !why.empty()) return why;
    }
  return {};
}

// Of the overrides in order the one with which the network is cut; nothing where it is without any.
std::optional<size_t> cutting_override(const Cluster& cluster) {
  const auto is_cut = [&](size_t first) {
    Cluster some = cluster;
    some.overrides.resize(first);
    some.placement.clear();
    return !find_cut(Fabric(some)).empty();
  };
  if (cluster.fabric == FabricShape::links && is_cut(0)) return {};
  size_t whole = 0, cut = cluster.overrides.size();
  while (cut - whole > 1) {
    const size_t middle = whole + (cut - whole) / 2;
    (is_cut(middle) ? cut : whole) = middle;
  }
  return cut - 1;
}

class PlacementReader {
 public:
  PlacementReader(const std::string& path, const std::string& text, Cluster& cluster, Problems& problems)
      : file_(shown_path(path)), cluster_(cluster), problems_(problems), down_(nodes_down(cluster)) {
    for (std::string_view line : split(text, '\n')) {
      if (line.ends_with('\r')) line.remove_suffix(1);
      lines_.push_back(line);
    }
    while (!lines_.empty() && lines_.back().empty()) lines_.pop_back();
  }

  void read() {
    if (lines_.empty() || (lines_[0] != "gpu" && lines_[0] != "node,gpu"))
      return refuse(1, 1, "the first line must be gpu or node,gpu",
                    "gpu counts over the cluster, node,gpu in each node");
    std::vector<int> gpus;
    for (size_t i = 1; i < lines_.size(); ++i) {
      const auto gpu = read_line(int(i) + 1, lines_[i]);
      if (!gpu) return;
      if (const auto [at, fresh] = seen_.emplace(*gpu, int(i) + 1); !fresh)
        return refuse(int(i) + 1, 1, "this GPU stands in line " + std::to_string(at->second) + " too");
      gpus.push_back(*gpu);
    }
    if (int(gpus.size()) != cluster_.gpus())
      return refuse(int(lines_.size()), 1,
                    std::to_string(gpus.size()) + " GPUs are listed, and the cluster has " +
                        std::to_string(cluster_.gpus()),
                    "list each GPU of the nodes that are up once, a line for each rank");
    cluster_.placement = std::move(gpus);
  }

 private:
  void refuse(int line, int column, std::string message, std::string hint = {}) {
    const std::string_view source = size_t(line) <= lines_.size() ? lines_[line - 1] : std::string_view{};
    problems_.add(InputErrors(InputError{{file_, line, column, printable(source)},
                                         "",
                                         "E-CLUSTER-PLACEMENT",
                                         std::move(message),
                                         std::move(hint)}));
  }
  std::optional<int> read_number(int line, int column, std::string_view text, int64_t below,
                                 const std::string& what) {
    const auto parsed = parse_int(text);
    if (parsed.value && *parsed.value >= 0 && *parsed.value < below) return int(*parsed.value);
    refuse(line, column,
           quote(text) + " is not the number of a " + what + ", 0 to " + std::to_string(below - 1));
    return {};
  }
  std::optional<int> read_line(int line, std::string_view text) {
    const auto fields = split(text, ',');
    const int each = cluster_.gpus_per_node;
    if (fields.size() != split(lines_[0], ',').size()) {
      refuse(line, 1, "a line must be " + std::string(lines_[0]));
      return {};
    }
    std::optional<int> gpu;
    if (fields.size() == 1) {
      gpu = read_number(line, 1, fields[0], int64_t(cluster_.nodes) * each, "GPU");
    } else {
      const auto node = read_number(line, 1, fields[0], cluster_.nodes, "node");
      if (!node) return {};
      gpu = read_number(line, int(fields[0].size()) + 2, fields[1], each, "GPU of a node");
      if (gpu) gpu = *node * each + *gpu;
    }
    if (!gpu || !down_.contains(*gpu / each)) return gpu;
    refuse(line, 1, "node " + std::to_string(*gpu / each) + " is down");
    return {};
  }

  std::string file_;
  Cluster& cluster_;
  Problems& problems_;
  std::set<int> down_;
  std::vector<std::string_view> lines_;
  std::map<int, int> seen_;  // line of each GPU
};

}  // namespace

void read_overrides(const DocNode& node, const std::string& path, bool nodes_known, Cluster& cluster,
                    Problems& problems) {
  if (node.kind != NodeKind::list)
    return problems.add(node.mark, path, "E-TYPE", path + " must be a list, not " + describe(node),
                        "write overrides: [{link: node3.nic5, slow: 0.5}, {node: 7, down: true}]");
  std::set<std::pair<int, std::string>> seen;
  for (size_t i = 0; i < node.items.size(); ++i) {
    Override read;
    if (!read_override(node.items[i], item_path(path, i), nodes_known, cluster, problems, read)) continue;
    if (!seen.insert({read.node, read.link}).second)
      problems.add(node.items[i].mark, item_path(path, i), "E-CLUSTER-OVERRIDE",
                   (read.node >= 0 ? "node " + std::to_string(read.node) : "link " + read.link) +
                       " has an override already");
    cluster.overrides.push_back(std::move(read));
  }
  if (nodes_known && int(nodes_down(cluster).size()) == cluster.nodes)
    problems.add(node.mark, path, "E-CLUSTER-OVERRIDE", "all nodes are down");
}

void read_placement(const std::string& path, const DocNode& named, Cluster& cluster, Problems& problems) {
  try {
    const std::string text = read_file(path, place_of(named.mark));
    PlacementReader(path, text, cluster, problems).read();
  } catch (const InputErrors& found) {
    problems.add(found);
  }
}

void check_network(const DocNode& node, const std::string& path, const Cluster& cluster, Problems& problems) {
  if (cluster.overrides.empty() && cluster.fabric != FabricShape::links) return;
  const Fabric fabric(cluster);
  const std::string below = path.empty() ? "" : path + ".";
  const DocNode* overrides = node.find("overrides");
  if (!fabric.unknown_overrides().empty())
    return refuse_unknown(*overrides, below + "overrides", fabric, problems);
  const std::string why = find_cut(fabric);
  if (why.empty()) return;
  const auto by = cutting_override(cluster);
  if (!by)
    return problems.add(node.find("fabric")->mark, below + "fabric", "E-CLUSTER-CUT",
                        "the network is cut: " + why);
  const std::string& link = cluster.overrides[*by].link;
  problems.add(overrides->items[*by].mark, item_path(below + "overrides", *by), "E-CLUSTER-CUT",
               "the network is cut: " + why,
               link.empty() ? ""
                            : "a link stands for all its cables: to lose some, write {link: " + link +
                                  ", slow: 0.5} with what is left of its rate");
}

}  // namespace rehearse
