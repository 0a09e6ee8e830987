#include "sim/account/sayings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/account/closed_forms.hpp"
#include "sim/cost/collective.hpp"
#include "sim/plan/memory.hpp"

namespace rehearse {

namespace {

std::string verdict(bool holds) { return holds ? "true" : "false"; }

// Narayanan et al. 2021, section 2.2: both take (m + p - 1)(F + B) while transfers are free.
Saying one_f_one_b_bubble(const Scenario& s, const OtherRuns& runs) {
  const double p = s.layout.pp, m = s.micro_batches();
  Saying said{"1F1B shrinks the bubble of GPipe", "false", 1, "step 1F1B / GPipe", ""};
  if (runs.gpipe_step_s && runs.one_f_one_b_step_s) {
    said.value = *runs.one_f_one_b_step_s / *runs.gpipe_step_s;
    said.verdict = verdict(said.value < 0.99);
    said.why = fmt::format(
        "both simulated: 1F1B {:.4g} s, GPipe {:.4g} s; idle over ideal is (p-1)/m = {:.4g} in both",
        *runs.one_f_one_b_step_s, *runs.gpipe_step_s, (p - 1) / m);
  } else {
    said.why =
        fmt::format("closed form: idle over ideal is (p-1)/m = {:.4g} in both; 1F1B bounds live activations",
                    (p - 1) / m);
  }
  return said;
}

Saying middle_stages(const MemoryReport& memory) {
  Saying said{"the middle stages hold most activations", "depends", 1, "first stage / fullest middle stage",
              ""};
  const auto& stages = memory.stages;
  if (stages.size() < 3) {
    said.why = "the pipeline has no middle stage";
    return said;
  }
  const auto live = [](const StageMemory& s) { return s.peak.activations; };
  double middle = 0;
  for (size_t i = 1; i + 1 < stages.size(); ++i) middle = std::max(middle, live(stages[i]));
  const double ends = std::max(live(stages.front()), live(stages.back()));
  if (!(middle > 0)) {
    said.why = "no activations are kept";
    return said;
  }
  said.verdict = verdict(middle > ends);
  said.value = live(stages.front()) / middle;
  said.why =
      fmt::format("activations at the peak, from the timeline: first {:.4g} GiB, middle {:.4g}, last {:.4g}",
                  live(stages.front()) / kGibi, middle / kGibi, live(stages.back()) / kGibi);
  return said;
}

// Live chunk activations of the first rank (Narayanan et al. 2021, section 2.2 and the interleaved warm-up).
Saying interleaving_memory(const Scenario& s) {
  const double p = s.layout.pp, m = s.micro_batches(), v = std::max(2, s.layout.chunks);
  const double interleaved = std::min(v * m, 2 * (p - 1) + (v - 1) * p + 1) / v;
  const double plain = std::min(m, p);
  Saying said{"interleaving saves activation memory", "false", interleaved / plain,
              "interleaved / 1F1B, first stage", ""};
  said.verdict = verdict(interleaved < plain);
  said.why =
      fmt::format("closed form: {:.4g} micro-batches of a stage live with {} chunks a rank, {:.4g} without",
                  interleaved, v, plain);
  return said;
}

Saying seven_billion(const Scenario& s) {
  const int gpus = s.cluster.gpus_per_node;
  constexpr double bytes = 28e9;
  CollectiveQuery query{.ranks = gpus, .per_node = gpus, .bytes = bytes, .in_node = s.cluster.nvlink};
  query.filter = s.stack.nccl;
  const CollectiveCost cost = collective_cost(*s.profile, query);
  Saying said{"the all-reduce of a 7B model's 28 GB of gradients takes seconds inside a node", "",
              cost.time.value, "s", ""};
  said.verdict = verdict(said.value >= 1);
  said.why = fmt::format("the profile's all-reduce of 28 GB over the {} GPUs of a node", gpus);
  return said;
}

double sent_on(const std::vector<LedgerRow>& rows, Axis axis, int ranks) {
  double bytes = 0;
  for (const auto& row : rows)
    if (row.axis == axis) bytes += row.bytes_sent_per_rank * row.ranks / ranks;
  return bytes;
}

Saying tp_is_small(const Report& report) {
  const double tp = sent_on(report.ledger, Axis::tp, report.ranks),
               dp = sent_on(report.ledger, Axis::dp, report.ranks),
               pp = sent_on(report.ledger, Axis::pp, report.ranks);
  Saying said{"TP traffic is small and only bound by latency", "depends", tp / 1e9, "GB sent a rank and step",
              ""};
  if (tp > 0) said.verdict = verdict(tp < dp || tp < pp);
  said.why = fmt::format("from the ledger, mean over all ranks: TP {:.4g} GB, DP {:.4g}, PP {:.4g}", tp / 1e9,
                         dp / 1e9, pp / 1e9);
  return said;
}

Saying overlap_hides(const Scenario& s, const Report& report) {
  double busy = 0, exposed = 0;
  for (const auto& row : report.ledger)
    if (row.axis == Axis::dp) busy += row.busy_s * row.ranks, exposed += row.exposed_s * row.ranks;
  Saying said{"overlap hides most of data parallelism", "depends", 0, "share of its time hidden", ""};
  if (!(busy > 0)) {
    said.why = "nothing is reduced over data-parallel ranks";
    return said;
  }
  said.value = std::clamp(1 - exposed / busy, 0.0, 1.0);
  said.verdict = verdict(said.value > 0.5);
  said.why = fmt::format(
      "from the timeline: {:.4g} s of DP collectives a rank, {:.4g} s of them exposed; only the backward "
      "of the last of {} micro-batches can hide them{}",
      busy / report.ranks, exposed / report.ranks, s.micro_batches(),
      s.overlap.grad_reduce ? "" : ", and overlap.grad_reduce is off");
  return said;
}

Saying sixteen_bytes(const Scenario& s) {
  Scenario whole = s;
  for (Axis axis : {Axis::tp, Axis::cp, Axis::pp, Axis::ep, Axis::dp}) whole = without_axis(whole, axis);
  const auto state = static_memory(whole, plan_chunks(whole), StageId(0));
  const double all = bytes_per_parameter(s),
               share = state.optimizer / (state.weights + state.gradients + state.optimizer);
  Saying said{"16 bytes a parameter are optimizer state", "", all * share, "bytes a parameter", ""};
  said.verdict = verdict(std::abs(said.value - 16) < 0.5);
  said.why = fmt::format(
      "{:.3g} of the {:.3g} bytes of model state a parameter, unsharded; the rest is weights and gradients",
      said.value, all);
  return said;
}

Saying tp_across_nodes(const OtherRuns& runs) {
  const double ratio = *runs.wide_tp_step_s / *runs.node_tp_step_s;
  return {"TP across nodes swallows its gain", verdict(ratio > 1), ratio,
          "step, TP over two nodes / inside one",
          fmt::format("both simulated on the same GPUs: {:.4g} s against {:.4g} s", *runs.wide_tp_step_s,
                      *runs.node_tp_step_s)};
}

Saying order_of_axes(const OtherRuns& runs) {
  const auto& orders = runs.step_s_by_order;
  const auto faster = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto best = std::min_element(orders.begin(), orders.end(), faster);
  const auto book =
      std::find_if(orders.begin(), orders.end(), [](const auto& o) { return o.first == "tp-pp-dp"; });
  Saying said{"TP, then PP, then DP from inside out is the right order", "depends", 1,
              "its step / the best order's", ""};
  for (const auto& [order, step_s] : orders)
    said.why += fmt::format("{}{} {:.4g} s", said.why.empty() ? "" : ", ", order, step_s);
  said.why = "simulated: " + said.why;
  if (book == orders.end()) return said;
  said.value = book->second / best->second;
  said.verdict = verdict(said.value < 1.001);
  return said;
}

Saying cuts_multiply(const Scenario& s) {
  const Scenario no_tp = without_axis(s, Axis::tp), no_pp = without_axis(s, Axis::pp),
                 neither = without_axis(no_tp, Axis::pp);
  const double whole = model_state_bytes(neither), tp = model_state_bytes(no_pp) / whole,
               pp = model_state_bytes(no_tp) / whole, both = model_state_bytes(s) / whole;
  Saying said{"the three cuts multiply in memory", "", both / (tp * pp), "all / (TP alone x PP alone)", ""};
  said.verdict = verdict(std::abs(said.value - 1) < 0.1);
  said.why = fmt::format(
      "model state of a rank: DP alone {:.4g} GB, DP+TP x {:.4g}, DP+PP x {:.4g}, all x {:.4g}; DP itself "
      "saves {}",
      whole / 1e9, tp, pp, both, s.layout.zero ? "what ZeRO shards" : "nothing");
  return said;
}

}  // namespace

std::vector<Saying> sayings(const Scenario& scenario, const Report& report, const OtherRuns& runs) {
  std::vector<Saying> list{one_f_one_b_bubble(scenario, runs),
                           middle_stages(report.memory),
                           interleaving_memory(scenario),
                           seven_billion(scenario),
                           tp_is_small(report),
                           overlap_hides(scenario, report),
                           sixteen_bytes(scenario),
                           cuts_multiply(scenario)};
  if (runs.wide_tp_step_s && runs.node_tp_step_s) list.push_back(tp_across_nodes(runs));
  if (!runs.step_s_by_order.empty()) list.push_back(order_of_axes(runs));
  return list;
}

}  // namespace rehearse
