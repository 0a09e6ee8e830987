#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/text.hpp"
#include "sim/cli/best.hpp"

namespace rehearse {

namespace {

constexpr size_t kFrontShown = 30;

std::string settings_text(const std::vector<std::string>& settings) {
  std::string text;
  for (const auto& setting : settings) text += (text.empty() ? "" : " ") + setting;
  return printable(text);
}

std::string counts_text(const BestAnswer& a, const Study& study) {
  std::string text = fmt::format("{}: {} points, of {}\n", printable(study.name), a.points, a.store);
  const auto row = [&](size_t count, const std::string& what) {
    if (count > 0) text += fmt::format("{:>8} {}\n", count, what);
  };
  std::string codes;
  for (const auto& [code, count] : a.rejected_by_code)
    codes += fmt::format("{}{} {}", codes.empty() ? ": " : ", ", count, code);
  row(a.simulated.size(), "simulated");
  if (a.memory)
    row(a.over_memory, fmt::format("simulated, and need more than {:.4g} GiB", *a.memory / kGibi));
  row(a.unfit, "unfit: need more memory than there is");
  row(a.rejected, "rejected" + codes);
  row(a.missing, "missing from the store, or failed; to price them: " + a.sweep_command);
  return text;
}

std::string figures_text(const Candidate& c, const BestAnswer& a) {
  std::string text = fmt::format("{:>9.4f} s {:>8.1f} {:>5.1f} % {:>6.2f} GiB {:>6}", c.step_time_s,
                                 c.tokens_per_s_per_gpu, 100 * c.mfu, c.peak_bytes / kGibi, c.gpus);
  const Expense e = expense_of(c, a.rates);
  if (a.rates.dollars_per_gpu_hour > 0)
    text += fmt::format(" {:>9.4g} {:>9.5g}", e.dollars_per_step, e.dollars_per_1e9_tokens);
  if (a.rates.watts_per_gpu > 0)
    text += fmt::format(" {:>9.4g} {:>9.4g}", e.joules_per_step / 3.6e6, e.joules_per_1e9_tokens / 3.6e6);
  return text;
}

std::string heading(const BestAnswer& a) {
  std::string text =
      fmt::format("{:>11} {:>8} {:>7} {:>10} {:>6}", "step", "tok/s/GPU", "MFU", "peak", "GPUs");
  if (a.rates.dollars_per_gpu_hour > 0) text += fmt::format(" {:>9} {:>9}", "$/step", "$/1e9 tok");
  if (a.rates.watts_per_gpu > 0) text += fmt::format(" {:>9} {:>9}", "kWh/step", "kWh/1e9 t");
  return text;
}

// Settings of one that differ from the other's; both are of one study.
std::string differing(const Point& point, const Point& other) {
  std::string text;
  for (size_t i = 0; i < point.settings.size() && i < other.settings.size(); ++i) {
    if (point.settings[i] == other.settings[i]) continue;
    const std::string& theirs = other.settings[i];
    text += fmt::format("{}{} (not {})", text.empty() ? "" : ", ", point.settings[i],
                        theirs.substr(theirs.find('=') + 1));
  }
  return printable(text);
}

std::string lead_text(const BestAnswer& a, size_t at, const Study& study) {
  const Candidate &c = a.simulated[at], &next = a.simulated[at + 1];
  const double ours = goal_value(c, a.goal, a.rates), theirs = goal_value(next, a.goal, a.rates);
  const std::string beats =
      ours == theirs
          ? fmt::format("level with {}{}", at + 2, c.peak_bytes < next.peak_bytes ? ", in less memory" : "")
          : fmt::format("beats {} by {:.2f} %: {}", at + 2, 100 * (theirs / ours - 1),
                        reason_text(reason_of(c, next, a.goal)));
  return fmt::format("      {}\n      with {}\n", beats,
                     differing(study.points[c.index], study.points[next.index]));
}

std::string top_text(const BestAnswer& a, const Study& study) {
  std::string text = fmt::format("\nbest by {}\n rank{}\n", name_of(kGoals, a.goal), heading(a));
  const double best = goal_value(a.simulated.front(), a.goal, a.rates);
  for (size_t i = 0; i < std::min(a.top, a.simulated.size()); ++i) {
    const Candidate& c = a.simulated[i];
    const bool near = a.error && i > 0 && within_error(goal_value(c, a.goal, a.rates), best, *a.error);
    text += fmt::format("{:>5}{}  {}{}\n", i + 1, figures_text(c, a),
                        settings_text(study.points[c.index].settings),
                        near ? "  (cannot be told apart from 1)" : "");
    if (i + 1 < a.simulated.size()) text += lead_text(a, i, study);
  }
  if (a.goal == Goal::step_time && !same_tokens(a.simulated))
    text += "points differ in tokens a step: tokens_per_s_per_gpu compares them\n";
  return text;
}

std::string error_text(const BestAnswer& a) {
  if (!a.error)
    return "\nerror of the model: not known here, so no lead is sure; --score FILE or --error PERCENT says "
           "it\n";
  std::string text =
      fmt::format("\nerror of the model: {:.2f} % ({})\n", 100 * a.error->fraction, a.error->source);
  if (a.simulated.size() < 2) return text;
  const double lead =
      goal_value(a.simulated[1], a.goal, a.rates) / goal_value(a.simulated[0], a.goal, a.rates) - 1;
  if (a.alike == 1)
    return text + fmt::format("the lead of 1 is {:.2f} %, more than that: it is the best\n", 100 * lead);
  return text + fmt::format(
                    "the lead of 1 is {:.2f} %, less than that: 1 to {} of {} points lie within it and "
                    "cannot be told apart\n",
                    100 * lead, a.alike, a.simulated.size());
}

std::string front_text(const BestAnswer& a, const Study& study) {
  std::string text =
      fmt::format("\nPareto front: {} points that no other beats in {}, memory, GPUs{}{}\n rank{}\n",
                  a.front.size(), same_tokens(a.simulated) ? "step time" : "time a token",
                  a.rates.dollars_per_gpu_hour > 0 ? ", cost" : "",
                  a.rates.watts_per_gpu > 0 ? ", energy" : "", heading(a));
  for (size_t i = 0; i < std::min(kFrontShown, a.front.size()); ++i) {
    const Candidate& c = a.simulated[a.front[i]];
    text += fmt::format("{:>5}{}  {}\n", a.front[i] + 1, figures_text(c, a),
                        settings_text(study.points[c.index].settings));
  }
  if (a.front.size() > kFrontShown)
    text += fmt::format("      and {} more; --json has them all\n", a.front.size() - kFrontShown);
  return text;
}

std::string placed_text(const BestAnswer& a, const PlacedLayout& p) {
  const std::string name = "  " + printable(p.label) + ": ";
  if (p.outcome.verdict == Verdict::unfit)
    return name + fmt::format("does not fit: needs {:.1f} of {:.1f} GiB\n",
                              figure_of(p.outcome, "memory.peak_bytes") / kGibi,
                              figure_of(p.outcome, "memory.capacity_bytes") / kGibi);
  if (!p.candidate)
    return name + fmt::format("rejected: {} [{}]\n", printable(p.outcome.message), p.outcome.code);
  std::string text =
      name + fmt::format("rank {} of {}", p.rank, a.simulated.size()) + figures_text(*p.candidate, a);
  if (a.memory && p.candidate->peak_bytes > *a.memory) text += "  (needs more than --memory)";
  text += '\n';
  if (a.simulated.empty()) return text;
  const Candidate& best = a.simulated.front();
  const double more = goal_value(*p.candidate, a.goal, a.rates) / goal_value(best, a.goal, a.rates) - 1;
  return text + fmt::format("      {:+.2f} % to the best: {}\n", 100 * more,
                            reason_text(reason_of(*p.candidate, best, a.goal)));
}

}  // namespace

std::string best_table(const BestAnswer& a, const Study& study) {
  std::string text = counts_text(a, study);
  if (a.simulated.empty()) {
    text += a.over_memory > 0 ? "\nno simulated point is within the memory, so none is best\n"
                              : "\nno point was simulated, so none is best\n";
  } else {
    text += top_text(a, study) + error_text(a) + front_text(a, study);
  }
  text += "\nwhere named layouts stand\n";
  for (const auto& placed : a.placed) text += placed_text(a, placed);
  if (!a.simulated.empty()) text += "\nto run the best: --yaml FILE, then rehearse run FILE\n";
  return text;
}

}  // namespace rehearse
