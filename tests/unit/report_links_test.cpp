#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/view/text.hpp"
#include "tests/support/report_step.hpp"
#include "tests/support/scenarios.hpp"

namespace rehearse {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

int32_t flow(test::HandStep& step, int route, double amount, int traffic, double latency, double from,
             double to) {
  Task task;
  task.kind = TaskKind::flow;
  task.route = route, task.amount = amount, task.traffic = traffic, task.duration = latency;
  return step.place(task, from, to, {});
}

// Link 0 stands for three and has two flows, one of them twice over it; link 2 none.
test::HandStep two_flows() {
  test::HandStep step;
  step.graph.links = {{100, 3, LinkId(0)}, {100, 1, LinkId(16)}, {200, 1, LinkId(1)}};
  step.graph.routes = {{{{0, 1}, {1, 1}}, {}}, {{{0, 2}}, {}}};
  step.graph.traffic = {{Axis::dp, "gradients", CollectiveOp::all_reduce, 16},
                        {Axis::pp, "stage forward", CollectiveOp::send_recv, 2}};
  flow(step, 0, 100, 0, 1, 0, 3);   // on its links from 1 to 3
  flow(step, 1, 100, 1, 0, 2, 10);  // 200 bytes from 2 to 10
  step.timeline.step = 10;
  step.graph.ranks = 16;
  return step;
}

Scenario two_nodes() {
  Scenario s = test::small_scenario();
  s.cluster.nodes = 2;
  return s;
}

TEST(ReportLinks, SumWhatEachCarriedAndForWhom) {
  const auto step = two_flows();
  const auto loads = link_loads(two_nodes(), step.graph, step.timeline);
  ASSERT_EQ(loads.size(), 3U);
  const LinkLoad& first = loads[0];
  EXPECT_EQ(first.link, "node0.nic0.up");
  EXPECT_EQ(first.link_class, "NIC up");
  EXPECT_EQ(first.links, 3);
  EXPECT_EQ(first.bytes, 300);
  EXPECT_EQ(first.busy_s, 9);  // 1 to 10
  EXPECT_DOUBLE_EQ(first.mean_share, 0.3);
  // From 2 to 3: 50 bytes a second of the one and 25 of the other.
  EXPECT_NEAR(first.peak_share.value(), 0.75, 1e-12);
  ASSERT_EQ(first.traffic.size(), 2U);
  EXPECT_EQ(first.traffic[0].what, "stage forward");
  EXPECT_EQ(first.traffic[0].bytes, 200);
  EXPECT_EQ(first.traffic[1].axis, Axis::dp);
  EXPECT_EQ(first.traffic[1].bytes, 100);
  EXPECT_EQ(loads[1].link, "node0.nic0.down");
  EXPECT_EQ(loads[2].bytes, 0);
  EXPECT_TRUE(loads[2].traffic.empty());
}

TEST(ReportLinks, ClassesTellMeansOverTheLinksThatAreUsed) {
  const auto step = two_flows();
  const auto loads = link_loads(two_nodes(), step.graph, step.timeline);
  const auto classes = link_classes(loads, 10);
  ASSERT_EQ(classes.size(), 2U);
  EXPECT_EQ(classes[0].link_class, "NIC up");
  EXPECT_EQ(classes[0].links, 4);
  EXPECT_EQ(classes[0].used, 3);
  EXPECT_EQ(classes[0].mean_bytes, 300);
  EXPECT_DOUBLE_EQ(classes[0].busy_share, 0.9);
  EXPECT_NEAR(classes[0].peak_share.value(), 0.75, 1e-12);
  EXPECT_EQ(classes[1].used, 1);
  EXPECT_EQ(classes[1].largest_bytes, 100);
}

TEST(ReportLinks, MostLoadedComeFirstAndTheCsvHasARowEach) {
  const auto step = two_flows();
  const auto loads = link_loads(two_nodes(), step.graph, step.timeline);
  const auto most = most_loaded(loads, 5);
  ASSERT_EQ(most.size(), 2U);
  EXPECT_EQ(most[0].link, "node0.nic0.up");
  EXPECT_EQ(most_loaded(loads, 1).size(), 1U);
  EXPECT_EQ(to_csv(loads, 10),
            "link,class,links,capacity_bytes_per_s,bytes,busy_share,mean_share,peak_share,traffic\n"
            "node0.nic0.up,NIC up,3,100,300,0.9,0.3,0.75,pp stage forward x2: 200; dp gradients x16: 100\n"
            "node0.nic0.down,NIC down,1,100,100,0.2,0.1,0.5,dp gradients x16: 100\n"
            "node0.nic1.up,NIC up,1,200,0,0,0,0,\n");
}

// Gradients that are reduced over NVLink along the backward overlap its own collectives there.
TEST(ReportLinks, NvlinkHasARowAndIsBusyForNoLongerThanTheStep) {
  test::HandStep step;
  step.graph.ranks = 8;
  const int32_t unit = step.unit(0, 0, 1, 8);
  const int32_t gradients = step.traffic(Axis::dp, "gradients", CollectiveOp::all_reduce, 8, 100, 175);
  for (const double from : {0.0, 1.0}) {
    Task task;
    task.kind = TaskKind::fixed;
    task.units = step.units({unit}), task.traffic = gradients, task.duration = 8, task.peers = 8;
    step.place(task, from, from + 8, {});
  }
  step.timeline.step = 10;
  Scenario s = two_nodes();
  s.cluster.nvlink = BytesPerSec(100);
  const auto loads = link_loads(s, step.graph, step.timeline);
  ASSERT_EQ(loads.size(), 1U);
  EXPECT_DOUBLE_EQ(loads[0].busy_s, 9);  // 0 to 9, not 16
  EXPECT_EQ(to_csv(loads, 10).substr(to_csv(loads, 10).find('\n') + 1),
            "each GPU,NVLink out,8,100,350,0.9,0.35,,dp gradients x8: 350\n");
}

}  // namespace
}  // namespace rehearse
