// rehearse best: what the points of a study that a sweep has priced say.
#include "sim/cli/best.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>

#include "sim/base/file.hpp"
#include "sim/base/text.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/simulate.hpp"
#include "sim/cli/sweep.hpp"
#include "sim/cli/variant.hpp"
#include "sim/study/scenario_text.hpp"

namespace rehearse {

namespace {

struct BestOptions {
  CommonOptions common;
  std::string store, top = "5", by = "step_time_s", memory, yaml, engine = "simgrid", error, score, family;
  std::vector<std::string> ranks;
};

bool read_options(const Invocation& invocation, BestOptions& options, std::ostream& out) {
  namespace po = boost::program_options;
  po::options_description extra("best");
  extra.add_options()("store", po::value(&options.store)->value_name("FILE"),
                      "results of rehearse sweep; default: the study's name and .sqlite")(
      "top", po::value(&options.top)->value_name("K"), "how many of the best (default 5)")(
      "by", po::value(&options.by)->value_name("GOAL"),
      "step_time_s (default), tokens_per_s_per_gpu, cost or energy (for 1e9 tokens)")(
      "memory", po::value(&options.memory)->value_name("BYTES"),
      "only points that need no more a GPU, as in 72GiB")(
      "rank", po::value(&options.ranks)->value_name("SETTINGS"),
      "where the base varied by 'KEY=VALUE; KEY=VALUE' stands (repeatable)")(
      "error", po::value(&options.error)->value_name("PERCENT"), "known error of the predictions, as in 8.5")(
      "score", po::value(&options.score)->value_name("FILE"),
      "the same out of a score --json: the mean of its families")(
      "family", po::value(&options.family)->value_name("NAME"), "or that of one of them")(
      "yaml", po::value(&options.yaml)->value_name("FILE|-"),
      "write the best as a scenario; - replaces the table")(
      "engine", po::value(&options.engine)->value_name("NAME"), "that the sweep ran with (default simgrid)");
  const CommandHelp help{"best", "STUDY", "Says which points of a study are best, why, and how surely."};
  if (!parse_words(invocation, help, extra, options.common, out)) return false;
  if (!options.error.empty() && !options.score.empty())
    refuse("--error and --score both say how large the error is", "give one of them");
  if (!options.family.empty() && options.score.empty()) refuse("--family needs --score FILE", "");
  return true;
}

std::optional<KnownError> read_error(const BestOptions& options) {
  if (!options.score.empty())
    return read_known_error(options.score, read_file(options.score), options.family);
  if (options.error.empty()) return {};
  std::string_view text = options.error;
  if (text.ends_with('%')) text.remove_suffix(1);
  const auto percent = parse_number(text);
  if (!percent.value || *percent.value < 0)
    refuse("--error " + quote(options.error) + " is no percentage", "as in --error 8.5");
  return KnownError{*percent.value / 100, "--error"};
}

// Answers all that is on the command line; `options` is checked before anything is read.
BestAnswer read_wishes(const BestOptions& options) {
  BestAnswer answer;
  const auto* goal = find_named(kGoals, options.by);
  if (!goal) refuse("--by " + quote(options.by) + " is no goal", suggest(options.by, names_in(kGoals)));
  answer.goal = goal->value;
  const auto top = parse_int(options.top);
  if (!top.value || *top.value < 1 || *top.value > 1'000'000)
    refuse("--top " + quote(options.top) + " is no number from 1 to 1000000", "");
  answer.top = size_t(*top.value);
  if (!options.memory.empty()) {
    const auto memory = parse_quantity(options.memory, Dimension::bytes);
    if (!memory.value || *memory.value <= 0)
      refuse("--memory " + quote(options.memory) + " is no size", "as in --memory 72GiB");
    answer.memory = *memory.value;
  }
  answer.error = read_error(options);
  return answer;
}

void check_rates(const BestAnswer& answer) {
  if (answer.goal == Goal::cost && answer.rates.dollars_per_gpu_hour == 0)
    refuse("--by cost needs what an hour of a GPU costs", "give prices: {gpu_hour: DOLLARS} in the study");
  if (answer.goal == Goal::energy && answer.rates.watts_per_gpu == 0)
    refuse("--by energy needs what a GPU draws", "give prices: {watts: W} in the study");
}

void count(BestAnswer& answer, size_t index, const Outcome* outcome) {
  ++answer.points;
  if (!outcome) {
    ++answer.missing;
  } else if (outcome->verdict == Verdict::unfit) {
    ++answer.unfit;
  } else if (const auto candidate = candidate_of(index, *outcome)) {
    const bool over = answer.memory && candidate->peak_bytes > *answer.memory;
    if (over)
      ++answer.over_memory;
    else
      answer.simulated.push_back(*candidate);
  } else {
    ++answer.rejected;
    ++answer.rejected_by_code[outcome->code];
  }
}

void read_points(BestAnswer& answer, const Study& study, Pricer& pricer) {
  const auto known = Store(answer.store, Store::Mode::read).outcomes();
  for (size_t i = 0; i < study.points.size(); ++i) {
    const auto at = known.find(pricer.digest(study.points[i]));
    count(answer, i, at == known.end() ? nullptr : &at->second);
  }
}

void rank(BestAnswer& answer) {
  sort_by_goal(answer.simulated, answer.goal, answer.rates);
  answer.front = pareto_front(answer.simulated, answer.rates);
  if (!answer.error || answer.simulated.empty()) return;
  const double best = goal_value(answer.simulated.front(), answer.goal, answer.rates);
  for (const auto& c : answer.simulated)
    answer.alike += within_error(goal_value(c, answer.goal, answer.rates), best, *answer.error) ? 1 : 0;
}

void place(BestAnswer& answer, Pricer& pricer, std::string label, std::vector<std::string> settings) {
  PlacedLayout placed{std::move(label), std::move(settings), {}, {}, 0};
  placed.outcome = pricer.price({placed.settings});
  placed.candidate = candidate_of(0, placed.outcome);
  if (placed.candidate)
    placed.rank = rank_among(answer.simulated, *placed.candidate, answer.goal, answer.rates);
  answer.placed.push_back(std::move(placed));
}

std::string word(const std::string& text) {  // of a shell
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  const bool plain = text.find_first_not_of(
                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                         "_./-=:+,") == std::string::npos;
  return plain && !text.empty() ? text : quoted + "'";
}

std::string sweep_command(const BestOptions& options, const std::string& store) {
  std::string text = "rehearse sweep " + word(options.common.input) + " --store " + word(store);
  for (const auto& set : options.common.sets) text += " --set " + word(set);
  if (options.engine != "simgrid") text += " --engine " + options.engine;
  return text;
}

std::string winner_yaml(const BestAnswer& answer, const Study& study, const DataRoots& roots) {
  if (answer.simulated.empty()) return "";
  const Candidate& best = answer.simulated.front();
  auto sets = study.sets;
  const auto& settings = study.points[best.index].settings;
  sets.insert(sets.end(), settings.begin(), settings.end());
  return fmt::format("# The best of {} points of {} by {}; its step takes {} s.\n", answer.simulated.size(),
                     printable(study.name), name_of(kGoals, answer.goal), best.step_time_s) +
         scenario_text(study.base, sets, printable(study.name) + "-best", roots);
}

}  // namespace

int command_best(const Invocation& invocation, std::ostream& out) {
  BestOptions options;
  if (!read_options(invocation, options, out)) return kDone;
  BestAnswer answer = read_wishes(options);
  const auto engine = engine_row(options.engine);
  std::vector<Variant> variants;
  for (const auto& text : options.ranks) variants.push_back(read_variant("--rank", text));
  const std::string input = resolve_scenario(options.common.input, invocation.roots);
  const Study study = read_study(input, options.common.sets, invocation.roots);
  answer.rates = {study.dollars_per_gpu_hour, study.watts_per_gpu};
  check_rates(answer);
  answer.store = options.store.empty() ? default_store(study) : options.store;
  claim_outputs({{"--yaml", options.yaml}, {"--json", options.common.json}});
  answer.sweep_command = sweep_command(options, answer.store);
  Pricer pricer(study, invocation.roots, engine);
  read_points(answer, study, pricer);
  rank(answer);
  place(answer, pricer, "base", {});
  for (const auto& variant : variants) place(answer, pricer, variant.text, variant.sets);
  answer.yaml = winner_yaml(answer, study, invocation.roots);
  if (!options.yaml.empty() && !answer.yaml.empty()) write_output(options.yaml, answer.yaml, out);
  if (!options.common.json.empty()) write_output(options.common.json, best_json(answer, study), out);
  if (options.yaml != "-" && options.common.json != "-") out << best_table(answer, study);
  return answer.simulated.empty() ? kVerdictFails : kDone;
}

}  // namespace rehearse
