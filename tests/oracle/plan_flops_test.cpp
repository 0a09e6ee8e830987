#include <gtest/gtest.h>

#include "sim/plan/model_math.hpp"
#include "tests/oracle/plan_models.hpp"

using namespace rehearse;
using namespace rehearse::oracle;

namespace {

constexpr double kLayers = 96, kHidden = 12288, kVocab = 51200, kSequence = 2048, kBatch = 1536;

Scenario gpt3() {
  return scenario(gpt(96, 12288, 96), {.tp = 8, .pp = 8, .dp = 16},
                  {.global = 1536, .micro = 1, .sequence = 2048});
}

void expect_relative(double got, double expected) { EXPECT_NEAR(got / expected, 1, 1e-12); }

// Narayanan et al. 2021, section 5.1 without its recompute term; Korthikanti et al. 2022, appendix A, model
// FLOPs.
TEST(PlanFlops, ModelFlopsOfAGpt) {
  const double published = 72 * kBatch * kSequence * kLayers * kHidden * kHidden *
                           (1 + kSequence / (6 * kHidden) + kVocab / (12 * kLayers * kHidden));
  expect_relative(model_flops(gpt3()).value, published);
}

TEST(PlanFlops, CausalCountsHalfOfTheCore) {
  auto s = gpt3();
  s.mfu_attention_causal = true;
  const double published = 72 * kBatch * kSequence * kLayers * kHidden * kHidden *
                           (1 + kSequence / (12 * kHidden) + kVocab / (12 * kLayers * kHidden));
  expect_relative(model_flops(s).value, published);
}

// Narayanan et al. 2021, eq. 3: 96 B s l h^2 (1 + s/6h + V/16lh) with the whole forward done twice.
TEST(PlanFlops, FullRecomputeIsNarayananEquation3) {
  auto s = gpt3();
  s.recompute = {.kind = RecomputeKind::full};
  const double published = 96 * kBatch * kSequence * kLayers * kHidden * kHidden *
                           (1 + kSequence / (6 * kHidden) + kVocab / (16 * kLayers * kHidden));
  expect_relative(model_flops(s).value + recompute_flops(s).value, published);
}

// Korthikanti et al. 2022, section 5 and appendix A: the core's forward is 4 B s^2 h a layer.
TEST(PlanFlops, SelectiveRecomputeRepeatsTheCore) {
  auto s = gpt3();
  EXPECT_EQ(recompute_flops(s).value, 0);
  s.recompute = {.kind = RecomputeKind::selective};
  expect_relative(recompute_flops(s).value, 4 * kBatch * kSequence * kSequence * kHidden * kLayers);
}

TEST(PlanFlops, FirstLayersOfEachChunkRecomputed) {
  auto s = gpt3();
  s.recompute = {.kind = RecomputeKind::full};
  const double all = recompute_flops(s).value;
  s.recompute.full_layers = 3;  // of 12 a stage
  expect_relative(recompute_flops(s).value, all / 4);
}

// README of the NeMo performance tables: 12 l h^2 (1 + kv/heads + s/h) + 18 l h ffn + 6 V h a token, full
// attention.
TEST(PlanFlops, LlamaPerToken) {
  const double l = 80, h = 8192, f = 28672, v = 128256, seq = 4096;
  const auto s =
      scenario(llama(80, 8192, 64, 8, 28672, 128256), {}, {.global = 3, .micro = 1, .sequence = 4096});
  const double per_token = 12 * l * h * h * (1 + 8.0 / 64 + seq / h) + 18 * l * h * f + 6 * v * h;
  expect_relative(model_flops(s).value, per_token * 3 * seq);
}

TEST(PlanFlops, VocabularyCountsAsPadded) {
  auto s = gpt3();
  s.model.vocab = 50257;
  expect_relative(model_flops(s).value, model_flops(gpt3()).value);
}

}  // namespace
