#include "sim/graph/fold.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "sim/plan/group_links.hpp"

namespace rehearse {

std::vector<RankId> unit_ranks(const ParallelLayout& layout, int dp, int pp) {
  std::vector<RankId> ranks;
  ranks.reserve(size_t(layout.size(Axis::tp)));
  for (int t = 0; t < layout.size(Axis::tp); ++t)
    ranks.push_back(layout.rank({.tp = t, .cp = 0, .pp = pp, .dp = dp}));
  return ranks;
}

namespace {

class Patterns {
 public:
  Patterns(const ParallelLayout& layout, const Fabric& fabric) : layout_(layout), fabric_(fabric) {}

  std::vector<FlowPattern> all(const FoldOptions& options) {
    const int dp = layout_.size(Axis::dp), pp = layout_.size(Axis::pp);
    for (int d = 0; d < dp; ++d)
      for (int s = 0; s < pp; ++s) {
        units_.push_back(unit_ranks(layout_, d, s));
        tensor(d, s);
      }
    for (int d = 0; d < dp && pp > 1; ++d)
      for (int s = 0; s < pp; ++s)
        for (int to : neighbours(s)) transfer(d, s, to);
    const Placement placement = layout_.spec().placement;
    const bool copies = placement == Placement::bidirectional;
    if (gradient_ranks(layout_.spec()) > 1)
      for (int s = 0; s < (copies ? pp / 2 : pp); ++s) gradients(s, copies ? pp - 1 - s : s);
    if (options.tied_embeddings && pp > 1 && placement == Placement::looped)
      for (int d = 0; d < dp; ++d) embedding(d);
    return std::move(flows_);
  }

 private:
  // Stages to which `s` sends outputs or gradients: of the next before the previous one.
  std::vector<int> neighbours(int s) const {
    const LayoutSpec& spec = layout_.spec();
    const int pp = spec.pp, chunks = pp * spec.chunks, path = spec.parts();
    const auto at = [&](int chunk) { return stage_of(ChunkId(chunk), pp, spec.placement).value; };
    std::set<int> reached;
    for (int c = 0; c < chunks; ++c) {
      if (at(c) != s) continue;
      if (c % path + 1 < path) reached.insert(at(c + 1));
      if (c % path > 0) reached.insert(at(c - 1));
    }
    std::vector<int> order;
    for (int to : {(s + 1) % pp, (s + pp - 1) % pp})
      if (to != s && reached.erase(to) > 0) order.push_back(to);
    return order;
  }
  int unit(int d, int s) const { return d * layout_.size(Axis::pp) + s; }
  int tp() const { return layout_.size(Axis::tp); }

