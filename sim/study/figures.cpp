#include <algorithm>

#include "sim/study/price.hpp"

namespace rehearse {

namespace {

template <Part part>
double account(const Report& r) {
  return r.account[size_t(part)];
}

// Of the stage with the highest peak; the first of several.
template <double MemoryParts::*part>
double at_peak(const Report& r) {
  const auto lower = [](const StageMemory& a, const StageMemory& b) {
    return a.peak.total() < b.peak.total();
  };
  const auto fullest = std::max_element(r.memory.stages.begin(), r.memory.stages.end(), lower);
  return fullest == r.memory.stages.end() ? 0 : fullest->peak.*part;
}

// Mean over all ranks, those that take no part included.
template <Axis axis, double LedgerRow::*column>
double ledger(const Report& r) {
  double sum = 0;
  for (const auto& row : r.ledger)
    if (row.axis == axis) sum += row.*column * row.ranks;
  return r.ranks > 0 ? sum / r.ranks : 0;
}

double peak_live(const Report& r) {
  const auto& live = r.pipeline.peak_live;
  return live.empty() ? 0 : *std::max_element(live.begin(), live.end());
}

constexpr Named<Figure> kFigures[] = {
    {"step_time_s", "of one step", [](const Report& r) { return r.step_time_s; }},
    {"tokens_per_s", "of all GPUs", [](const Report& r) { return r.tokens_per_s; }},
    {"tokens_per_s_per_gpu", "of one", [](const Report& r) { return r.tokens_per_s_per_gpu; }},
    {"model_tflops_per_gpu", "no recompute", [](const Report& r) { return r.model_tflops_per_gpu; }},
    {"mfu", "part of the peak, model FLOPs", [](const Report& r) { return r.mfu; }},
    {"hfu", "recompute counted too", [](const Report& r) { return r.hfu; }},
    {"bubble_fraction", "of the step", [](const Report& r) { return r.bubble_fraction; }},
    {"account_s.compute", "mean over all ranks, as all parts", account<Part::compute>},
    {"account_s.recompute", "computed again", account<Part::recompute>},
    {"account_s.exposed_tp", "waiting for tensor parallelism", account<Part::exposed_tp>},
    {"account_s.exposed_cp", "for context parallelism", account<Part::exposed_cp>},
    {"account_s.exposed_ep", "for expert parallelism", account<Part::exposed_ep>},
    {"account_s.exposed_pp", "for transfers between stages", account<Part::exposed_pp>},
    {"account_s.exposed_dp", "for data parallelism", account<Part::exposed_dp>},
    {"account_s.bubble", "for other stages", account<Part::bubble>},
    {"account_s.optimizer", "norms and updates", account<Part::optimizer>},
    {"account_s.overhead", "launches and other waits", account<Part::overhead>},
    {"pipeline.makespan_s", "first F to last B", [](const Report& r) { return r.pipeline.makespan_s; }},
    {"pipeline.bubble_fraction", "idle part of it",
     [](const Report& r) { return r.pipeline.bubble_fraction; }},
    {"pipeline.idle_over_ideal", "idle over work",
     [](const Report& r) { return r.pipeline.idle_over_ideal; }},
    {"pipeline.peak_live", "chunk activations on the fullest stage", peak_live},
    {"memory.peak_bytes", "of the fullest stage", [](const Report& r) { return r.memory.peak_bytes; }},
    {"memory.capacity_bytes", "of the device", [](const Report& r) { return r.memory.capacity_bytes; }},
    {"memory.weights", "bytes at that peak, as all parts", at_peak<&MemoryParts::weights>},
    {"memory.gradients", "", at_peak<&MemoryParts::gradients>},
    {"memory.optimizer", "", at_peak<&MemoryParts::optimizer>},
    {"memory.activations", "", at_peak<&MemoryParts::activations>},
    {"memory.logits", "", at_peak<&MemoryParts::logits>},
    {"memory.buffers", "", at_peak<&MemoryParts::buffers>},
    {"memory.framework", "", at_peak<&MemoryParts::framework>},
    {"ledger.tp.bytes_sent_per_rank", "", ledger<Axis::tp, &LedgerRow::bytes_sent_per_rank>},
    {"ledger.tp.exposed_s", "", ledger<Axis::tp, &LedgerRow::exposed_s>},
    {"ledger.tp.busy_s", "exposed or not", ledger<Axis::tp, &LedgerRow::busy_s>},
    {"ledger.cp.bytes_sent_per_rank", "", ledger<Axis::cp, &LedgerRow::bytes_sent_per_rank>},
    {"ledger.cp.exposed_s", "", ledger<Axis::cp, &LedgerRow::exposed_s>},
    {"ledger.cp.busy_s", "", ledger<Axis::cp, &LedgerRow::busy_s>},
    {"ledger.pp.bytes_sent_per_rank", "", ledger<Axis::pp, &LedgerRow::bytes_sent_per_rank>},
    {"ledger.pp.exposed_s", "", ledger<Axis::pp, &LedgerRow::exposed_s>},
    {"ledger.pp.busy_s", "", ledger<Axis::pp, &LedgerRow::busy_s>},
    {"ledger.ep.bytes_sent_per_rank", "", ledger<Axis::ep, &LedgerRow::bytes_sent_per_rank>},
    {"ledger.ep.exposed_s", "", ledger<Axis::ep, &LedgerRow::exposed_s>},
    {"ledger.ep.busy_s", "", ledger<Axis::ep, &LedgerRow::busy_s>},
    {"ledger.dp.bytes_sent_per_rank", "", ledger<Axis::dp, &LedgerRow::bytes_sent_per_rank>},
    {"ledger.dp.exposed_s", "", ledger<Axis::dp, &LedgerRow::exposed_s>},
    {"ledger.dp.busy_s", "", ledger<Axis::dp, &LedgerRow::busy_s>},
    {"engine.ranks", "of the job", [](const Report& r) { return double(r.ranks); }},
    {"engine.simulated_ranks", "classes of alike ones",
     [](const Report& r) { return double(r.simulated_ranks); }},
    {"engine.tasks", "of the graph", [](const Report& r) { return double(r.tasks); }},
    {"engine.events", "of the replay", [](const Report& r) { return double(r.events); }},
    {"engine.flows", "over links", [](const Report& r) { return double(r.flows); }},
    {"engine.link_flows", "flows times links", [](const Report& r) { return double(r.link_flows); }},
    {"engine.shared_flows", "that met others on a link",
     [](const Report& r) { return double(r.shared_flows); }},
};

}  // namespace

std::span<const Named<Figure>> figure_table() { return kFigures; }

}  // namespace rehearse
