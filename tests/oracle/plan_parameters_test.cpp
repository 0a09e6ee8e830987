#include <gtest/gtest.h>

#include "sim/plan/model_math.hpp"
#include "tests/oracle/plan_models.hpp"

using namespace rehearse;
using namespace rehearse::oracle;

namespace {

TEST(PlanParameters, PaddedVocabularyIsAMultipleOf128TimesTp) {
  auto model = gpt(1, 1024, 16);
  EXPECT_EQ(padded_vocab(model, 8), 51200);
  model.vocab = 50257;
  EXPECT_EQ(padded_vocab(model, 1), 50304);
  EXPECT_EQ(padded_vocab(model, 8), 51200);
  EXPECT_EQ(padded_vocab(model, 4), 50688);
}

TEST(PlanParameters, GptBlockIs12hhPlus13h) {
  for (const double h : {1024.0, 12288.0}) {
    const auto model = gpt(1, static_cast<int>(h), 16);
    EXPECT_DOUBLE_EQ(block_parameters(model), 12 * h * h + 13 * h);
    EXPECT_DOUBLE_EQ(embedding_parameters(model, 51200), (51200 + 2048) * h);
    EXPECT_DOUBLE_EQ(head_parameters(model, 51200), 2 * h);
  }
}

// Narayanan et al. 2021, eq. 2: P = 12 l h^2 (1 + 13/12h + (V + s)/12lh); its 2h of the final norm are left
// out there.
TEST(PlanParameters, NarayananEquation2) {
  const double l = 96, h = 12288, v = 51200, s = 2048;
  const auto model = gpt(96, 12288, 96);
  const double published = 12 * l * h * h * (1 + 13 / (12 * h) + (v + s) / (12 * l * h));
  EXPECT_NEAR(total_parameters(model, 51200), published + 2 * h, 1);
  EXPECT_NEAR(total_parameters(model, 51200) / 1e9, 174.6, 0.05);
}

// Narayanan et al. 2021, Table 1: printed parameters in billions.
TEST(PlanParameters, MegatronTable) {
  struct Row {
    double billions;
    int heads, hidden, layers;
  };
  const Row rows[] = {{1.7, 24, 2304, 24},      {3.6, 32, 3072, 30},     {7.5, 32, 4096, 36},
                      {18.4, 48, 6144, 40},     {39.1, 64, 8192, 48},    {76.1, 80, 10240, 60},
                      {145.6, 96, 12288, 80},   {310.1, 128, 16384, 96}, {529.6, 128, 20480, 105},
                      {1008.0, 160, 25600, 128}};
  for (const auto& row : rows)
    EXPECT_NEAR(total_parameters(gpt(row.layers, row.hidden, row.heads), 51200) / 1e9, row.billions, 0.06);
}

// Model cards: Llama 2 7B 6,738,415,616; Llama 2 70B 68,976,648,192; Llama 3 8B 8,030,261,248 parameters.
TEST(PlanParameters, LlamaModelsExactly) {
  EXPECT_DOUBLE_EQ(total_parameters(llama(32, 4096, 32, 32, 11008, 32000), 32000), 6738415616.0);
  EXPECT_DOUBLE_EQ(total_parameters(llama(80, 8192, 64, 8, 28672, 32000), 32000), 68976648192.0);
  EXPECT_DOUBLE_EQ(total_parameters(llama(32, 4096, 32, 8, 14336, 128256), 128256), 8030261248.0);
}

double summed(const Scenario& s) {
  double total = 0;
  for (const auto& chunk : plan_chunks(s)) {
    const auto p = chunk_parameters(s, chunk);
    total += s.layout.tp * p.sharded + p.replicated;
  }
  return total;
}

TEST(PlanParameters, ChunksSumToTheModel) {
  auto s = scenario(gpt(96, 12288, 96), {.tp = 8, .pp = 1, .chunks = 4}, {.global = 1, .sequence = 2048});
  EXPECT_NEAR(summed(s), total_parameters(s.model, 51200), 1);
  s.layout.pp = 8;  // the tied head of the last stage holds its own copy of the table
  EXPECT_NEAR(summed(s), total_parameters(s.model, 51200) + 51200.0 * 12288, 1);
  s.model.tied_embeddings = false;
  EXPECT_NEAR(summed(s), total_parameters(s.model, 51200), 1);
}

TEST(PlanParameters, ShareOfOneRank) {
  const double h = 6144;
  const auto s = scenario(gpt(40, 6144, 48), {.tp = 8, .pp = 2}, {.global = 1, .sequence = 2048});
  const auto plan = plan_chunks(s);
  const auto first = chunk_parameters(s, plan[0]);
  EXPECT_DOUBLE_EQ(first.sharded, 20 * (12 * h * h + 7 * h) / 8 + 51200 * h / 8);
  EXPECT_DOUBLE_EQ(first.replicated, 20 * 6 * h + 2048 * h);
  EXPECT_DOUBLE_EQ(first.embedding, 51200 * h / 8);
  const auto last = chunk_parameters(s, plan[1]);
  EXPECT_DOUBLE_EQ(last.replicated, 20 * 6 * h + 2 * h);
  EXPECT_DOUBLE_EQ(last.embedding, 51200 * h / 8);
}

TEST(PlanParameters, KvHeadsFewerThanTpRanksAreHeldWhole) {
  const auto model = llama(80, 8192, 64, 8, 28672, 32000);
  const auto share = [&](int tp) {
    const auto s = scenario(model, {.tp = tp, .pp = 80}, {.global = 1, .sequence = 4096});
    return chunk_parameters(s, plan_chunks(s)[1]).sharded;
  };
  const double h = 8192, f = 28672, d = 128;
  EXPECT_DOUBLE_EQ(share(8), (2 * h * h + 2 * 8 * d * h + 3 * h * f) / 8);
  EXPECT_DOUBLE_EQ(share(16), (2 * h * h + 3 * h * f) / 16 + 2 * d * h);
}

TEST(PlanParameters, HeadDimensionMayDifferFromHiddenOverHeads) {
  auto model = llama(1, 2048, 8, 4, 8192, 32000);
  model.head_dim = 128;
  EXPECT_DOUBLE_EQ(block_parameters(model), 2048.0 * 128 * (8 + 8 + 4 + 4) + 3.0 * 2048 * 8192 + 2 * 2048);
}

}  // namespace
