// rehearse topology: what a cluster is made of, and the ways through it.
#include "sim/cli/topology.hpp"

#include <boost/program_options.hpp>
#include <iostream>

#include "sim/base/file.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cluster/draw.hpp"
#include "sim/io/overrides.hpp"
#include "sim/io/scenario.hpp"
#include "sim/io/topology.hpp"

namespace rehearse {
namespace {

struct TopologyOptions {
  CommonOptions common;
  std::string dot, svg;
  int nodes = 0, from = -1, to = -1;
};

[[noreturn]] void refuse(std::string message, std::string hint = {}) {
  throw InputErrors(InputError{{}, "", "E-CLI", std::move(message), std::move(hint)});
}

bool read_options(const Invocation& invocation, TopologyOptions& options, std::ostream& out) {
  namespace po = boost::program_options;
  po::options_description extra("topology");
  extra.add_options()  //
      ("nodes", po::value(&options.nodes)->value_name("N"),
       "how many; default: the topology's, or two of its widest domains or switches")                       //
      ("dot", po::value(&options.dot)->value_name("FILE|-"), "draw it for Graphviz; - replaces the table")  //
      ("svg", po::value(&options.svg)->value_name("FILE|-"),
       "draw it; more than 32 nodes as one of a kind")                                     //
      ("from", po::value(&options.from)->value_name("GPU"), "the path from this GPU ...")  //
      ("to", po::value(&options.to)->value_name("GPU"), "... to this one, link by link");
  const CommandHelp help{
      "topology", "NAME|FILE",
      "Prints tiers, links, bisection, bandwidth and latency of a topology (or of a scenario's cluster).\n"
      "--set takes the keys of a topology. The bisection is the most that the nodes of the first half (in "
      "order;\nwhole NVLink domains) can send to those of the second at once, in one direction."};
  if (!parse_words(invocation, help, extra, options.common, out)) return false;
  const auto& common = options.common;
  claim_outputs({{"--json", common.json}, {"--dot", options.dot}, {"--svg", options.svg}});
  if (options.nodes < 0 ||
      (options.nodes == 0 && !invocation.words.empty() &&
       std::find(invocation.words.begin(), invocation.words.end(), "--nodes") != invocation.words.end()))
    refuse("--nodes takes a number from 1 up");
  if ((options.from < 0) != (options.to < 0)) refuse("--from and --to go together, each the number of a GPU");
  return true;
}

// The keys of the topology that is asked for, below `cluster`; `folder`: of its file.
struct Asked {
  DocNode root;
  std::string file;
};

DocNode scalar(const std::string& text) {
  DocNode node;
  node.kind = NodeKind::scalar;
  node.text = text;
  return node;
}

std::string find_topology(const DocNode& name, const std::string& folder, const DataRoots& roots) {
  Problems problems;
  const auto path = resolve(name, "topology", FileKind::topology, folder, roots, problems);
  problems.raise();
  return *path;
}

// All that a scenario reads is kept from being written over, though only its cluster is asked for here.
void note_files_of(const std::string& scenario, const DataRoots& roots) {
  try {
    const Job job = read_job(scenario, {}, roots);
    if (job.scenario.schedule.ends_with(".csv")) note_read(job.scenario.schedule);
  } catch (const InputErrors& found) {
    if (found.errors.front().code == "E-CLI") throw;  // what else is wrong with it does not matter here
  }
}

Asked read_asked(const std::string& input, const DataRoots& roots) {
  Asked asked;
  asked.file = input == "-" ? input : find_topology(scalar(input), ".", roots);
  asked.root = parse_yaml_file(asked.file);
  if (DocNode* cluster = asked.root.find("cluster")) {  // a scenario
    note_files_of(asked.file, roots);
    DocNode* topology = cluster->find("topology");
    if (topology && topology->kind == NodeKind::scalar)
      *topology = parse_yaml_file(find_topology(*topology, folder_of(asked.file), roots));
    return asked;
  }
  DocNode root;
  root.kind = NodeKind::map;
  root.mark = asked.root.mark;
  root.entries.push_back({"cluster", asked.root.mark, std::move(asked.root)});
  asked.root = std::move(root);
  return asked;
}

void apply_sets(const std::vector<std::string>& sets, DocNode& root, Problems& problems) {
  const Expand expand = [](const std::string& key, DocNode& node) {
    if (key != "fabric" && key != "cluster.fabric") return false;
    expand_fabric(node);
    return true;
  };
  for (const auto& set : sets)
    apply_set(set.starts_with("cluster.") ? root : *root.find("cluster"), set, expand, problems);
}

void set_nodes(DocNode& topology, int count) {
  DocNode nodes = scalar(std::to_string(count));
  nodes.mark = topology.mark;
  if (DocNode* before = topology.find("nodes"))
    *before = nodes;
  else
    topology.entries.push_back({"nodes", topology.mark, nodes});
}

// Two of the widest that the topology has: NVLink domains, switches, groups.
int presumed_nodes(const DocNode& topology, const FindFile& find) {
  Problems of_one_node;
  const Cluster c = read_topology(topology, "", of_one_node, find);
  const int below = c.tiers.empty() ? 1 : c.tiers.back().nodes;
  const int group = c.fabric == FabricShape::dragonfly ? c.nodes_per_router * c.routers_per_group : 1;
  return 2 * std::max({c.nodes_per_domain, below, group});
}

// The topology with its settings; `presumed`: nothing says how many nodes.
Cluster load_cluster(const TopologyOptions& options, const DataRoots& roots, bool& presumed) {
  Asked asked = read_asked(options.common.input, roots);
  Problems problems;
  apply_sets(options.common.sets, asked.root, problems);
  DocNode merged = merge_cluster(*asked.root.find("cluster"));
  presumed = options.nodes == 0 && !says_nodes(merged);
  const auto find = [&](const DocNode& value, const std::string& key) {
    return resolve(value, key, FileKind::placement, folder_of(asked.file), roots, problems);
  };
  std::erase_if(merged.entries, [](const DocEntry& e) { return e.value.kind == NodeKind::absent; });
  const FindFile unseen = [](const DocNode&, const std::string&) { return std::optional<std::string>(); };
  if (presumed)
    set_nodes(merged, presumed_nodes(merged, unseen));
  else if (options.nodes > 0)
    set_nodes(merged, options.nodes);
  Cluster cluster = read_topology(merged, "", problems, find);
  problems.raise();
  if (int64_t(cluster.nodes) * cluster.gpus_per_node > 1 << 20)
    refuse("this shows clusters of up to " + std::to_string(1 << 20) + " GPUs");
  return cluster;
}

void check_gpu(const char* option, int gpu, const Fabric& fabric) {
  const Cluster& c = fabric.cluster();
  const int gpus = c.nodes * c.gpus_per_node;
  if (gpu >= gpus)
    refuse(std::string(option) + " " + std::to_string(gpu) + ": the GPUs are 0 to " +
           std::to_string(gpus - 1));
  for (const auto& o : c.overrides)
    if (o.down && o.node == fabric.node_of(GpuId(gpu)))
      refuse(std::string(option) + " " + std::to_string(gpu) + ": node " + std::to_string(o.node) +
             " is down");
}

}  // namespace

int command_topology(const Invocation& invocation, std::ostream& out) {
  TopologyOptions options;
  if (!read_options(invocation, options, out)) return kDone;
  bool presumed = false;
  TopologyView view{Fabric(load_cluster(options, invocation.roots, presumed)), presumed, {}, {}, {}};
  if (options.from >= 0) {
    check_gpu("--from", options.from, view.fabric);
    check_gpu("--to", options.to, view.fabric);
    view.path = path_between(view.fabric, options.from, options.to);
  }
  view.bisection = bisection(view.fabric);
  view.pairs = representative_paths(view.fabric);
  if (!options.dot.empty()) write_output(options.dot, to_dot(draw(view.fabric)), out);
  if (!options.svg.empty()) write_output(options.svg, to_svg(draw(view.fabric)), out);
  const bool replaced = options.dot == "-" || options.svg == "-";
  emit(options.common, replaced ? "" : to_table(view), to_json(view), out);
  return kDone;
}

}  // namespace rehearse
