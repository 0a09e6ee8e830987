#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "sim/plan/memory.hpp"
#include "sim/plan/model_math.hpp"

using namespace rehearse;

namespace {

constexpr double kSequence = 128, kMicro = 2, kHidden = 64, kHeads = 8, kFfn = 256, kVocab = 1024;
constexpr double kTokens = kSequence * kMicro;
constexpr double kScores = kHeads * kTokens * kSequence;

// Six layers on three stages; a middle chunk has neither embedding nor head.
Scenario small(Mlp mlp = Mlp::gelu) {
  Scenario s;
  s.model = {.layers = 6,
             .hidden = 64,
             .heads = 8,
             .kv_heads = 8,
             .head_dim = 8,
             .ffn = 256,
             .mlp = mlp,
             .vocab = 1024,
             .sequence = 128};
  s.layout = {.pp = 3, .dp = 4};
  s.batch = {.global = 32, .micro = 2, .sequence = 128};
  return s;
}

ActivationMemory of_chunk(const Scenario& s, size_t chunk) {
  return activation_memory(s, plan_chunks(s)[chunk]);
}
double stored(const Scenario& s) { return of_chunk(s, 1).stored / 2; }  // a layer of the middle chunk

StaticMemory of_stage(const Scenario& s, int stage) {
  return static_memory(s, plan_chunks(s), StageId(stage));
}
double parameters(const Scenario& s, size_t chunk) {
  return chunk_parameters(s, plan_chunks(s)[chunk]).total();
}

TEST(PlanMemory, BytesOfAParameterByPrecision) {
  struct Row {
    Precision precision;
    double weights, gradients, optimizer;
  };
  const Row rows[] = {
      {{}, 2, 4, 12},
      {{.grads = DType::bf16}, 2, 2, 12},
      {{.compute = DType::fp8}, 2, 4, 12},
      {{.compute = DType::fp32, .params = DType::fp32}, 4, 4, 8},
      {{.optimizer = DType::bf16}, 2, 4, 4},
      {{.params = DType::fp8}, 1, 4, 12},
  };
  for (const auto& row : rows) {
    auto s = small();
    s.precision = row.precision;
    const double p = parameters(s, 1);
    const auto m = of_stage(s, 1);
    EXPECT_DOUBLE_EQ(m.weights, row.weights * p);
    EXPECT_DOUBLE_EQ(m.gradients, row.gradients * p);
    EXPECT_DOUBLE_EQ(m.optimizer, row.optimizer * p);
  }
}

TEST(PlanMemory, ZeroOneDividesTheOptimizerAlone) {
  auto s = small();
  s.layout.cp = 2;
  const auto plain = of_stage(s, 1);
  s.layout.zero = 1;
  const auto sharded = of_stage(s, 1);
  EXPECT_DOUBLE_EQ(sharded.optimizer, plain.optimizer / 8);
  EXPECT_DOUBLE_EQ(sharded.weights, plain.weights);
  EXPECT_DOUBLE_EQ(sharded.gradients, plain.gradients);
}

TEST(PlanMemory, StagesHoldTheirChunks) {
  auto s = small();
  s.layout.chunks = 2;
  EXPECT_DOUBLE_EQ(of_stage(s, 1).weights, 2 * (parameters(s, 1) + parameters(s, 4)));
  const double table = kVocab * kHidden;
  EXPECT_NEAR(of_stage(s, 0).weights - of_stage(s, 1).weights, 2 * (table + kSequence * kHidden), 1e-6);
  EXPECT_NEAR(of_stage(s, 2).weights - of_stage(s, 1).weights, 2 * (table + 2 * kHidden), 1e-6);
}

TEST(PlanMemory, BuffersByWhatCommunicates) {
  auto s = small();
  const double message = 2 * kTokens * kHidden;
  s.grad_bucket = Bytes(1000);
  EXPECT_DOUBLE_EQ(of_stage(s, 0).buffers, 1000 + message);
  EXPECT_DOUBLE_EQ(of_stage(s, 1).buffers, 1000 + 2 * message);
  EXPECT_DOUBLE_EQ(of_stage(s, 2).buffers, 1000 + message);
  s.grad_bucket = Bytes(1e12);
  EXPECT_DOUBLE_EQ(of_stage(s, 0).buffers, of_stage(s, 0).gradients + message);
  s.layout.dp = 1;
  s.layout.chunks = 2;
  EXPECT_DOUBLE_EQ(of_stage(s, 0).buffers, 2 * message);
  s.layout = {.tp = 2, .sequence_parallel = true};
  EXPECT_DOUBLE_EQ(of_stage(s, 0).buffers, message);
  s.layout = {};
  EXPECT_DOUBLE_EQ(of_stage(s, 0).buffers, 0);
}

TEST(PlanMemory, FrameworkIsTheProfiles) {
  auto s = small();
  EXPECT_EQ(of_stage(s, 0).framework, 0);
  DeviceProfile profile;
  profile.framework_bytes.value = 3e9;
  s.profile = std::make_shared<const DeviceProfile>(profile);
  EXPECT_EQ(of_stage(s, 0).framework, 3e9);
}

TEST(PlanMemory, DropoutKeepsMasks) {
  auto s = small();
  const double with = stored(s);
  s.model.dropout = false;
  // Two residual masks; of the scores' five bytes only the softmax output stays.
  EXPECT_DOUBLE_EQ(with - stored(s), 2 * kTokens * kHidden + 3 * kScores);
}

TEST(PlanMemory, FusedAttentionKeepsStatisticsInsteadOfScores) {
  auto s = small();
  const double unfused = stored(s);
  s.model.attention = Attention::fused;
  EXPECT_DOUBLE_EQ(unfused - stored(s), 5 * kScores - 4 * kHeads * kTokens);
  s.recompute.kind = RecomputeKind::selective;
  EXPECT_DOUBLE_EQ(stored(s), 34 * kTokens * kHidden);
}

TEST(PlanMemory, GatedMlpAndFewKvHeads) {
  auto s = small(Mlp::swiglu);
  s.model.dropout = false;
  s.model.attention = Attention::fused;
  s.model.kv_heads = 2;
  const double kv = 2 * 8;
  const double expected =
      2 * kTokens * (4 * kHidden + 2 * kHidden + 2 * kv + 3 * kFfn) + 4 * kHeads * kTokens;
  EXPECT_DOUBLE_EQ(stored(s), expected);
  s.layout.tp = 4;  // more ranks than KV heads: each keeps one whole
  const double cut = 2 * kTokens * ((2 * kHidden + 3 * kFfn) / 4 + 2 * 8) + kHeads * kTokens;
  EXPECT_DOUBLE_EQ(stored(s), 2 * kTokens * 4 * kHidden + cut);
}

TEST(PlanMemory, ContextParallelismCutsTokensAndScores) {
  auto s = small();
  const double whole = stored(s);
  s.layout.cp = 2;
  EXPECT_DOUBLE_EQ(stored(s), whole / 2);
}

TEST(PlanMemory, WidthFollowsCompute) {
  auto s = small();
  s.model.dropout = false;
  const double half = stored(s);
  s.precision.compute = DType::fp32;
  EXPECT_DOUBLE_EQ(stored(s), 2 * half);
  s.precision.compute = DType::fp8;  // inputs of QKV, projection, FC1 and FC2 take one byte
  EXPECT_DOUBLE_EQ(half - stored(s), kTokens * (3 * kHidden + kFfn));
}

TEST(PlanMemory, FirstLayersRecomputedKeepTheirInput) {
  auto s = small();
  const double kept = stored(s);
  s.recompute = {.kind = RecomputeKind::full, .full_layers = 1};
  EXPECT_DOUBLE_EQ(of_chunk(s, 1).stored, kept + 2 * kTokens * kHidden);
}

TEST(PlanMemory, EmbeddingAndHeadChunks) {
  auto s = small();
  const double layers = of_chunk(s, 1).stored;
  EXPECT_DOUBLE_EQ(of_chunk(s, 0).stored, layers + kTokens * kHidden);      // dropout mask
  EXPECT_DOUBLE_EQ(of_chunk(s, 2).stored, layers + 4 * kTokens * kHidden);  // inputs of final norm and head
  EXPECT_EQ(of_chunk(s, 1).logits, 0);
  EXPECT_DOUBLE_EQ(of_chunk(s, 2).logits, 4 * kTokens * kVocab);
  s.layout.tp = 2;
  EXPECT_DOUBLE_EQ(of_chunk(s, 2).logits, 4 * kTokens * kVocab / 2);
}

TEST(PlanMemory, TransientOfALayer) {
  auto s = small();
  const double gradients = 4 * std::max(kTokens * kFfn, kScores) + 4 * kTokens * kHidden + 2 * kHidden * kFfn;
  EXPECT_DOUBLE_EQ(of_chunk(s, 1).transient, gradients);
  const double whole = stored(s);
  s.recompute.kind = RecomputeKind::selective;
  EXPECT_DOUBLE_EQ(of_chunk(s, 1).transient, gradients + 5 * kScores);
  s.recompute.kind = RecomputeKind::full;
  EXPECT_DOUBLE_EQ(of_chunk(s, 1).transient, gradients + whole - 2 * kTokens * kHidden);
}

TEST(PlanMemory, TransientOfAWideHeadIsItsGradients) {
  auto s = small();
  s.model.vocab = 1024 * 128;
  const double v = 1024.0 * 128;
  EXPECT_DOUBLE_EQ(of_chunk(s, 2).transient, 2 * kTokens * v + 2 * kHidden * v + 2 * kTokens * kHidden);
  EXPECT_DOUBLE_EQ(of_chunk(s, 0).transient, 2 * kHidden * v - of_chunk(s, 0).stored);
  s.precision = {.compute = DType::fp32,
                 .params = DType::fp32};  // the gradient stands in the logits themselves
  EXPECT_DOUBLE_EQ(of_chunk(s, 2).transient, 4 * kHidden * v + 4 * kTokens * kHidden);
}

TEST(PlanMemory, ChunkWithoutLayers) {
  auto s = small();
  s.layout.stage_layers = {0, 3, 3};
  const auto m = of_chunk(s, 0);
  EXPECT_DOUBLE_EQ(m.stored, kTokens * kHidden);
  EXPECT_DOUBLE_EQ(m.transient, 2 * kVocab * kHidden - m.stored);
}

}  // namespace