  void add(FlowPattern flow, const std::vector<RankId>& ranks) {
    flow.shape = shape_of(ranks, layout_, fabric_);
    if (!flow.shape.in_island()) {
      std::vector<GpuId> gpus;
      gpus.reserve(ranks.size());
      for (const RankId r : ranks) gpus.push_back(layout_.gpu(r));
      GroupLinks links = ring_links(gpus, fabric_);
      flow.links = std::move(links.weights);
      flow.parts = links.parts, flow.ports = links.ports, flow.hop_latency = links.hop_latency,
      flow.network = flow.shape.nodes > 1;
    }
    flows_.push_back(std::move(flow));
  }
  void tensor(int d, int s) {
    if (tp() > 1) add({.kind = FlowKind::tensor, .a = s, .b = s, .units = {unit(d, s)}}, units_[unit(d, s)]);
  }
  // All TP peers send at once; a NIC that k of them share carries k times the bytes.
  void transfer(int d, int from, int to) {
    FlowPattern flow{
        .kind = FlowKind::stage_transfer, .a = from, .b = to, .units = {unit(d, from), unit(d, to)}};
    std::map<int, int> weights;
    for (int t = 0; t < tp(); ++t) {
      const Path path =
          fabric_.route(layout_.gpu(layout_.rank({t, 0, from, d})), layout_.gpu(layout_.rank({t, 0, to, d})));
      for (const LinkId link : path.links) ++weights[link.value];
      flow.network = flow.network || path.network;
      flow.hop_latency = std::max(flow.hop_latency, path.latency);
    }
    flow.links = {weights.begin(), weights.end()};
    flow.shape = {.ranks = 2, .nodes = flow.network ? 2 : 1, .per_node = flow.network ? 1 : 2};
    flows_.push_back(std::move(flow));
  }
  void gradients(int s, int twin) {
    for (int t = 0; t < tp(); ++t) {
      std::vector<RankId> ranks;
      FlowPattern flow{.kind = FlowKind::gradients, .a = s, .b = twin, .slice = t};
      for (int d = 0; d < layout_.size(Axis::dp); ++d)
        for (int stage : s == twin ? std::vector<int>{s} : std::vector<int>{s, twin}) {
          ranks.push_back(layout_.rank({t, 0, stage, d}));
          flow.units.push_back(unit(d, stage));
        }
      add(std::move(flow), ranks);
    }
  }
  void embedding(int d) {
    const int last = layout_.size(Axis::pp) - 1;
    for (int t = 0; t < tp(); ++t)
      add({.kind = FlowKind::embedding, .a = 0, .b = last, .slice = t, .units = {unit(d, 0), unit(d, last)}},
          {layout_.rank({t, 0, 0, d}), layout_.rank({t, 0, last, d})});
  }

