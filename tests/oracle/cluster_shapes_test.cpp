// Routes, loads and bisections of each network shape against closed forms.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/cluster/bisection.hpp"
#include "sim/cluster/graph.hpp"

namespace rehearse {
namespace {

constexpr double kNic = 1e12, kWire = 50e9;

Cluster cluster_of(FabricShape shape, int nodes, int gpus = 1) {
  Cluster c;
  c.nodes = nodes;
  c.gpus_per_node = c.nics_per_node = gpus;
  c.nic = BytesPerSec(kNic);
  c.nvlink = BytesPerSec(300e9);
  c.wire = c.local = c.global = BytesPerSec(kWire);
  c.hop_latency = Seconds(1e-6);
  c.nic_latency = Seconds(2e-6);
  c.fabric = shape;
  return c;
}
Cluster torus_of(const std::vector<int>& dims) {
  int nodes = 1;
  for (const int n : dims) nodes *= n;
  Cluster c = cluster_of(FabricShape::torus, nodes);
  c.dims = dims;
  return c;
}
Cluster tiers_of(FabricShape shape, int nodes, int gpus, std::vector<Tier> tiers) {
  Cluster c = cluster_of(shape, nodes, gpus);
  c.tiers = std::move(tiers);
  return c;
}
Cluster dragonfly_of(int groups, int routers, int nodes) {
  Cluster c = cluster_of(FabricShape::dragonfly, groups * routers * nodes);
  c.routers_per_group = routers;
  c.nodes_per_router = nodes;
  return c;
}

std::vector<std::string> names(const Fabric& fabric, int from, int to) {
  std::vector<std::string> names;
  for (const LinkId l : fabric.route(GpuId(from), GpuId(to)).links) names.push_back(fabric.link_name(l));
  return names;
}
using Names = std::vector<std::string>;

// Transfers over each link where every GPU sends one to every other, by class.
std::map<std::string, std::vector<int>> all_to_all(const Fabric& fabric) {
  std::vector<int> load(fabric.link_count(), 0);
  for (int a = 0; a < fabric.cluster().gpus(); ++a)
    for (int b = 0; b < fabric.cluster().gpus(); ++b)
      if (a != b)
        for (const LinkId l : fabric.route(GpuId(a), GpuId(b)).links) ++load[l.value];
  std::map<std::string, std::vector<int>> by_class;
  for (const auto& c : fabric.classes())
    by_class[c.name] = {load.begin() + c.first, load.begin() + c.first + c.count};
  return by_class;
}
std::vector<int> each(int count, int load) { return std::vector<int>(count, load); }

int ring_distance(int a, int b, int n) { return std::min((b - a + n) % n, (a - b + n) % n); }

TEST(Torus, PathsAreAsLongAsTheDistancesOfTheirCoordinates) {
  for (const auto& dims : std::vector<std::vector<int>>{{5}, {4, 4}, {2, 3}, {1, 4}, {2, 3, 4}, {5, 2, 2}}) {
    const Fabric fabric(torus_of(dims));
    for (int a = 0; a < fabric.cluster().nodes; ++a)
      for (int b = 0; b < fabric.cluster().nodes; ++b) {
        if (a == b) continue;
        int hops = 0;
        for (int stride = 1, d = 0; d < int(dims.size()); stride *= dims[d++])
          hops += ring_distance(a / stride % dims[d], b / stride % dims[d], dims[d]);
        const Path path = fabric.route(GpuId(a), GpuId(b));
        EXPECT_EQ(int(path.links.size()), hops + 2);  // and the NICs
        EXPECT_NEAR(path.latency.value, 2e-6 + hops * 1e-6, 1e-15);
      }
  }
}

// Shapes whose rule is to be the shortest way, where there is but one.
TEST(Graphs, RulesTakeTheShortestWay) {
  std::vector<Cluster> clusters{torus_of({5, 3}), torus_of({2, 3}), torus_of({7}),
                                cluster_of(FabricShape::ring, 7), cluster_of(FabricShape::full_mesh, 6)};
  for (const Cluster& cluster : clusters) {
    const Fabric fabric(cluster);
    for (int a = 0; a < cluster.nodes; ++a)
      for (int b = 0; b < cluster.nodes; ++b) {
        if (a == b) continue;
        const auto links = fabric.route(GpuId(a), GpuId(b)).links;
        const auto way = shortest_path(fabric.graph(), a, b, 0, [](LinkId) { return false; });
        ASSERT_TRUE(way);
        EXPECT_EQ(std::vector<LinkId>(links.begin() + 1, links.end() - 1), *way) << a << ' ' << b;
      }
  }
}

TEST(Torus, AllToAllLoadsLinksAsDimensionOrderDoes) {
  // A link of a dimension of n carries, of each other coordinate once, all distances that go its way: 1 ..
  // (n-1)/2 and, where n is even, h = n/2 of every other source: up from even ones, down from odd ones.
  const auto sum_to = [](int n) { return n * (n + 1) / 2; };
  for (const auto& dims : std::vector<std::vector<int>>{{4, 4}, {5, 3}, {4, 3, 2}, {6}}) {
    const Fabric fabric(torus_of(dims));
    const int nodes = fabric.cluster().nodes;
    const auto loads = all_to_all(fabric);
    int stride = 1;
    for (int d = 0; d < int(dims.size()); ++d) {
      const int n = dims[d], others = nodes / n;
      const std::string name = std::string("torus ") + "xyz"[d];
      if (n == 2) {
        EXPECT_EQ(loads.at(name + "+"), each(nodes, others));
        EXPECT_FALSE(loads.contains(name + "-"));
      }
      for (int odd = 0; odd < (n > 2 ? 2 : 0); ++odd)
        for (int link = 0; link < nodes; ++link) {
          const int at = link / stride % n, h = n % 2 ? 0 : n / 2;
          const int sources = at % 2 == odd ? (h + 1) / 2 : h / 2;
          EXPECT_EQ(loads.at(name + "+-"[odd])[size_t(link)], others * (sum_to((n - 1) / 2) + sources))
              << link;
        }
      stride *= n;
    }
  }
}

TEST(Torus, NamesItsLinksByNodeAndDirection) {
  const Fabric fabric(torus_of({4, 3}));
  EXPECT_EQ(names(fabric, 0, 7), (Names{"node0.nic0.up", "node0.x-", "node3.y+", "node7.nic0.down"}));
  EXPECT_EQ(names(fabric, 0, 2), (Names{"node0.nic0.up", "node0.x+", "node1.x+", "node2.nic0.down"}));
  const Fabric ring(cluster_of(FabricShape::ring, 5));
  EXPECT_EQ(names(ring, 0, 3), (Names{"node0.nic0.up", "node0.x-", "node4.x-", "node3.nic0.down"}));
}

TEST(Torus, HalfATurnGoesUpFromEvenAndDownFromOddCoordinates) {
  const Fabric fabric(cluster_of(FabricShape::ring, 4));
  EXPECT_EQ(names(fabric, 0, 2), (Names{"node0.nic0.up", "node0.x+", "node1.x+", "node2.nic0.down"}));
  EXPECT_EQ(names(fabric, 2, 0), (Names{"node2.nic0.up", "node2.x+", "node3.x+", "node0.nic0.down"}));
  EXPECT_EQ(names(fabric, 1, 3), (Names{"node1.nic0.up", "node1.x-", "node0.x-", "node3.nic0.down"}));
  EXPECT_EQ(names(fabric, 3, 1), (Names{"node3.nic0.up", "node3.x-", "node2.x-", "node1.nic0.down"}));
}

TEST(Torus, GoesAroundWhatIsDown) {
  Cluster cluster = torus_of({5, 5});
  cluster.overrides = {{.link = "node0.x+", .down = true}};
  const Fabric fabric(cluster);
  EXPECT_EQ(names(fabric, 0, 1),
            (Names{"node0.nic0.up", "node0.y-", "node20.x+", "node21.y+", "node1.nic0.down"}));
  EXPECT_EQ(names(fabric, 1, 0), (Names{"node1.nic0.up", "node1.x-", "node0.nic0.down"}));

  cluster.overrides = {{.node = 1, .down = true}};  // passes nothing on
  EXPECT_EQ(names(Fabric(cluster), 0, 2),
            (Names{"node0.nic0.up", "node0.x-", "node4.x-", "node3.x-", "node2.nic0.down"}));

  cluster.overrides.clear();
  for (const char* link : {"node0.x+", "node0.x-", "node0.y+", "node0.y-"})
    cluster.overrides.push_back({.link = link, .down = true});
  try {
    Fabric(cluster).route(GpuId(0), GpuId(6));
    FAIL() << "node 0 has no link that is up";
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "no way is left from node0 to node6");
  }
}

TEST(FullMesh, EveryPairHasItsLink) {
  const Fabric fabric(cluster_of(FabricShape::full_mesh, 6));
  EXPECT_EQ(all_to_all(fabric).at("mesh"), each(30, 1));
  EXPECT_EQ(names(fabric, 4, 2), (Names{"node4.nic0.up", "node4>node2", "node2.nic0.down"}));
  Cluster cluster = fabric.cluster();
  cluster.overrides = {{.link = "node4>node2", .down = true}};
  EXPECT_EQ(names(Fabric(cluster), 4, 2),
            (Names{"node4.nic0.up", "node4>node3", "node3>node2", "node2.nic0.down"}));
}

TEST(Dragonfly, AllToAllLoadsLinksEvenlyWhereGroupsAreOneMoreThanTheirLinks) {
  // With a routers a group, h global links and p nodes a router, and a h + 1 groups: a global link carries
  // all pairs of two groups, (a p)^2; a local one its routers' own p^2, and both ways of h other groups of a
  // p nodes.
  for (const auto& [a, h, p] : std::vector<std::array<int, 3>>{{4, 1, 2}, {2, 2, 1}, {3, 2, 2}}) {
    const int groups = a * h + 1;
    const Fabric fabric(dragonfly_of(groups, a, p));
    const auto loads = all_to_all(fabric);
    EXPECT_EQ(loads.at("global"), each(groups * (groups - 1), a * p * a * p));
    EXPECT_EQ(loads.at("local"), each(groups * a * (a - 1), p * p * (1 + 2 * h * a)));
  }
}

TEST(Dragonfly, CrossesOneGlobalLink) {
  const Fabric fabric(dragonfly_of(5, 4, 1));
  // Group 0's link to group 3 is router 2's; group 3's to group 0 is router 0's.
  EXPECT_EQ(names(fabric, 1, 12 + 3), (Names{"node1.nic0.up", "group0.router1>router2", "group0>group3",
                                             "group3.router0>router3", "node15.nic0.down"}));
  EXPECT_EQ(names(fabric, 0, 1), (Names{"node0.nic0.up", "group0.router0>router1", "node1.nic0.down"}));
  Cluster cluster = dragonfly_of(5, 4, 2);
  EXPECT_EQ(names(Fabric(cluster), 0, 1), (Names{"node0.nic0.up", "node1.nic0.down"}));  // of one router
  cluster.overrides = {{.link = "group0>group1", .down = true}};
  const auto around = names(Fabric(cluster), 0, 8);
  EXPECT_EQ(std::count_if(around.begin(), around.end(),
                          [](const std::string& name) {
                            return name.starts_with("group") && name.find('.') == std::string::npos;
                          }),
            2);  // over a third group
}

TEST(Dragonfly, TheLastGroupMayBeSmaller) {
  Cluster cluster = dragonfly_of(3, 4, 1);
  cluster.nodes = 10;  // groups of 4, 4 and 2 routers
  const Fabric fabric(cluster);
  for (const auto& c : fabric.classes()) {
    if (c.name == "local" || c.name == "global") {
      EXPECT_EQ(c.count, c.name == "local" ? 12 + 12 + 2 : 6);
    }
  }
  for (int a = 0; a < 10; ++a)
    for (int b = 0; b < 10; ++b)
      if (a != b) {
        const Path path = fabric.route(GpuId(a), GpuId(b));
        int at = fabric.graph().entry(a);  // each link leaves the vertex that the last one came to
        std::vector<Hop> hops;
        for (size_t i = 1; i + 1 < path.links.size(); ++i) {
          hops.clear();
          fabric.graph().out(at, hops);
          const auto hop =
              std::find_if(hops.begin(), hops.end(), [&](const Hop& h) { return h.link == path.links[i]; });
          ASSERT_NE(hop, hops.end());
          at = hop->to;
        }
        EXPECT_EQ(at, fabric.graph().entry(b));
      }
  EXPECT_EQ(names(fabric, 8, 9), (Names{"node8.nic0.up", "group2.router0>router1", "node9.nic0.down"}));
}

TEST(Links, FollowsTheList) {
  Cluster cluster = cluster_of(FabricShape::links, 3);
  cluster.wires = {{"node0", "sw1", BytesPerSec(40e9)}, {"node1", "sw1", BytesPerSec(40e9)},
                   {"node2", "sw2", BytesPerSec(40e9)}, {"sw1", "sw2", BytesPerSec(10e9)},
                   {"sw1", "sw3", BytesPerSec(10e9)},   {"sw3", "sw2", BytesPerSec(10e9)}};
  EXPECT_EQ(names(Fabric(cluster), 0, 2),
            (Names{"node0.nic0.up", "node0>sw1", "sw1>sw2", "sw2>node2", "node2.nic0.down"}));
  EXPECT_DOUBLE_EQ(Fabric(cluster).route(GpuId(0), GpuId(2)).latency.value, 2e-6 + 3e-6);
  EXPECT_DOUBLE_EQ(bisection(Fabric(cluster)).rate.value, 40e9);  // node 0 against 1 and 2
  cluster.overrides = {{.link = "sw1>sw2", .down = true}};
  EXPECT_EQ(names(Fabric(cluster), 0, 2),
            (Names{"node0.nic0.up", "node0>sw1", "sw1>sw3", "sw3>sw2", "sw2>node2", "node2.nic0.down"}));
  cluster.wires.pop_back();
  EXPECT_THROW(Fabric(cluster).route(GpuId(0), GpuId(2)), std::runtime_error);
}

TEST(FatTree, LeavesAndPods) {
  // 2 nodes a leaf, 4 a pod, 8 nodes of 2 GPUs.
  const Fabric fabric(tiers_of(FabricShape::fat_tree, 8, 2, {{2, 2, Seconds(1e-6)}, {4, 3, Seconds(3e-6)}}));
  EXPECT_EQ(names(fabric, 0, 3), (Names{"node0.nic0.up", "node1.nic1.down"}));
  EXPECT_EQ(names(fabric, 0, 4), (Names{"node0.nic0.up", "leaf0.up", "leaf1.down", "node2.nic0.down"}));
  EXPECT_EQ(names(fabric, 1, 15),
            (Names{"node0.nic1.up", "leaf0.up", "pod0.up", "pod1.down", "leaf3.down", "node7.nic1.down"}));
  EXPECT_DOUBLE_EQ(fabric.route(GpuId(0), GpuId(3)).latency.value, 2e-6);
  EXPECT_DOUBLE_EQ(fabric.route(GpuId(0), GpuId(4)).latency.value, 3e-6);
  EXPECT_DOUBLE_EQ(fabric.route(GpuId(0), GpuId(15)).latency.value, 6e-6);
  // Rates: what is below over the oversubscription of this tier and those below it.
  for (const auto& c : fabric.classes()) {
    if (c.name.starts_with("leaf")) {
      EXPECT_DOUBLE_EQ(c.rate.value, 2 * 2 * kNic / 2);
    } else if (c.name.starts_with("pod")) {
      EXPECT_DOUBLE_EQ(c.rate.value, 4 * 2 * kNic / 6);
    }
  }
  // A leaf sends from its 4 GPUs to the 12 others, a pod from its 8 to 8.
  const auto loads = all_to_all(fabric);
  EXPECT_EQ(loads.at("leaf up"), each(4, 4 * 12));
  EXPECT_EQ(loads.at("leaf down"), each(4, 4 * 12));
  EXPECT_EQ(loads.at("pod up"), each(2, 8 * 8));
  EXPECT_DOUBLE_EQ(bisection(fabric).rate.value, 4 * 2 * kNic / 6);
}

TEST(RailFatTree, NicsOfOnePlaceMeetInTheirLeaf) {
  const Fabric fabric(tiers_of(FabricShape::rail, 8, 4, {{4, 2, Seconds(1e-6)}}));
  EXPECT_EQ(names(fabric, 1, 13), (Names{"node0.nic1.up", "node3.nic1.down"}));
  EXPECT_EQ(names(fabric, 1, 14), (Names{"node0.nic2.up", "node3.nic2.down"}));  // to its rail by NVLink
  EXPECT_EQ(names(fabric, 1, 17),
            (Names{"node0.nic1.up", "rail1.leaf0.up", "rail1.leaf1.down", "node4.nic1.down"}));
  for (const auto& c : fabric.classes())
    if (c.name.starts_with("leaf")) {
      EXPECT_EQ(c.count, 2 * 4);
      EXPECT_DOUBLE_EQ(c.rate.value, 4 * kNic / 2);
    }
  // All 16 GPUs of a half send over a rail to its 4 GPUs of the other.
  EXPECT_EQ(all_to_all(fabric).at("leaf up"), each(8, 16 * 4));
  EXPECT_DOUBLE_EQ(bisection(fabric).rate.value, 4 * 4 * kNic / 2);
}

TEST(RailFatTree, WithoutItsRailOrNvlinkTrafficCrossesTheSpine) {
  Cluster cluster = tiers_of(FabricShape::rail, 8, 4, {{4, 2, Seconds(1e-6)}});
  const Names over_spine{"node0.nic1.up", "rail1.leaf0.up", "rail2.leaf0.down", "node3.nic2.down"};
  cluster.overrides = {{.link = "node0.nic2.up", .down = true}};
  EXPECT_EQ(names(Fabric(cluster), 1, 14), over_spine);
  cluster.overrides.clear();
  cluster.node = NodeShape::pcie;
  EXPECT_EQ(names(Fabric(cluster), 1, 14), over_spine);
}

TEST(Links, EquallyShortWaysAreDealtOutByDestination) {
  // Two leaves, two spines, two nodes a leaf.
  Cluster cluster = cluster_of(FabricShape::links, 4);
  for (int node = 0; node < 4; ++node)
    cluster.wires.push_back(
        {"node" + std::to_string(node), "leaf" + std::to_string(node / 2), BytesPerSec(40e9)});
  for (const char* leaf : {"leaf0", "leaf1"})
    for (const char* spine : {"spine0", "spine1"}) cluster.wires.push_back({leaf, spine, BytesPerSec(40e9)});
  const auto loads = all_to_all(Fabric(cluster)).at("wire of 40 GB/s");
  const Fabric fabric(cluster);
  for (int link = 0; link < int(loads.size()); ++link) {
    const std::string name = fabric.link_name(LinkId(fabric.classes()[2].first + link));
    // A leaf's two nodes send to two others each, over either spine to one of them.
    EXPECT_EQ(loads[size_t(link)], name.find("spine") == std::string::npos ? 3 : 2) << name;
  }
}

TEST(Tiers, SayWhatIsCut) {
  Cluster cluster = tiers_of(FabricShape::fat_tree, 4, 1, {{2, 1, {}}});
  cluster.overrides = {{.link = "leaf1.up", .down = true}};
  const Fabric fabric(cluster);
  EXPECT_EQ(names(fabric, 0, 3), (Names{"node0.nic0.up", "leaf0.up", "leaf1.down", "node3.nic0.down"}));
  try {
    fabric.route(GpuId(3), GpuId(0));
    FAIL() << "its leaf has no uplinks";
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(),
                 "no way is left from node3 to node0: the links between leaf1 and what is above it are down");
  }
}

