#include "sim/account/closed_forms.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "sim/plan/memory.hpp"
#include "sim/plan/model_math.hpp"

namespace rehearse {

namespace {

// Bytes that a rank sends for one call on `bytes` (nccl-tests' convention: the whole buffer), ring or better.
double sent_per_call(CollectiveOp op, double group, double bytes) {
  const double share = (group - 1) / group;
  switch (op) {
    case CollectiveOp::all_reduce:
      return 2 * share * bytes;
    case CollectiveOp::all_gather:
    case CollectiveOp::reduce_scatter:
    case CollectiveOp::all_to_all:
      return share * bytes;
    case CollectiveOp::send_recv:
    case CollectiveOp::broadcast:
      return bytes;
  }
  return 0;
}

// One micro-batch's activation of the residual stream, bytes.
double activation_bytes(const Scenario& s) {
  return double(s.batch.sequence) * s.batch.micro * s.model.hidden * bytes_of(s.precision.params);
}

struct Layers {
  double total = 0, stages = 0;
};
Layers layers_of(const Scenario& s, bool recomputed) {
  Layers layers;
  std::set<StageId> stages;
  for (const auto& chunk : plan_chunks(s)) {
    const int n = recomputed ? chunk.recomputed_layers : chunk.layers;
    layers.total += n;
    if (n > 0) stages.insert(chunk.stage);
  }
  layers.stages = double(stages.size());
  return layers;
}

// Calls of each kind for one block, pass by pass. Shoeybi et al. 2019, section 3: two all-reduces each way.
// Korthikanti et al. 2022, section 4.2.2: gathers and scatters instead, and the backward gathers the kept
// shards of the two inputs again.
struct TpCalls {
  const char* what;
  double all_reduce, all_gather, reduce_scatter;  // all_reduce without, the others with sequence parallelism
};
constexpr std::array<TpCalls, 3> kBlockCalls{
    {{"block forward", 2, 2, 2}, {"block recompute", 2, 2, 2}, {"block backward", 2, 4, 2}}};
constexpr std::array<TpCalls, 4> kEndCalls{{{"embedding forward", 1, 0, 1},
                                            {"embedding backward", 0, 1, 0},
                                            {"head forward", 0, 1, 0},
                                            {"head backward", 1, 1, 1}}};

double calls_of(const TpCalls& calls, CollectiveOp op, bool sequence_parallel) {
  if (!sequence_parallel) return op == CollectiveOp::all_reduce ? calls.all_reduce : 0;
  if (op == CollectiveOp::all_gather) return calls.all_gather;
  return op == CollectiveOp::reduce_scatter ? calls.reduce_scatter : 0;
}

// Chunk boundaries that cross stages, shared among the stages. The turn of a V crosses none, and of two
// copies of the model a micro-batch passes through one.
double boundaries_per_stage(const Scenario& s) {
  const double pp = s.layout.pp;
  if (pp < 2) return 0;
  switch (s.layout.placement) {
    case Placement::looped:
      return (pp * s.layout.chunks - 1) / pp;
    case Placement::vee:
      return 2 * (pp - 1) / pp;
    case Placement::bidirectional:
      return (pp - 1) / pp;
  }
  return 0;
}

// Micro-batches that pass through a chunk: of two copies of the model each sees half of them.
double micro_batches_of_chunk(const Scenario& s) {
  return s.micro_batches() / (s.layout.placement == Placement::bidirectional ? 2.0 : 1.0);
}

double tp_bytes(const Scenario& s, const LedgerRow& row) {
  const double m = micro_batches_of_chunk(s);
  const double each = sent_per_call(row.collective, s.layout.tp, activation_bytes(s));
  for (const auto& calls : kBlockCalls)
    if (row.what == calls.what) {
      const auto layers = layers_of(s, row.what == "block recompute");
      if (layers.stages == 0) return 0;
      return calls_of(calls, row.collective, s.layout.sequence_parallel) * layers.total / layers.stages * m *
             each;
    }
  for (const auto& calls : kEndCalls)
    if (row.what == calls.what) return calls_of(calls, row.collective, s.layout.sequence_parallel) * m * each;
  // Vocabulary-parallel cross entropy: maximum, target's logit and sum, one fp32 a token.
  if (row.what == "loss")
    return 3 * m * sent_per_call(row.collective, s.layout.tp, double(s.batch.sequence) * s.batch.micro * 4);
  // Slices that crossed a stage boundary, gathered by the receiver: stage 0 receives gradients, the last
  // activations.
  if (row.what == "stage gather") return 2 * s.micro_batches() * boundaries_per_stage(s) * each;
  // Under sequence parallelism a rank sees its tokens' share of the gradients of norms and row biases.
  if (row.what == "norm gradients") {
    double replicated = 0;
    for (const auto& chunk : plan_chunks(s)) replicated += chunk_parameters(s, chunk).replicated;
    return sent_per_call(row.collective, s.layout.tp, replicated / s.layout.pp * bytes_of(s.precision.grads));
  }
  return 0;
}

bool contains(const std::string& text, const char* word) { return text.find(word) != std::string::npos; }

double pp_bytes(const Scenario& s, const LedgerRow& row) {
  const auto& layout = s.layout;
  if (layout.pp < 2) return 0;
  if (row.collective == CollectiveOp::all_reduce)  // tied embeddings: gradients of first and last stage
    return sent_per_call(
        row.collective, 2,
        double(padded_vocab(s.model, layout.tp)) / layout.tp * s.model.hidden * bytes_of(s.precision.grads));
  const bool one_way = contains(row.what, "forward") || contains(row.what, "backward");
  const double slices = layout.scatter_gather || layout.sequence_parallel ? layout.tp : 1;
  return (one_way ? 1 : 2) * boundaries_per_stage(s) * s.micro_batches() * activation_bytes(s) / slices;
}

double dp_bytes(const Scenario& s, const LedgerRow& row) {
  double parameters = 0;
  for (const auto& chunk : plan_chunks(s)) parameters += chunk_parameters(s, chunk).total();
  const bool gathers_weights = row.collective == CollectiveOp::all_gather;
  const DType width = gathers_weights ? s.precision.params : s.precision.grads;
  return sent_per_call(row.collective, row.group_size, parameters / s.layout.pp * bytes_of(width));
}

}  // namespace

double closed_form_bytes(const Scenario& scenario, const LedgerRow& row) {
  if (row.what == "gradients" || row.what == "weights") return dp_bytes(scenario, row);
  if (row.what == "gradient norm") return sent_per_call(row.collective, row.group_size, 4);  // one fp32
  switch (row.axis) {
    case Axis::tp:
      return tp_bytes(scenario, row);
    case Axis::pp:
      return pp_bytes(scenario, row);
    case Axis::dp:
      return dp_bytes(scenario, row);
    case Axis::cp:
    case Axis::ep:
      return 0;  // the checks refuse sizes above 1
  }
  return 0;
}

double model_state_bytes(const Scenario& scenario) {
  const auto chunks = plan_chunks(scenario);
  double bytes = 0;
  for (int stage = 0; stage < scenario.layout.pp; ++stage) {
    const auto part = static_memory(scenario, chunks, StageId(stage));
    bytes += part.weights + part.gradients + part.optimizer;
  }
  return bytes / scenario.layout.pp;
}

Scenario without_axis(Scenario scenario, Axis axis) {
  auto& layout = scenario.layout;
  switch (axis) {
    case Axis::tp:
      layout.tp = 1;
      layout.sequence_parallel = layout.scatter_gather = false;
      break;
    case Axis::pp:
      layout.pp = layout.chunks = 1;
      layout.placement = Placement::looped;
      layout.stage_layers.clear();
      break;
    case Axis::dp:
      layout.dp = 1;
      break;
    case Axis::cp:
      layout.cp = 1;
      break;
    case Axis::ep:
      layout.ep = 1;
      break;
  }
  return scenario;
}

double memory_factor(const Scenario& scenario, Axis axis) {
  return model_state_bytes(scenario) / model_state_bytes(without_axis(scenario, axis));
}

void fill_closed_forms(const Scenario& scenario, std::vector<LedgerRow>& rows) {
  std::map<Axis, double> factors;
  for (auto& row : rows) {
    row.closed_form_bytes_per_rank = closed_form_bytes(scenario, row);
    const auto [factor, is_new] = factors.emplace(row.axis, 0);
    if (is_new) factor->second = memory_factor(scenario, row.axis);
    row.memory_factor = factor->second;
  }
}

}  // namespace rehearse