  const ParallelLayout& layout_;
  const Fabric& fabric_;
  std::vector<std::vector<RankId>> units_;
  std::vector<FlowPattern> flows_;
};

// Colours of units, links and flows, refined until stable.
struct Colours {
  std::vector<int> unit, link, flow;
};

// Replaces keys by dense colours in order of first appearance.
template <class Key>
std::pair<std::vector<int>, int> dense(const std::vector<Key>& keys) {
  std::map<Key, int> seen;
  std::vector<int> colours;
  colours.reserve(keys.size());
  for (const auto& key : keys) colours.push_back(seen.emplace(key, int(seen.size())).first->second);
  return {colours, int(seen.size())};
}

using Key = std::vector<int64_t>;

Key flow_key(const FlowPattern& f, const Colours& c, int self) {
  Key key{self};
  if (f.kind == FlowKind::stage_transfer || f.kind == FlowKind::embedding) {
    for (int u : f.units) key.push_back(c.unit[u]);  // roles differ: order matters
  } else {
    Key units;
    for (int u : f.units) units.push_back(c.unit[u]);
    std::sort(units.begin(), units.end());
    key.insert(key.end(), units.begin(), units.end());
  }
  std::vector<std::pair<int, int>> links;
  for (auto [l, w] : f.links) links.emplace_back(c.link[l], w);
  std::sort(links.begin(), links.end());
  key.push_back(-1);
  for (auto [l, w] : links) key.insert(key.end(), {l, w});
  return key;
}

// What tells units, links and flows apart before any is seen beside the others.
Colours first_colours(const std::vector<FlowPattern>& flows, const ParallelLayout& layout,
                      const Fabric& fabric) {
  Colours c;
  const int pp = layout.size(Axis::pp), units = layout.size(Axis::dp) * pp;
  std::vector<std::pair<int, double>> unit_keys;
  unit_keys.reserve(size_t(units));
  for (int u = 0; u < units; ++u)
    unit_keys.emplace_back(u % pp, shape_of(unit_ranks(layout, u / pp, u % pp), layout, fabric).speed);
  c.unit = dense(unit_keys).first;
  std::vector<std::pair<int, double>> link_keys;
  for (int l = 0; l < fabric.link_count(); ++l) {
    const FabricLink link = fabric.link(LinkId(l));
    link_keys.emplace_back(link.link_class, link.rate.value);
  }
  c.link = dense(link_keys).first;
  std::vector<std::pair<Key, std::pair<double, double>>> keys;
  keys.reserve(flows.size());
  for (const auto& f : flows)
    keys.push_back({{int(f.kind), f.a, f.b, f.shape.ranks, f.shape.nodes, f.shape.per_node, f.shape.uniform,
                     f.shape.nvlink, f.network, f.parts, f.ports},
                    {f.shape.speed, f.hop_latency.value}});
  c.flow = dense(keys).first;
  return c;
}

Colours refine(const std::vector<FlowPattern>& flows, Colours c) {
  const int unit_count = int(c.unit.size()), link_count = int(c.link.size());
  std::vector<Key> keys;
  keys.reserve(flows.size());
  int before = -1;
  for (;;) {
    keys.clear();
    for (size_t i = 0; i < flows.size(); ++i) keys.push_back(flow_key(flows[i], c, c.flow[i]));
    auto [flow, flow_colours] = dense(keys);
    std::vector<Key> units(unit_count), links(link_count);
    for (size_t i = 0; i < flows.size(); ++i) {
      const auto& f = flows[i];
      for (size_t role = 0; role < f.units.size(); ++role)
        units[f.units[role]].push_back(2 * flow[i] + (f.kind == FlowKind::stage_transfer && role == 1));
      for (auto [l, w] : f.links) links[l].push_back((int64_t(flow[i]) << 32) + w);
    }
    auto close = [](std::vector<Key>& all, const std::vector<int>& own) {
      for (size_t i = 0; i < all.size(); ++i) {
        std::sort(all[i].begin(), all[i].end());
        all[i].insert(all[i].begin(), own[i]);
      }
      return dense(all);
    };
    auto [unit, unit_colours] = close(units, c.unit);
    auto [link, link_colours] = close(links, c.link);
    c = {unit, link, flow};
    const int colours = flow_colours + unit_colours + link_colours;
    if (colours == before) return c;
    before = colours;
  }
}

// Members of each colour; colours are in order of first appearance, so the first member represents.
std::vector<std::vector<int>> classes(const std::vector<int>& colours) {
  std::vector<std::vector<int>> members;
  for (size_t i = 0; i < colours.size(); ++i) {
    if (colours[i] >= int(members.size())) members.resize(colours[i] + 1);
    members[colours[i]].push_back(int(i));
  }
  return members;
}

// What keeps replicas from being alike.
std::string why_not(const Cluster& cluster, int replica_ranks) {
  if (!cluster.overrides.empty()) return "overrides make parts of the cluster unlike the others";
  if (!cluster.placement.empty()) return "a file places the ranks";
  const auto aligned = [&](int gpus) { return replica_ranks % gpus == 0 || gpus % replica_ranks == 0; };
  const std::string replicas = "replicas of " + std::to_string(replica_ranks) + " ranks do not align with ";
  if (!aligned(cluster.gpus_per_node))
    return replicas + "nodes of " + std::to_string(cluster.gpus_per_node) +
           " GPUs, so their transfers cross nodes in different places";
  for (const Tier& tier : cluster.tiers)
    if (!aligned(tier.nodes * cluster.gpus_per_node) || cluster.nodes % tier.nodes != 0)
      return replicas + "switches of " + std::to_string(tier.nodes) + " nodes (" +
             std::to_string(cluster.nodes) + " in all)";
  return "replicas lie differently on nodes, NICs and switches";
}

std::string describe(const Fold& fold, int dp, int pp, const Cluster& cluster, int replica_ranks) {
  const int classes = int(fold.units.size());
  if (dp == 1) return "one replica: nothing to fold but tensor-parallel peers";
  std::string text = std::to_string(classes) + " unit classes stand for " + std::to_string(dp * pp) +
                     " units (" + std::to_string(dp) + " replicas x " + std::to_string(pp) + " stages)";
  if (classes == pp) return text;
  text += classes == dp * pp ? "; not folded" : "; partly folded";
  return text + ": " + why_not(cluster, replica_ranks);
}

// Ranks of a unit differ only in the flows of their own that they are part of.
int rank_classes(const std::vector<FlowPattern>& flows, const Colours& colours, const Fold& fold) {
  std::map<std::pair<int, int>, std::vector<int>> flows_of;  // (unit class, slice)
  for (size_t i = 0; i < flows.size(); ++i)
    if (flows[i].slice >= 0)
      for (int u : flows[i].units) flows_of[{colours.unit[u], flows[i].slice}].push_back(colours.flow[i]);
  std::vector<std::set<std::vector<int>>> kinds(fold.units.size());
  for (auto& [rank, key] : flows_of) {
    std::sort(key.begin(), key.end());
    key.erase(std::unique(key.begin(), key.end()), key.end());
    kinds[rank.first].insert(key);
  }
  int ranks = 0;
  for (const auto& of_unit : kinds) ranks += std::max<int>(1, int(of_unit.size()));
  return ranks;
}

Colours identity(size_t units, size_t links, size_t flows) {
  Colours c;
  c.unit.resize(units), c.link.resize(links), c.flow.resize(flows);
  std::iota(c.unit.begin(), c.unit.end(), 0);
  std::iota(c.link.begin(), c.link.end(), 0);
  std::iota(c.flow.begin(), c.flow.end(), 0);
  return c;
}

}  // namespace

Fold make_fold(const ParallelLayout& layout, const Fabric& fabric, const FoldOptions& options) {
  const int dp = layout.size(Axis::dp), pp = layout.size(Axis::pp);
  const auto flows = Patterns(layout, fabric).all(options);
  const auto colours = options.fold ? refine(flows, first_colours(flows, layout, fabric))
                                    : identity(size_t(dp) * pp, fabric.link_count(), flows.size());
  Fold result;
  result.ranks_each = layout.size(Axis::tp);
  result.unit_class = colours.unit;
  for (const auto& members : classes(colours.unit))
    result.units.push_back({members[0] / pp, members[0] % pp, int(members.size())});
  for (const auto& members : classes(colours.link))
    result.links.push_back({LinkId(members[0]), int(members.size())});

  // Weight of a flow class on a link class: what all its members put on one link of the class.
  for (const auto& members : classes(colours.flow)) {
    FoldedFlow folded{flows[members[0]], {}, 1};
    std::map<int, int> slices_of_unit, weights, own;
    for (auto [l, w] : flows[members[0]].links) own[colours.link[l]] = std::max(own[colours.link[l]], w);
    for (int i : members) {
      const auto& f = flows[i];
      if (f.slice >= 0 && f.units[0] == flows[members[0]].units[0]) ++slices_of_unit[f.units[0]];
      for (auto [l, w] : f.links)
        if (result.links[colours.link[l]].representative.value == l) weights[colours.link[l]] += w;
    }
    auto& p = folded.pattern;
    folded.slices = p.slice < 0 ? result.ranks_each : slices_of_unit.begin()->second;
    p.links = {weights.begin(), weights.end()};
    for (const auto& [link, weight] : p.links) folded.own_weights.push_back(own.at(link));
    if (folded.slices == result.ranks_each) p.slice = -1;
    for (int& u : p.units) u = colours.unit[u];
    if (p.kind == FlowKind::gradients) {
      std::sort(p.units.begin(), p.units.end());
      p.units.erase(std::unique(p.units.begin(), p.units.end()), p.units.end());
    }
    result.flows.push_back(std::move(folded));
  }
  result.simulated_ranks = options.fold ? rank_classes(flows, colours, result) : layout.ranks();
  result.note =
      options.fold ? describe(result, dp, pp, fabric.cluster(), layout.ranks() / dp) : "not asked for";
  return result;
}

}  // namespace rehearse
