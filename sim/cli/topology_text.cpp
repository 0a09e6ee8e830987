#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/cli/topology.hpp"

namespace rehearse {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kNodeNames[] = {"nvswitch", "pairs", "pcie"};
constexpr const char* kTierNames[] = {"leaf", "pod", "tier 3", "tier 4"};

const Named<NetworkShape>& shape_of(const Cluster& c) {
  for (const auto& row : network_shapes())
    if (row.value.shape == c.fabric) return row;
  return network_shapes().front();
}

std::string rate_text(BytesPerSec rate) {
  return rate.value > 0 ? fmt::format("{:.6g}", rate.value / 1e9) : "profile's";
}

std::string heading(const TopologyView& view) {
  const Cluster& c = view.fabric.cluster();
  std::string text = fmt::format("{}: {} node{} x {} {} = {} GPU{}", c.name.empty() ? "topology" : c.name,
                                 c.nodes, c.nodes == 1 ? "" : "s", c.gpus_per_node, c.gpu,
                                 c.nodes * c.gpus_per_node, c.nodes * c.gpus_per_node == 1 ? "" : "s");
  if (c.live_nodes() < c.nodes) text += fmt::format(", {} of them up", c.gpus());
  text += '\n';
  if (view.nodes_presumed)
    text += fmt::format("  ({} nodes presumed: the topology names no number; --nodes N does)\n", c.nodes);
  return text;
}

std::string node_lines(const Cluster& c) {
  const std::string nvlink = c.nvlink.value > 0
                                 ? fmt::format("{:g} GB/s a GPU and direction, {:g} us", c.nvlink.value / 1e9,
                                               c.nvlink_latency.value * 1e6)
                                 : "as the profile has it";
  std::string text = "  node       ";
  if (c.node == NodeShape::nvswitch)
    text += c.nodes_per_domain > 1 ? fmt::format("NVLink over domains of {} nodes = {} GPUs: {}\n",
                                                 c.nodes_per_domain, c.gpus_per_domain(), nvlink)
                                   : fmt::format("NVLink to all: {}\n", nvlink);
  else if (c.node == NodeShape::pairs)
    text += fmt::format("NVLink in pairs: {}; PCIe to the rest\n", nvlink);
  else
    text += "PCIe alone\n";
  if (c.pcie.value > 0) {
    text += fmt::format("  PCIe       {:g} GB/s a GPU and direction", c.pcie.value / 1e9);
    if (c.node != NodeShape::nvswitch) text += fmt::format(", {:g} us", c.pcie_latency.value * 1e6);
    if (c.bridge.value > 0)
      text += fmt::format("; {} GPUs a switch, {:g} GB/s to the host bridge", c.gpus_per_switch,
                          c.bridge.value / 1e9);
    text += '\n';
  }
  text += fmt::format("  NICs       {} x {:g} GB/s a node, {:g} us from node to node{}{}\n", c.nics_per_node,
                      c.nic.value / 1e9, c.nic_latency.value * 1e6, c.network.empty() ? "" : ", " + c.network,
                      c.sharp ? ", switches reduce (SHARP)" : "");
  return text;
}

std::string network_lines(const Fabric& fabric) {
  const Cluster& c = fabric.cluster();
  const auto& shape = shape_of(c);
  std::string text = fmt::format("  network    {}: {}\n", shape.name, shape.help);
  for (size_t t = 0; t < c.tiers.size(); ++t) {
    const int planes = c.fabric == FabricShape::rail ? c.ports_per_node() : 1;
    text += fmt::format("  tier {}     {} {}: {} nodes below each, {:g}:1 to what is above, {:g} us\n", t + 1,
                        (c.nodes + c.tiers[t].nodes - 1) / c.tiers[t].nodes * planes, kTierNames[t],
                        c.tiers[t].nodes, c.tiers[t].oversubscription, c.tiers[t].latency.value * 1e6);
  }
  if (c.fabric == FabricShape::torus) text += fmt::format("  dims       {}\n", fmt::join(c.dims, " x "));
  if (c.fabric == FabricShape::dragonfly)
    text += fmt::format("  groups     {} routers each, {} nodes a router\n", c.routers_per_group,
                        c.nodes_per_router);
  if (c.hop_latency.value > 0) text += fmt::format("  each link  {:g} us more\n", c.hop_latency.value * 1e6);
  return text;
}

std::string class_lines(const Fabric& fabric) {
  std::string text =
      fmt::format("\n  {:<20} {:>8} {:>12} {:>14}\n", "links", "count", "GB/s each", "GB/s together");
  for (const auto& c : fabric.classes()) {
    double sum = 0;
    for (int i = 0; i < c.count; ++i) sum += fabric.link(LinkId(c.first + i)).rate.value;
    text +=
        fmt::format("  {:<20} {:>8} {:>12.6g} {:>14.6g}\n", c.name, c.count, c.rate.value / 1e9, sum / 1e9);
  }
  return text;
}

// Of the first half; what its NICs send together.
double nics_of_half(const Fabric& fabric) {
  const Cluster& c = fabric.cluster();
  const int domains = (c.nodes + c.nodes_per_domain - 1) / c.nodes_per_domain;
  double sum = 0;
  for (int p = 0; p < domains / 2 * c.nodes_per_domain * c.ports_per_node(); ++p)
    sum += fabric.link(LinkId(p)).rate.value;
  return sum;
}

std::string bisection_line(const TopologyView& view) {
  const double rate = view.bisection.rate.value;
  if (!view.bisection.network)
    return fmt::format("\n  bisection  {} GB/s one way, between the halves of one {}\n",
                       rate > 0 ? fmt::format("{:.6g}", rate / 1e9) : "-",
                       view.fabric.cluster().nodes > 1 ? "NVLink domain" : "node");
  const double nics = nics_of_half(view.fabric);
  return fmt::format(
      "\n  bisection  {:.6g} GB/s one way, {:.4g} % of the {:.6g} that the NICs of the first half send\n",
      rate / 1e9, nics > 0 ? 100 * rate / nics : 0, nics / 1e9);
}

std::string pair_lines(const TopologyView& view) {
  if (view.pairs.empty()) return "";
  std::string text =
      fmt::format("\n  {:<34} {:>15} {:>10} {:>8}  {}\n", "from GPU to GPU", "", "GB/s", "us", "links");
  for (const auto& p : view.pairs)
    text += fmt::format("  {:<34} {:>6} - {:>6} {:>10} {:>8.4g}  {}\n", p.between, p.from, p.to,
                        rate_text(p.rate), p.latency.value * 1e6, p.links.size());
  return text;
}

std::string path_lines(const TopologyView& view) {
  if (!view.path) return "";
  const ShownPath& p = *view.path;
  std::string text = fmt::format("\n  GPU {} to GPU {}: {}", p.from, p.to, p.between);
  if (p.from == p.to) return text + '\n';
  text += fmt::format(", {} GB/s, {:.4g} us\n", rate_text(p.rate), p.latency.value * 1e6);
  for (const LinkId l : p.links)
    text += fmt::format("    {:<32} {:>10.6g} GB/s\n", view.fabric.link_name(l),
                        view.fabric.link(l).rate.value / 1e9);
  return text;
}

std::string override_lines(const Cluster& c) {
  std::string text;
  for (const auto& o : c.overrides)
    text += fmt::format("  override   {}: {}\n", o.node >= 0 ? fmt::format("node {}", o.node) : o.link,
                        o.down ? "down" : fmt::format("{:g} of its rate", o.slow));
  return text;
}

Json to_json(const Fabric& fabric, const ShownPath& p) {
  Json json{{"between", p.between}, {"from", p.from}, {"to", p.to}};
  if (p.rate.value > 0) json["bytes_per_s"] = p.rate.value;
  json["latency_s"] = p.latency.value;
  json["links"] = Json::array();
  for (const LinkId l : p.links) json["links"].push_back(fabric.link_name(l));
  return json;
}

Json classes_json(const Fabric& fabric) {
  Json list = Json::array();
  for (const auto& c : fabric.classes())
    list.push_back({{"name", c.name}, {"count", c.count}, {"bytes_per_s", c.rate.value}});
  return list;
}

Json network_json(const Cluster& c) {
  Json json{{"shape", shape_of(c).name}};
  for (const auto& t : c.tiers)
    json["tiers"].push_back(
        {{"nodes", t.nodes}, {"oversubscription", t.oversubscription}, {"latency_s", t.latency.value}});
  if (c.fabric == FabricShape::torus) json["dims"] = c.dims;
  if (c.fabric == FabricShape::dragonfly)
    json["nodes_per_router"] = c.nodes_per_router, json["routers_per_group"] = c.routers_per_group;
  if (c.hop_latency.value > 0) json["hop_latency_s"] = c.hop_latency.value;
  return json;
}

}  // namespace

