// rehearse-calibrate verify: the simulated step executed for real, side by side.
#include "calibration/verify/verify.hpp"

#include <boost/program_options.hpp>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "calibration/cli/commands.hpp"
#include "calibration/cli/devices.hpp"
#include "calibration/cli/launch.hpp"
#include "sim/base/file.hpp"
#include "sim/io/scenario.hpp"
#include "sim/plan/layout.hpp"
#include "sim/step/step.hpp"

namespace rehearse::calibration {

namespace po = boost::program_options;

namespace {

struct VerifyOptions {
  std::string backend = "host", json;
  std::vector<std::string> sets;
  Runs runs;
  double within = HUGE_VAL;  // %
};

po::options_description described(VerifyOptions& o) {
  po::options_description options;
  options.add_options()  //
      ("backend", po::value(&o.backend)->value_name("host|cuda"), "what runs the calls (default host)")(
          "set", po::value(&o.sets)->value_name("KEY.PATH=VALUE"), "vary the scenario (repeatable)")(
          "runs", po::value(&o.runs.measured), "measured steps (default 7)")(
          "warmups", po::value(&o.runs.warmups), "steps before them (default 2)")(
          "within", po::value(&o.within)->value_name("PERCENT"), "exit 1 where the step's error is larger")(
          "json", po::value(&o.json)->value_name("FILE|-"), "write JSON; - replaces the table");
  return options;
}

void refuse_job(const std::string& message, const std::string& hint) {
  throw InputErrors(InputError{{}, "", "E-VERIFY", message, hint});
}

void check_job(const Scenario& scenario, const Ranks& ranks, const VerifyOptions& options) {
  const int needed = ParallelLayout(scenario.layout).ranks();
  if (needed != ranks.size())
    refuse_job(
        "the layout has " + std::to_string(needed) + " ranks, and this job " + std::to_string(ranks.size()),
        "mpirun -n " + std::to_string(needed) + " rehearse-calibrate verify ...");
  if (options.runs.measured < 1 || options.runs.warmups < 0 || !(options.within > 0))
    refuse_job("--runs must be at least 1, --warmups at least 0, --within more than 0", "");
}

// What rank 0 is told by the simulator; the times of tasks on all ranks.
Simulated shared(Ranks& ranks, const std::string& program, const std::string& scenario,
                 const std::vector<std::string>& sets, size_t tasks) {
  Simulated simulated;
  std::string trouble;
  if (ranks.rank() == 0) try {
      simulated = simulate_in_child(program, scenario, sets);
      if (simulated.start.size() != tasks) trouble = "the simulator has other tasks: its version differs";
    } catch (const std::exception& e) {
      trouble = e.what();
    }
  if (ranks.any(!trouble.empty())) refuse_job(ranks.broadcast(trouble, 0), "");
  for (auto* times : {&simulated.start, &simulated.end}) {
    const std::string bytes =
        ranks.broadcast({reinterpret_cast<const char*>(times->data()), times->size() * sizeof(double)}, 0);
    times->resize(tasks);
    std::memcpy(times->data(), bytes.data(), bytes.size());
  }
  return simulated;
}

int verify(const Invocation& invocation, std::ostream& out) {
  VerifyOptions options;
  const CommandHelp help{
      "verify", "SCENARIO",
      "Runs every kernel and collective of the simulated step for real, one process a rank; started "
      "alone, it starts itself again under mpirun."};
  const auto inputs = parse_words(invocation.words, help, described(options), out);
  if (!inputs) return kDone;
  const std::string path = resolve_scenario(inputs->front(), invocation.roots);
  claim_outputs({{"--json", options.json}});
  const Plan plan = resolve(read_job(path, options.sets, invocation.roots));
  check_backend(options.backend);
  const int needed = ParallelLayout(plan.scenario.layout).ranks();
  if (needed > 1 && launched_rank() < 0) {
    const int cores = usable_cores();
    if (options.backend == "host" && needed > cores)
      refuse_job("the layout has " + std::to_string(needed) + " ranks, and this machine " +
                     std::to_string(cores) + " cores",
                 "take a smaller layout, or start it under mpirun on machines that have as many");
    std::vector<std::string> words{"verify"};
    words.insert(words.end(), invocation.words.begin(), invocation.words.end());
    return run_under_mpirun(needed, invocation.program, words);
  }
  const auto ranks = make_ranks();
  check_job(plan.scenario, *ranks, options);
  const auto backend = make_backend(options.backend, *ranks);
  const TaskGraph graph = lowered(plan, {.fold = false});
  const std::string program = (std::filesystem::path(invocation.program).parent_path() / "rehearse").string();
  const auto simulated = shared(*ranks, program, path, options.sets, graph.tasks.size());
  const auto calls = calls_of(plan.scenario, graph, simulated.start, ranks->rank());
  const auto measured = run_calls(*backend, *ranks, calls, options.runs);
  auto verification = compare(simulated, graph, calls, measured, *ranks);
  if (ranks->rank() != 0) return kDone;
  verification.scenario = plan.scenario.name;
  verification.backend = options.backend;
  verification.device = backend->environment().device;
  if (!options.json.empty()) write_output(options.json, json_of(verification), out);
  if (options.json != "-") out << table_of(verification);
  const bool missed = std::abs(100 * verification.error()) > options.within;
  return missed ? kVerdictFails : kDone;
}

}  // namespace

int command_verify(const Invocation& invocation, std::ostream& out) {
  tell_started();
  try {
    return verify(invocation, out);
  } catch (const InputErrors&) {
    if (launched_rank() <= 0) throw;
    return after_first_rank(kBadInput);
  } catch (const BackendError& e) {
    if (launched_rank() > 0) return after_first_rank(kBadInput);
    throw InputErrors(InputError{{}, "", "E-VERIFY", e.what(), ""});
  }
}

}  // namespace rehearse::calibration
