#include "sim/cluster/fabric.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

namespace rehearse {
namespace {

constexpr Named<NetworkShape> kShapes[] = {
    {"one_tier", "every NIC on one non-blocking switch", {FabricShape::one_tier, make_tiers}},
    {"fat_tree", "switches in tiers; all NICs of a node on one leaf", {FabricShape::fat_tree, make_tiers}},
    {"rail",
     "switches in tiers; NICs of one place in their nodes on leaves of their own",
     {FabricShape::rail, make_tiers}},
    {"dragonfly",
     "groups of routers joined all to all, and the groups too",
     {FabricShape::dragonfly, make_dragonfly}},
    {"torus", "nodes on a grid that closes on itself, 1 to 3 dimensions", {FabricShape::torus, make_torus}},
    {"ring", "a torus of one dimension over all nodes", {FabricShape::ring, make_torus}},
    {"full_mesh", "a link from each node to each other", {FabricShape::full_mesh, make_full_mesh}},
    {"links", "those that the file lists", {FabricShape::links, make_links}},
};

const NetworkShape& network_of(const Cluster& cluster) {
  const auto at = std::find_if(std::begin(kShapes), std::end(kShapes),
                               [&](const auto& row) { return row.value.shape == cluster.fabric; });
  return at->value;
}

// `node3.nic5` for `node3.nic5.up`; names without a direction as they are.
std::string_view without_direction(std::string_view name) {
  for (const std::string_view end : {".up", ".down"})
    if (name.ends_with(end)) return name.substr(0, name.size() - end.size());
  return name;
}

std::string at_node(int index, int each, const char* part, const char* end) {
  return "node" + std::to_string(index / each) + "." + part + std::to_string(index % each) + end;
}

}  // namespace

std::span<const Named<NetworkShape>> network_shapes() { return kShapes; }

Fabric::Fabric(const Cluster& cluster) : cluster_(cluster) {
  add_ports();
  const auto is_down = [factors = factors_](LinkId l) {
    const auto at = factors->find(l.value);
    return at != factors->end() && at->second == 0;
  };
  network_ = network_of(cluster_).make(cluster_, link_count_, is_down);
  for (const auto& c : network_.classes) classes_.push_back(c), link_count_ += c.count;
  first_pcie_ = link_count_;
  add_pcie();
  apply(cluster_.overrides);
}

void Fabric::add_ports() {
  const int each = cluster_.ports_per_node(), ports = cluster_.nodes * each;
  for (const char* end : {".up", ".down"}) {
    classes_.push_back({std::string("NIC ") + (end + 1), link_count_, ports, cluster_.port(),
                        [=](int i) { return at_node(i, each, "nic", end); }});
    link_count_ += ports;
  }
}

void Fabric::add_pcie() {
  if (cluster_.pcie.value <= 0) return;
  const int each = cluster_.gpus_per_node, gpus = cluster_.nodes * each;
  pcie_up_ = static_cast<int>(classes_.size());
  for (const char* end : {".up", ".down"}) {
    classes_.push_back({std::string("PCIe ") + (end + 1), link_count_, gpus, cluster_.pcie,
                        [=](int i) { return at_node(i, each, "pcie", end); }});
    link_count_ += gpus;
  }
  if (cluster_.gpus_per_switch == 0 || cluster_.gpus_per_switch >= each) return;
  const int bridges = each / cluster_.gpus_per_switch;
  bridge_up_ = static_cast<int>(classes_.size());
  for (const char* end : {".up", ".down"}) {
    classes_.push_back({std::string("host bridge ") + (end + 1), link_count_, cluster_.nodes * bridges,
                        cluster_.bridge, [=](int i) { return at_node(i, bridges, "bridge", end); }});
    link_count_ += cluster_.nodes * bridges;
  }
}

void Fabric::apply_to_node(int node, double factor) {
  node_speed_[node] = factor;
  const int each = cluster_.ports_per_node();
  for (int up_or_down = 0; up_or_down < 2; ++up_or_down)
    for (int i = 0; i < each; ++i) (*factors_)[classes_[up_or_down].first + node * each + i] = factor;
  if (factor > 0) return;
  // Where nodes pass traffic on, one that is down does so no more.
  std::vector<Hop> out, back;
  network_.graph.out(node, out);
  for (const Hop& hop : out) {
    (*factors_)[hop.link.value] = 0;
    back.clear();
    network_.graph.out(hop.to, back);
    for (const Hop& other : back)
      if (other.to == node) (*factors_)[other.link.value] = 0;
  }
}

void Fabric::apply(const std::vector<Override>& overrides) {
  std::map<std::string_view, size_t> by_link;
  std::vector<bool> found(overrides.size(), false);
  for (size_t i = 0; i < overrides.size(); ++i) {
    const auto& o = overrides[i];
    if (o.node < 0) by_link[o.link] = i;
    if (o.node < 0 || o.node >= cluster_.nodes) continue;
    apply_to_node(o.node, o.down ? 0 : o.slow);
    found[i] = true;
  }
  for (const auto& c : classes_)
    for (int i = 0; i < c.count && !by_link.empty(); ++i) {
      const std::string name = c.name_of(i);
      auto at = by_link.find(name);
      if (at == by_link.end()) at = by_link.find(without_direction(name));
      if (at == by_link.end()) continue;
      const Override& o = overrides[at->second];
      (*factors_)[c.first + i] = o.down ? 0 : o.slow;
      found[at->second] = true;
    }
  for (size_t i = 0; i < overrides.size(); ++i)
    if (!found[i]) unknown_.push_back(i);
}

int Fabric::island_of(GpuId g) const {
  switch (cluster_.node) {
    case NodeShape::nvswitch:
      return domain_of(g);
    case NodeShape::pairs:
      return g.value / 2;
    case NodeShape::pcie:
      break;
  }
  return g.value;
}

int Fabric::port_of(GpuId g) const {
  const int each = cluster_.ports_per_node(), node = node_of(g);
  const int own = local_of(g) * each / cluster_.gpus_per_node;
  if (factors_->empty()) return node * each + own;
  const int down = classes_[1].first;
  for (int i = 0; i < each; ++i) {
    const int port = node * each + (own + i) % each;
    if (link(LinkId(port)).rate.value > 0 && link(LinkId(down + port)).rate.value > 0) return port;
  }
  throw std::runtime_error("node " + std::to_string(node) + " has no NIC that is up");
}

int Fabric::exit_port(GpuId from, GpuId to) const {
  const int own = port_of(from);
  if (cluster_.fabric != FabricShape::rail || cluster_.node != NodeShape::nvswitch) return own;
  const int each = cluster_.ports_per_node(), port = node_of(from) * each + port_of(to) % each;
  return link(LinkId(port)).rate.value > 0 ? port : own;
}

double Fabric::speed_of(int node) const {
  const auto at = node_speed_.find(node);
  return at == node_speed_.end() ? 1 : at->second;
}

Path Fabric::route_ports(int from, int to) const {
  Path path{{LinkId(from)}, cluster_.nic_latency, true};
  path.latency += network_.path(from, to, path.links);
  path.links.emplace_back(classes_[1].first + to);
  return path;
}

void Fabric::pcie_path(GpuId from, GpuId to, std::vector<LinkId>& links) const {
  const auto link = [&](int link_class, int i) { links.emplace_back(classes_[link_class].first + i); };
  link(pcie_up_, from.value);
  if (bridge_up_ >= 0) {
    const int a = from.value / cluster_.gpus_per_switch, b = to.value / cluster_.gpus_per_switch;
    if (a != b) link(bridge_up_, a), link(bridge_up_ + 1, b);
  }
  link(pcie_up_ + 1, to.value);
}

Path Fabric::route(GpuId from, GpuId to) const {
  if (same_island(from, to)) return {{}, cluster_.nvlink_latency, false};
  if (same_domain(from, to)) {
    Path path{{}, cluster_.pcie_latency, false};
    pcie_path(from, to, path.links);
    return path;
  }
  const int exit = exit_port(from, to);
  Path path = route_ports(exit, port_of(to));
  if (pcie_up_ < 0) return path;
  const int gpus = cluster_.gpus_per_node, each = cluster_.ports_per_node();
  const int sender = exit == port_of(from) ? from.value : node_of(from) * gpus + exit % each * gpus / each;
  path.links.insert(path.links.begin(), LinkId(classes_[pcie_up_].first + sender));
  path.links.emplace_back(classes_[pcie_up_ + 1].first + to.value);
  return path;
}

int Fabric::class_of(LinkId l) const {
  const auto after = std::upper_bound(classes_.begin(), classes_.end(), l.value,
                                      [](int value, const LinkClass& c) { return value < c.first; });
  return static_cast<int>(after - classes_.begin()) - 1;
}

FabricLink Fabric::link(LinkId l) const {
  const int own = class_of(l);
  FabricLink link{classes_[own].rate, own};
  if (const auto at = factors_->find(l.value); at != factors_->end()) link.rate *= at->second;
  return link;
}

std::string Fabric::link_name(LinkId l) const {
  const LinkClass& c = classes_[class_of(l)];
  return c.name_of(l.value - c.first);
}

}  // namespace rehearse