std::string to_table(const TopologyView& view) {
  const Cluster& c = view.fabric.cluster();
  return heading(view) + node_lines(c) + network_lines(view.fabric) + override_lines(c) +
         class_lines(view.fabric) + bisection_line(view) + pair_lines(view) + path_lines(view);
}

std::string to_json(const TopologyView& view) {
  const Cluster& c = view.fabric.cluster();
  Json json{{"schema", 1},
            {"name", c.name},
            {"gpu", c.gpu},
            {"nodes", c.nodes},
            {"nodes_presumed", view.nodes_presumed},
            {"nodes_up", c.live_nodes()},
            {"gpus_per_node", c.gpus_per_node},
            {"gpus", c.gpus()},
            {"gpus_per_domain", c.gpus_per_domain()},
            {"node", kNodeNames[static_cast<size_t>(c.node)]},
            {"nics_per_node", c.nics_per_node},
            {"nic_bytes_per_s", c.nic.value},
            {"nic_latency_s", c.nic_latency.value},
            {"network", c.network},
            {"sharp", c.sharp}};
  if (c.nvlink.value > 0)
    json["nvlink_bytes_per_s"] = c.nvlink.value, json["nvlink_latency_s"] = c.nvlink_latency.value;
  if (c.pcie.value > 0) json["pcie_bytes_per_s"] = c.pcie.value;
  json["fabric"] = network_json(c);
  json["links"] = classes_json(view.fabric);
  json["bisection"] = {{"bytes_per_s", view.bisection.rate.value}, {"network", view.bisection.network}};
  json["pairs"] = Json::array();
  for (const auto& p : view.pairs) json["pairs"].push_back(to_json(view.fabric, p));
  if (view.path) json["path"] = to_json(view.fabric, *view.path);
  return json.dump(2) + "\n";
}

}  // namespace rehearse
