#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/io/scenario.hpp"
#include "sim/step/plan.hpp"

using namespace rehearse;
using testing::ElementsAre;

namespace {

const std::string kTests = std::string(REHEARSE_SOURCE_DIR) + "/tests";

Plan loaded(const std::vector<std::string>& sets) {
  return resolve(read_job(kTests + "/fuzz/base.yaml", sets, {{kTests + "/input/data"}}));
}
Scenario with(const std::vector<std::string>& sets) { return loaded(sets).scenario; }

std::vector<std::string> warnings(const std::vector<std::string>& sets) {
  std::vector<std::string> codes;
  for (const auto& warning : with(sets).warnings) codes.push_back(warning.code);
  return codes;
}

}  // namespace

TEST(Scenarios, DefaultsAndFiles) {
  const Scenario s = with({});
  EXPECT_EQ(s.name, "base");
  EXPECT_EQ(s.model.name, "tiny");
  EXPECT_EQ(s.model.kv_heads, 16);
  EXPECT_EQ(s.model.head_dim, 64);
  EXPECT_EQ(s.model.ffn, 4096);
  EXPECT_TRUE(s.model.dropout);
  EXPECT_EQ(s.cluster.gpus(), 16);
  EXPECT_EQ(s.cluster.nic, BytesPerSec(25e9));
  EXPECT_EQ(s.cluster.nic_latency, Seconds(2.7e-6));
  EXPECT_EQ(s.stack.name, "plain");
  EXPECT_EQ(s.schedule, "1f1b");
  EXPECT_EQ(s.grad_bucket, Bytes(160e6));
  EXPECT_EQ(s.micro_batches(), 8);
  EXPECT_TRUE(s.warnings.empty());
  EXPECT_EQ(loaded({}).schedule.stages.size(), 2U);
}

TEST(Scenarios, DpIsDerivedWhereLeftOut) {
  EXPECT_EQ(with({"layout={tp: 4, pp: 2}"}).layout.dp, 2);
  EXPECT_EQ(with({"layout=null"}).layout.dp, 16);
}

TEST(Scenarios, OrderMayLeaveOutAxesOfSizeOne) {
  using enum Axis;
  EXPECT_THAT(with({"layout.order=tp-pp-dp"}).layout.order, ElementsAre(cp, tp, pp, ep, dp));
  EXPECT_THAT(with({"layout.order=tp-cp-ep-dp-pp"}).layout.order, ElementsAre(tp, cp, ep, dp, pp));
  EXPECT_THAT(
      with({"layout={tp: 16, dp: 1}", "layout.order=tp", "cluster.gpus_per_node=16", "cluster.nodes=1"})
          .layout.order,
      ElementsAre(cp, tp, pp, ep, dp));
}

TEST(Scenarios, PrecisionByWordAndByKey) {
  const Precision word = with({"precision=fp32"}).precision;
  EXPECT_EQ(word.compute, DType::fp32);
  EXPECT_EQ(word.params, DType::fp32);
  EXPECT_EQ(word.grads, DType::fp32);
  const Precision set = with({"precision=bf16", "precision.grads=bf16"}).precision;
  EXPECT_EQ(set.compute, DType::bf16);
  EXPECT_EQ(set.grads, DType::bf16);
  EXPECT_EQ(set.optimizer, DType::fp32);
  EXPECT_EQ(with({"precision={compute: fp32}"}).precision.params, DType::fp32);
}

TEST(Scenarios, RecomputeByWordAndByLayers) {
  EXPECT_EQ(with({"recompute=selective"}).recompute.kind, RecomputeKind::selective);
  const Recompute some = with({"recompute=full", "recompute.full_layers=2"}).recompute;
  EXPECT_EQ(some.kind, RecomputeKind::full);
  EXPECT_EQ(some.full_layers, 2);
}