TEST(Bisection, OfEachShape) {
  // A torus of n^d: two links of each of the n^(d-1) rings that the halves cut, one where n is 2.
  for (const auto& [n, d] : std::vector<std::pair<int, int>>{{4, 1}, {6, 1}, {4, 2}, {4, 3}, {2, 3}}) {
    const double rings = std::pow(n, d - 1);
    EXPECT_NEAR(bisection(Fabric(torus_of(std::vector<int>(d, n)))).rate.value,
                (n > 2 ? 2 : 1) * rings * kWire, 1)
        << n << '^' << d;
  }
  EXPECT_NEAR(bisection(Fabric(cluster_of(FabricShape::ring, 9))).rate.value, 2 * kWire, 1);
  EXPECT_NEAR(bisection(Fabric(cluster_of(FabricShape::full_mesh, 8))).rate.value, 4 * 4 * kWire, 1);
  EXPECT_NEAR(bisection(Fabric(cluster_of(FabricShape::one_tier, 8, 4))).rate.value, 4 * 4 * kNic, 1);
  Cluster flies = dragonfly_of(4, 4, 2);
  flies.local = BytesPerSec(1e15);
  EXPECT_NEAR(bisection(Fabric(flies)).rate.value, 2 * 2 * kWire, 1);
  Cluster slow_nics = torus_of({4, 4});
  slow_nics.nic = BytesPerSec(1e9);  // 8 nodes a half
  EXPECT_NEAR(bisection(Fabric(slow_nics)).rate.value, 8e9, 1);
  slow_nics.overrides = {{.node = 3, .slow = 0.5}};
  EXPECT_NEAR(bisection(Fabric(slow_nics)).rate.value, 7.5e9, 1);
}

TEST(Bisection, OfOneDomain) {
  Cluster node = cluster_of(FabricShape::one_tier, 1, 8);
  EXPECT_DOUBLE_EQ(bisection(Fabric(node)).rate.value, 4 * 300e9);
  EXPECT_FALSE(bisection(Fabric(node)).network);
  node.node = NodeShape::pcie;
  node.pcie = BytesPerSec(31e9);
  EXPECT_DOUBLE_EQ(bisection(Fabric(node)).rate.value, 4 * 31e9);
  node.gpus_per_switch = 4;
  node.bridge = BytesPerSec(20e9);
  EXPECT_DOUBLE_EQ(bisection(Fabric(node)).rate.value, 20e9);
  Cluster rack = cluster_of(FabricShape::one_tier, 36, 4);
  rack.nodes_per_domain = 18;
  EXPECT_DOUBLE_EQ(bisection(Fabric(rack)).rate.value, 18 * 4 * kNic);
}

}  // namespace
}  // namespace rehearse
