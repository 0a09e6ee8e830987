#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/account/constants.hpp"
#include "sim/account/names.hpp"
#include "sim/plan/model_math.hpp"
#include "sim/view/text.hpp"

namespace rehearse {

namespace {

std::string heading(std::string_view text, TableStyle style) {
  return style.colour ? fmt::format("\n\x1b[1m{}\x1b[0m\n", text) : fmt::format("\n{}\n", text);
}

std::string bar(double fraction, TableStyle style) {
  constexpr int width = 30;
  const double cells = std::clamp(fraction, 0.0, 1.0) * width;
  std::string text;
  for (int i = 0; i < int(std::lround(cells)); ++i) text += style.unicode ? "█" : "#";
  return text;
}

std::string seconds(double s) {
  if (s != 0 && std::abs(s) < 1e-3) return fmt::format("{:.3f} us", s * 1e6);
  if (s != 0 && std::abs(s) < 1) return fmt::format("{:.3f} ms", s * 1e3);
  return fmt::format("{:.3f} s", s);
}

std::string bytes(double b) {
  constexpr const char* units[] = {"B", "kB", "MB", "GB", "TB"};
  int unit = 0;
  while (std::abs(b) >= 1000 && unit < 4) b /= 1000, ++unit;
  return unit == 0 ? fmt::format("{:.0f} B", b) : fmt::format("{:.4g} {}", b, units[unit]);
}

std::string gib(double b) { return fmt::format("{:.2f}", b / kGibi); }

std::string precision_text(const Precision& p) {
  return fmt::format("{} compute, {} weights, {} gradients, {} optimizer", dtype_name(p.compute),
                     dtype_name(p.params), dtype_name(p.grads), dtype_name(p.optimizer));
}

std::string recompute_text(const Recompute& r) {
  if (r.full_layers >= 0) return fmt::format("full of the first {} layers", r.full_layers);
  return r.kind == RecomputeKind::none ? "none" : r.kind == RecomputeKind::selective ? "selective" : "full";
}

// Before any speed, which nobody will see.
std::string verdict_text(const Report& r) {
  const MemoryReport& m = r.memory;
  if (m.fits) return "";
  return fmt::format("DOES NOT FIT: peak {} GiB of {} GiB; the step is that of a device with more memory\n\n",
                     gib(m.peak_bytes), gib(m.capacity_bytes));
}

std::string header(const Report& r, const Scenario& s) {
  const auto& l = s.layout;
  std::string order;
  for (Axis a : l.order) order += (order.empty() ? "" : "-") + std::string(axis_name(a));
  std::string text = fmt::format(
      "{}: {} ({:.4g} B parameters) on {} x {}\n", r.name, s.model.name.empty() ? "model" : s.model.name,
      total_parameters(s.model, padded_vocab(s.model, l.tp)) / 1e9, r.ranks, s.profile->name);
  text += fmt::format("TP {} x PP {} x DP {} ({} from inside out), {} chunk{} a rank, {}{}{}\n", l.tp, l.pp,
                      l.dp, order, l.chunks, l.chunks == 1 ? "" : "s", s.schedule,
                      l.sequence_parallel ? ", sequence parallel" : "",
                      l.zero ? fmt::format(", ZeRO-{}", l.zero) : "");
  text += fmt::format("{} sequences of {}, micro-batch {}, {} micro-batches a replica; recompute {}; {}\n",
                      s.batch.global, s.batch.sequence, s.batch.micro, s.micro_batches(),
                      recompute_text(s.recompute), precision_text(s.precision));
  return text;
}

std::string speed_text(const Report& r) {
  return fmt::format(
      "\nstep {}   {:.0f} tokens/s   {:.1f} tokens/s/GPU   {:.1f} TFLOP/s/GPU   MFU {:.1f} %   HFU {:.1f} "
      "%\n",
      seconds(r.step_time_s), r.tokens_per_s, r.tokens_per_s_per_gpu, r.model_tflops_per_gpu, 100 * r.mfu,
      100 * r.hfu);
}

// "  rests on: 61.2 % measured, 12.0 % fitted, 18.2 % guess, 8.6 % bubble; 2.1 % read far from what was
// measured".
std::string rests_on_text(const Report& r, double step) {
  constexpr double kShown = 5e-4;
  std::string text;
  const auto add = [&](double seconds, std::string_view what) {
    if (seconds >= kShown * step)
      text += fmt::format("{}{:.1f} % {}", text.empty() ? "" : ", ", 100 * seconds / step, what);
  };
  for (const auto& basis : kBasisNames) add(r.rests_on.by_basis[size_t(basis.value)], basis.name);
  add(r.account[size_t(Part::bubble)], "bubble");
  if (r.rests_on.outside >= kShown * step)
    text += fmt::format("; {:.1f} % read far from what was measured", 100 * r.rests_on.outside / step);
  return "  rests on: " + text + "\n";
}

std::string account_text(const Report& r, TableStyle style) {
  std::string text = heading("where the step goes (mean over ranks)", style);
  const double step = r.step_time_s > 0 ? r.step_time_s : 1;
  for (int part = 0; part < kParts; ++part)
    if (r.account[part] != 0)
      text += fmt::format("  {:<11} {:>12} {:>6.2f} %  {}\n", kPartNames[part], seconds(r.account[part]),
                          100 * r.account[part] / step, bar(r.account[part] / step, style));
  text += fmt::format("  {:<11} {:>12} {:>6.2f} %\n", "total", seconds(r.step_time_s), 100.0);
  return text + rests_on_text(r, step);
}

std::string pipeline_text(const PipelineFigures& p) {
  std::string live;
  for (int n : p.peak_live) live += (live.empty() ? "" : " ") + std::to_string(n);
  std::string text = fmt::format(
      "\npipeline: {} from first F to last B, idle share {:.2f} %, idle/ideal {:.4f}, live chunks by stage "
      "{}\n",
      seconds(p.makespan_s), 100 * p.bubble_fraction, p.idle_over_ideal, live);
  if (!p.note.empty()) text += fmt::format("  schedule: {}\n", p.note);
  return text;
}

std::string memory_text(const MemoryReport& m, TableStyle style) {
  std::string text = heading("memory at each stage's peak, GiB a rank", style);
  text +=
      fmt::format("  {:>5} {:>9} {:>9} {:>9} {:>9} {:>11} {:>8} {:>8} {:>9}  {}\n", "stage", "peak",
                  "weights", "gradients", "optimizer", "activations", "logits", "buffers", "framework", "at");
  for (const auto& s : m.stages) {
    const auto& p = s.peak;
    text +=
        fmt::format("  {:>5} {:>9} {:>9} {:>9} {:>9} {:>11} {:>8} {:>8} {:>9}  {}\n", s.stage.value,
                    gib(p.total()), gib(p.weights), gib(p.gradients), gib(p.optimizer), gib(p.activations),
                    gib(p.logits), gib(p.buffers), gib(p.framework), seconds(s.peak_time_s));
  }
  return text + fmt::format("  {}: peak {} GiB of {} GiB\n", m.fits ? "fits" : "DOES NOT FIT",
                            gib(m.peak_bytes), gib(m.capacity_bytes));
}

// "ring simple, ring ll": the ways of a row's calls, most calls first.
std::string runs_as(const LedgerRow& row) {
  std::string text;
  for (const CallsAlike& w : row.runs_as) {
    const std::string way = fmt::format("{} {}", name_of(w.algorithm), name_of(w.protocol));
    if (text.find(way) == std::string::npos) text += (text.empty() ? "" : ", ") + way;
  }
  return text;
}

std::string ledger_text(const std::vector<LedgerRow>& rows, TableStyle style) {
  std::string text = heading("traffic a rank and step, simulated beside closed form", style);
  text += fmt::format("  {:<4} {:<20} {:<14} {:>5} {:>6} {:>8} {:>10} {:>10} {:>11} {:>11} {:>7}  {}\n",
                      "axis", "what", "collective", "group", "ranks", "calls", "a call", "sent",
                      "closed form", "exposed", "memory", "runs as");
  for (const auto& r : rows)
    text +=
        fmt::format("  {:<4} {:<20} {:<14} {:>5} {:>6} {:>8.5g} {:>10} {:>10} {:>11} {:>11} {:>7.4f}  {}\n",
                    axis_name(r.axis), r.what, collective_name(r.collective), r.group_size, r.ranks,
                    r.calls_per_step, bytes(r.bytes_per_call), bytes(r.bytes_sent_per_rank),
                    bytes(r.closed_form_bytes_per_rank), seconds(r.exposed_s), r.memory_factor, runs_as(r));
  return text;
}

// Overlap costs what it slows: a step may grow by more than it hides.
std::string slowed_text(const CriticalStep& step) {
  if (step.slowed_s < 1e-3 * step.seconds) return "";
  return fmt::format(", {} of it slowed by what runs beside", seconds(step.slowed_s));
}

std::string critical_text(const Report& r, TableStyle style) {
  std::string text = heading("critical path", style);
  constexpr size_t most = 12;
  for (size_t i = 0; i < std::min(most, r.critical.size()); ++i)
    text += fmt::format("  {:>12} {:>6.2f} %  {} x{}{}\n", seconds(r.critical[i].seconds),
                        r.step_time_s > 0 ? 100 * r.critical[i].seconds / r.step_time_s : 0,
                        r.critical[i].what, r.critical[i].count, slowed_text(r.critical[i]));
  if (r.critical.size() > most) {
    double rest = 0;
    for (size_t i = most; i < r.critical.size(); ++i) rest += r.critical[i].seconds;
    text += fmt::format("  {:>12} {:>6.2f} %  {} more\n", seconds(rest),
                        r.step_time_s > 0 ? 100 * rest / r.step_time_s : 0, r.critical.size() - most);
  }
  return text;
}

std::string links_text(const Report& r, TableStyle style) {
  if (r.link_classes.empty()) return "";
  std::string text = heading("links: bytes of a step; GB/s that traffic can use", style);
  text += fmt::format("  {:<18} {:>7} {:>7} {:>10} {:>10} {:>10} {:>7} {:>7} {:>7}\n", "class", "links",
                      "used", "GB/s", "mean", "largest", "busy", "mean", "peak");
  for (const auto& c : r.link_classes)
    text += fmt::format("  {:<18} {:>7} {:>7} {:>10.4g} {:>10} {:>10} {:>5.1f} % {:>5.1f} % {:>7}\n",
                        c.link_class, c.links, c.used, c.capacity_bytes_per_s / 1e9, bytes(c.mean_bytes),
                        bytes(c.largest_bytes), 100 * c.busy_share, 100 * c.mean_share,
                        c.peak_share ? fmt::format("{:.1f} %", 100 * *c.peak_share) : "-");
  text += "  busy: with any traffic; shares of the GB/s: mean of the step, peak of its fullest hundredth\n";
  for (const auto& l : r.most_loaded) {
    text += fmt::format("  {} ({} alike) {:.1f} %:", l.link, l.links, 100 * l.mean_share);
    for (const auto& t : l.traffic)
      text += fmt::format(" {} {} of {} ranks {}{}", axis_name(t.axis), t.what, t.group_size, bytes(t.bytes),
                          &t == &l.traffic.back() ? "" : ",");
    text += "\n";
  }
  return text;
}

std::string engine_text(const Report& r) {
  std::string text = fmt::format("\nengine {}: {} of {} ranks simulated, {} tasks, {} events, {} flows",
                                 r.engine, r.simulated_ranks, r.ranks, r.tasks, r.events, r.flows);
  if (r.wall_s > 0) text += fmt::format(", {}", seconds(r.wall_s));
  text += "\n";
  if (!r.fold_note.empty()) text += fmt::format("folding: {}\n", r.fold_note);
  return text;
}

std::string doubts_text(const Report& r, const Scenario& s) {
  std::string guesses;
  for (const auto& c : constants_of(s))
    if (c.basis == Basis::guess) guesses += (guesses.empty() ? "" : ", ") + c.name;
  std::string text =
      fmt::format("profile {}{}, stack {}\n", s.profile->name,
                  s.profile->digest.empty() ? "" : " (" + s.profile->digest + ")", s.stack.name);
  if (!guesses.empty()) text += fmt::format("guessed: {}\n", guesses);
  for (const auto& w : r.warnings) text += fmt::format("warning: {} [{}]\n", w.message, w.code);
  return text;
}

}  // namespace

std::string to_table(const Report& r, const Scenario& s, TableStyle style) {
  return verdict_text(r) + header(r, s) + speed_text(r) + account_text(r, style) + pipeline_text(r.pipeline) +
         memory_text(r.memory, style) + ledger_text(r.ledger, style) + critical_text(r, style) +
         links_text(r, style) + engine_text(r) + doubts_text(r, s);
}

std::string to_ledger_table(const Report& r, const Scenario& s, const std::vector<Saying>& list,
                            TableStyle style) {
  std::string text = header(r, s);
  text += fmt::format("{:.3g} bytes of model state a parameter when nothing is sharded\n",
                      bytes_per_parameter(s));
  text += ledger_text(r.ledger, style) + heading("sayings", style);
  for (const auto& x : list)
    text +=
        fmt::format("  {:<8} {}\n           {:.4g} {}: {}\n", x.verdict, x.saying, x.value, x.unit, x.why);
  return text;
}

}  // namespace rehearse
