// Arithmetic of a transformer: parameters, FLOPs, vocabulary padding. Formulas in the .cpp name their source.
#pragma once
#include "sim/plan/layout.hpp"

namespace rehearse {

// Vocabulary padded to a multiple of 128 x tp, as Megatron does.
int padded_vocab(const ModelSpec& model, int tp);

// Parameters of one block, of the embeddings (word + learned positions), of the final norm, of an untied
// head; unsharded.
double block_parameters(const ModelSpec& model);
double embedding_parameters(const ModelSpec& model, int padded_vocab);
double head_parameters(const ModelSpec& model, int padded_vocab);  // final norm + head matrix (0 when tied)
double total_parameters(const ModelSpec& model, int padded_vocab);

// Parameters that one rank of a chunk's stage holds (TP-sharded matrices / tp, norms and row biases whole).
// The tied head of a stage without the embedding holds its own copy of it.
struct ChunkParameters {
  double sharded = 0;     // elements, already divided by tp
  double replicated = 0;  // elements held whole by each TP rank
  double embedding = 0;   // part of `sharded` that is the word embedding or head matrix
  double total() const { return sharded + replicated; }
};
ChunkParameters chunk_parameters(const Scenario& scenario, const ChunkPlan& chunk);

// The activations of a micro-batch on their way to another stage, or their gradient: bytes of the whole, and
// of what each TP rank sends of it (a slice under sequence parallelism or scatter-gather).
struct StageMessage {
  double whole = 0, sent = 0;
};
StageMessage stage_message(const Scenario& scenario);

// Model FLOPs of one step of the whole job: 3 x forward, no recompute; attention whole or its causal half.
Flop model_flops(const Scenario& scenario);
// FLOPs added by recompute, whole job.
Flop recompute_flops(const Scenario& scenario);

}  // namespace rehearse
