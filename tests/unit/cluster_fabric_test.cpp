// Nodes and their NICs: islands, domains, PCIe, host bridges, what is slow or down, order of ranks.
#include <gmock/gmock.h>

#include <numeric>

#include "sim/cluster/fabric.hpp"

namespace rehearse {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Cluster nodes_of(int nodes, int gpus, int nics) {
  Cluster c;
  c.nodes = nodes;
  c.gpus_per_node = gpus;
  c.nics_per_node = nics;
  c.nic = BytesPerSec(25e9);
  c.nic_latency = Seconds(3e-6);
  c.nvlink = BytesPerSec(300e9);
  c.nvlink_latency = Seconds(1e-6);
  return c;
}
Cluster pcie_of(NodeShape shape, int per_switch) {
  Cluster c = nodes_of(2, 4, 2);
  c.node = shape;
  c.pcie = BytesPerSec(31e9);
  c.pcie_latency = Seconds(2e-6);
  c.gpus_per_switch = per_switch;
  c.bridge = BytesPerSec(20e9);
  return c;
}
std::vector<std::string> names(const Fabric& fabric, int from, int to) {
  std::vector<std::string> names;
  for (const LinkId l : fabric.route(GpuId(from), GpuId(to)).links) names.push_back(fabric.link_name(l));
  return names;
}
double rate(const Fabric& fabric, const std::string& name) {
  for (int l = 0; l < fabric.link_count(); ++l)
    if (fabric.link_name(LinkId(l)) == name) return fabric.link(LinkId(l)).rate.value;
  ADD_FAILURE() << "no link " << name;
  return -1;
}

TEST(Nodes, OfNvswitchAreOneIsland) {
  const Fabric fabric(nodes_of(2, 8, 4));
  EXPECT_THAT(names(fabric, 0, 7), IsEmpty());
  EXPECT_DOUBLE_EQ(fabric.route(GpuId(0), GpuId(7)).latency.value, 1e-6);
  EXPECT_THAT(names(fabric, 3, 14), ElementsAre("node0.nic1.up", "node1.nic3.down"));
  EXPECT_TRUE(fabric.route(GpuId(3), GpuId(14)).network);
}

TEST(Nodes, DomainsJoinThem) {
  Cluster rack = nodes_of(4, 4, 4);
  rack.nodes_per_domain = 2;
  const Fabric fabric(rack);
  EXPECT_TRUE(fabric.same_island(GpuId(0), GpuId(7)));
  EXPECT_FALSE(fabric.same_domain(GpuId(7), GpuId(8)));
  EXPECT_THAT(names(fabric, 0, 7), IsEmpty());
  EXPECT_THAT(names(fabric, 0, 8), ElementsAre("node0.nic0.up", "node2.nic0.down"));
  EXPECT_EQ(rack.gpus_per_domain(), 8);
}

TEST(Nodes, SeveralNicsOfAGpuAreOnePort) {
  const Fabric fabric(nodes_of(2, 2, 4));
  EXPECT_THAT(names(fabric, 1, 2), ElementsAre("node0.nic1.up", "node1.nic0.down"));
  EXPECT_DOUBLE_EQ(rate(fabric, "node0.nic1.up"), 50e9);
}

TEST(Nodes, OfPcieCrossSwitchesAndBridges) {
  const Fabric flat(pcie_of(NodeShape::pcie, 0));
  EXPECT_THAT(names(flat, 0, 3), ElementsAre("node0.pcie0.up", "node0.pcie3.down"));
  EXPECT_DOUBLE_EQ(flat.route(GpuId(0), GpuId(3)).latency.value, 2e-6);
  EXPECT_FALSE(flat.route(GpuId(0), GpuId(3)).network);
  const Fabric tree(pcie_of(NodeShape::pcie, 2));
  EXPECT_THAT(names(tree, 0, 1), ElementsAre("node0.pcie0.up", "node0.pcie1.down"));
  EXPECT_THAT(names(tree, 4, 7),
              ElementsAre("node1.pcie0.up", "node1.bridge0.up", "node1.bridge1.down", "node1.pcie3.down"));
  EXPECT_DOUBLE_EQ(rate(tree, "node1.bridge0.up"), 20e9);
  EXPECT_THAT(names(tree, 1, 6),  // to the NIC and back
              ElementsAre("node0.pcie1.up", "node0.nic0.up", "node1.nic1.down", "node1.pcie2.down"));
}

TEST(Nodes, OfPairsHaveNvlinkInThePair) {
  const Fabric fabric(pcie_of(NodeShape::pairs, 2));
  EXPECT_THAT(names(fabric, 2, 3), IsEmpty());
  EXPECT_DOUBLE_EQ(fabric.route(GpuId(2), GpuId(3)).latency.value, 1e-6);
  EXPECT_THAT(names(fabric, 1, 2),
              ElementsAre("node0.pcie1.up", "node0.bridge0.up", "node0.bridge1.down", "node0.pcie2.down"));
  EXPECT_FALSE(fabric.same_island(GpuId(1), GpuId(2)));
  EXPECT_TRUE(fabric.same_domain(GpuId(1), GpuId(2)));
}

TEST(Overrides, SlowALinkOrBothWaysOfIt) {
  Cluster cluster = nodes_of(2, 4, 4);
  cluster.overrides = {{.link = "node0.nic1.up", .slow = 0.5}, {.link = "node1.nic2", .slow = 0.25}};
  const Fabric fabric(cluster);
  EXPECT_DOUBLE_EQ(rate(fabric, "node0.nic1.up"), 12.5e9);
  EXPECT_DOUBLE_EQ(rate(fabric, "node0.nic1.down"), 25e9);
  EXPECT_DOUBLE_EQ(rate(fabric, "node1.nic2.up"), 6.25e9);
  EXPECT_DOUBLE_EQ(rate(fabric, "node1.nic2.down"), 6.25e9);
  EXPECT_THAT(fabric.unknown_overrides(), IsEmpty());
}

TEST(Overrides, OfANodeSlowItsNicsAndItself) {
  Cluster cluster = nodes_of(3, 2, 2);
  cluster.overrides = {{.node = 1, .slow = 0.5}};
  const Fabric fabric(cluster);
  EXPECT_DOUBLE_EQ(rate(fabric, "node1.nic1.down"), 12.5e9);
  EXPECT_DOUBLE_EQ(rate(fabric, "node2.nic1.down"), 25e9);
  EXPECT_DOUBLE_EQ(fabric.speed_of(1), 0.5);
  EXPECT_DOUBLE_EQ(fabric.speed_of(0), 1);
}

TEST(Overrides, ANicThatIsDownIsReplacedByTheNextOfItsNode) {
  Cluster cluster = nodes_of(2, 4, 4);
  cluster.overrides = {{.link = "node0.nic3", .down = true}, {.link = "node1.nic0.down", .down = true}};
  EXPECT_THAT(names(Fabric(cluster), 3, 4), ElementsAre("node0.nic0.up", "node1.nic1.down"));
  cluster.overrides.clear();
  for (const char* nic : {"node0.nic0", "node0.nic1", "node0.nic2", "node0.nic3"})
    cluster.overrides.push_back({.link = nic, .down = true});
  EXPECT_THROW(Fabric(cluster).route(GpuId(0), GpuId(4)), std::runtime_error);
}

TEST(Overrides, ThatNameNothingAreTold) {
  Cluster cluster = nodes_of(2, 4, 4);
  cluster.overrides = {{.link = "node0.nic4", .down = true},
                       {.link = "node0.nic0", .slow = 0.5},
                       {.node = 2, .down = true},
                       {.link = "node0.nic", .slow = 0.5}};
  EXPECT_THAT(Fabric(cluster).unknown_overrides(), ElementsAre(0, 2, 3));
}

TEST(Ranks, StandInOrderOfNodesOrRails) {
  Cluster cluster = nodes_of(3, 2, 2);
  EXPECT_THAT(place_ranks(cluster), IsEmpty());  // rank r on GPU r
  cluster.rank_order = RankOrder::rail;
  EXPECT_THAT(place_ranks(cluster), ElementsAre(0, 2, 4, 1, 3, 5));
  cluster.overrides = {{.node = 1, .down = true}};
  EXPECT_THAT(place_ranks(cluster), ElementsAre(0, 4, 1, 5));
  cluster.rank_order = RankOrder::node;
  EXPECT_THAT(place_ranks(cluster), ElementsAre(0, 1, 4, 5));
  EXPECT_EQ(cluster.gpus(), 4);
  cluster.placement = {5, 4, 1, 0};
  EXPECT_THAT(place_ranks(cluster), ElementsAre(5, 4, 1, 0));
}

}  // namespace
}  // namespace rehearse