TEST(Scenarios, SettingsReachIntoNamedFiles) {
  EXPECT_EQ(with({"model.layers=4"}).model.layers, 4);
  EXPECT_EQ(with({"model.mlp=swiglu"}).model.ffn, 2816);  // 8/3 x 1024 rounded up to 256
  EXPECT_EQ(with({"cluster.nic=400 Gb/s"}).cluster.nic, BytesPerSec(50e9));
  EXPECT_EQ(with({"cluster.topology=big-node", "cluster.nodes=2"}).cluster.gpus_per_node, 8);
  EXPECT_EQ(with({"cluster.topology.nics_per_node=2"}).cluster.nics_per_node, 2);
  EXPECT_EQ(with({"layout.stage_layers=[3, 5]"}).layout.stage_layers, (std::vector<int>{3, 5}));
}

TEST(Scenarios, NullTakesAKeyAway) {
  EXPECT_EQ(with({"name=null"}).name, "base");  // the file's
  EXPECT_EQ(with({"schedule=null"}).schedule, "1f1b");
  EXPECT_EQ(with({"layout.dp=8", "layout.dp=null"}).layout.dp, 4);
}

TEST(Scenarios, DoubtfulCombinationsWarn) {
  EXPECT_THAT(warnings({"layout={tp: 8}"}), ElementsAre("W-TP-NODE"));
  EXPECT_THAT(warnings({"layout={tp: 2, pp: 2, order: dp-tp-pp}"}), ElementsAre("W-TP-NODE"));
  EXPECT_THAT(warnings({"layout={tp: 4}", "cluster.gpu=other-gpu"}), ElementsAre("W-PROFILE-GPU"));
  EXPECT_THAT(warnings({"model.head_dim=68"}), ElementsAre("W-HEAD-DIM"));
  EXPECT_THAT(warnings({"model.head_dim=68", "model.attention=fused"}), ElementsAre());
  EXPECT_THAT(warnings({"layout={tp: 1, pp: 2}", "overlap.tp=true"}), ElementsAre("W-NO-EFFECT"));
  EXPECT_THAT(warnings({"layout={tp: 2}", "overlap.p2p=true"}), ElementsAre("W-NO-EFFECT"));
  EXPECT_THAT(warnings({"layout={tp: 2, pp: 2, sequence_parallel: true, scatter_gather: true}"}),
              ElementsAre("W-NO-EFFECT"));
  EXPECT_THAT(warnings({"model.position=rope", "batch.sequence=4096"}), ElementsAre("W-SEQUENCE"));
}

TEST(Scenarios, KeysOfNvlinkDomainsThatChangeNothingAreNamed) {
  const std::string one = "layout={tp: 2, pp: 2}", domain = "cluster.nodes_per_domain=2";
  EXPECT_THAT(warnings({one, "cluster.nodes=1", domain}), ElementsAre("W-NO-EFFECT"));
  EXPECT_THAT(warnings({domain}), ElementsAre());
  const std::string alone = "cluster={topology: small-node, nodes: 16, gpus_per_node: 1, nics_per_node: 1}";
  EXPECT_THAT(warnings({"layout={pp: 2}", alone}), ElementsAre());
  EXPECT_THAT(warnings({"layout={pp: 2}", alone, "cluster.nvlink_latency=1 us"}), ElementsAre("W-NO-EFFECT"));
}

TEST(Scenarios, PlacesPointIntoTheFileThatHoldsTheKey) {
  const Places places = loaded({"layout.tp=2"}).places;
  EXPECT_EQ(places.find("layout.tp").file, "--set layout.tp=2");
  EXPECT_EQ(places.find("layout.tp").column, 11);
  EXPECT_EQ(places.find("layout.pp").line, 5);
  EXPECT_THAT(places.find("model.layers").file, testing::EndsWith("models/tiny.yaml"));
  EXPECT_THAT(places.find("cluster.nic").file, testing::EndsWith("small-node.yaml"));
  EXPECT_EQ(places.find("batch.nothing").line, 6);
  EXPECT_EQ(places.find("nothing").line, 1);
}
