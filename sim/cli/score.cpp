// rehearse score: predictions against a file of measured steps.
#include "sim/study/score.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "sim/cli/commands.hpp"
#include "sim/cli/simulate.hpp"
#include "sim/study/truth.hpp"

namespace rehearse {

namespace {

ScoredRow predict(const TruthRow& row, const StepOptions& options) {
  ScoredRow scored{.id = row.id,
                   .family = row.family,
                   .sweep = row.sweep,
                   .measured_s = row.measured_s,
                   .skipped = row.skipped,
                   .refused = row.refused};
  if (!row.scenario) return scored;
  try {
    const Step step = simulate(resolve(*row.scenario), options);
    scored.predicted_s = step.report.step_time_s;
    scored.fits = step.report.memory.fits;
  } catch (const InputErrors& e) {
    scored.skipped = e.errors.front().code + ": " + e.errors.front().message;
  }
  return scored;
}

}  // namespace

int command_score(const Invocation& invocation, std::ostream& out) {
  CommonOptions common;
  EngineOptions engine;
  boost::program_options::options_description extra;
  add_engine_options(extra, engine);
  const CommandHelp help{
      "score", "TRUTH",
      "Predicts every step of a file of measured steps that can be expressed, and says how far off."};
  if (!parse_words(invocation, help, extra, common, out)) return kDone;
  if (!common.sets.empty())
    refuse("score takes no --set: each row is a scenario of its own", "vary one with rehearse run");
  const auto [truth, errors] = load_truth(common.input, invocation.roots);
  if (std::all_of(truth.begin(), truth.end(), [](const TruthRow& row) { return row.refused; }) &&
      !errors.empty())
    throw InputErrors(errors);
  std::cerr << InputErrors::format(errors);
  const bool progress = !common.quiet && isatty(STDERR_FILENO) == 1;
  const StepOptions options = step_options(engine);
  std::vector<ScoredRow> rows;
  int tier_c = 0, other_kind = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    if (progress) std::cerr << fmt::format("\r{} of {} rows ", i + 1, truth.size());
    const bool refused = truth[i].refused;
    if (!refused && truth[i].kind != "iteration")
      ++other_kind;
    else if (!refused && truth[i].tier != "A" && truth[i].tier != "B")
      ++tier_c;
    else
      rows.push_back(predict(truth[i], options));
  }
  if (progress) std::cerr << "\r\x1b[K";
  const Score score = score_rows(std::move(rows), tier_c, other_kind);
  emit(common, to_table(score), to_json(score), out);
  if (!errors.empty()) return kBadInput;
  return score.any() ? kDone : kVerdictFails;
}

}  // namespace rehearse
