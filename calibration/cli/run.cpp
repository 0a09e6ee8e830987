// rehearse-calibrate run: measures, keeps every sample at once, goes on where it stopped.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "calibration/cli/devices.hpp"
#include "calibration/cli/launch.hpp"
#include "calibration/cli/progress.hpp"
#include "calibration/cli/run_options.hpp"
#include "calibration/probes/attempt.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

namespace rehearse::calibration {
namespace {

volatile std::sig_atomic_t stop_asked = 0;

// The first signal ends the sweep after the point at hand, a second one at once: the file is whole either
// way.
void stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { stop_asked = 1; };
  action.sa_flags = int(SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

// Holds the file for one run: a run that was killed may still have ranks that are about to write.
class Lock {
 public:
  explicit Lock(const std::string& path) : fd_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    const auto refuse = [&](const std::string& what) {
      throw InputErrors(InputError{{path, 0, 0, ""}, "", "E-FILE-WRITE", what, ""});
    };
    if (fd_ < 0) refuse(std::string("cannot write samples: ") + std::strerror(errno));
    for (int tries = 0; flock(fd_, LOCK_EX | LOCK_NB) != 0; ++tries) {
      if (errno != EWOULDBLOCK && errno != EINTR) return;  // a file system without locks
      if (tries == 100) {
        close(fd_);
        refuse("another run is writing to it");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
  ~Lock() { close(fd_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int fd_;
};

// Of a point that was measured, no more; of one that was rejected or failed, another try.
struct Known {
  std::set<std::string> measured, doubted;
};

// What rank 0 alone holds.
struct Session {
  std::optional<Lock> lock;
  std::optional<SampleWriter> writer;
  std::vector<ProbePoint> tasks;
  Known known;
};

// Points that the file has of this device, by name.
Known known_points(const std::string& path, const Environment& here) {
  Known known;
  const SampleFile file = read_samples(path);
  for (const Sample& sample : file.samples) {
    const Environment& there = file.environments.at(sample.environment);
    if (there.backend != here.backend || there.device != here.device) continue;
    // What the machine refuses it refuses again.
    const bool doubted =
        sample.status == Status::rejected || (sample.status == Status::failed && sample.code != "refused");
    (doubted ? known.doubted : known.measured).insert(point_of(sample.work));
  }
  for (const auto& name : known.measured) known.doubted.erase(name);
  return known;
}

Wanted wanted_of(const Environment& environment) {
  Wanted wanted;
  wanted.ranks = environment.ranks;
  wanted.per_node = environment.ranks_per_node;
  wanted.limits = environment.limits;
  wanted.memory_bytes = environment.limits.memory_bytes / 2;  // the rest is for the copies of rotation
  for (const auto& [type, flops] : environment.limits.peak_flops)
    if (flops > 0) wanted.dtypes.push_back(type);
  return wanted;
}

void open_session(Session& session, const RunOptions& options, const Environment& environment,
                  const Bench& bench) {
  Known& known = session.known;
  const bool has_file = !options.output.empty() && access(options.output.c_str(), F_OK) == 0;
  if (!options.dry_run) session.lock.emplace(options.output);
  if (has_file) known = known_points(options.output, environment);
  if (!options.dry_run) session.writer.emplace(options.output);
  auto left_out = known.measured;
  if (options.no_retry) left_out.insert(known.doubted.begin(), known.doubted.end());
  session.tasks = options.points.empty()
                      ? tasks_of(options.probes, wanted_of(environment), left_out, bench.backend, bench.ranks)
                      : tasks_of(read_points(options.points), left_out);
  // What was never tried goes first: a point that is doubted each time keeps none from being measured.
  std::stable_partition(session.tasks.begin(), session.tasks.end(), [&](const ProbePoint& task) {
    return !known.doubted.contains(point_of(task.point.work));
  });
}

// Runs it on rank 0; where it throws there, all ranks return false or throw.
template <class F>
bool on_first_rank(Ranks& ranks, F body) {
  std::exception_ptr trouble;
  if (ranks.rank() == 0) try {
      body();
    } catch (...) {
      trouble = std::current_exception();
    }
  const bool failed = ranks.any(trouble != nullptr);
  if (trouble) std::rethrow_exception(trouble);
  return !failed;
}

std::string plan_text(const std::vector<ProbePoint>& tasks, double budget_s, const Known& known) {
  const auto chosen = within(tasks, budget_s);
  std::string text = fmt::format("{:>9} {:>10}  {:<14}{}\n", "time", "in all", "probe", "point");
  double sum = 0;
  for (const ProbePoint& task : chosen) {
    sum += task.point.seconds;
    text += fmt::format("{:>9} {:>10}  {:<14}{}\n", duration_text(task.point.seconds), duration_text(sum),
                        task.probe->name, point_of(task.point.work));
  }
  text += fmt::format("{} of {} points, about {}", chosen.size(), tasks.size(), duration_text(sum));
  if (!known.measured.empty()) text += fmt::format("; {} are in the file already", known.measured.size());
  if (!known.doubted.empty()) text += fmt::format("; {} were rejected before", known.doubted.size());
  return text + "\n";
}

std::string plan_json(const std::vector<ProbePoint>& tasks, double budget_s, const Known& known) {
  const auto chosen = within(tasks, budget_s);
  nlohmann::ordered_json json{{"points", nlohmann::ordered_json::array()}};
  double sum = 0;
  for (const ProbePoint& task : chosen) {
    sum += task.point.seconds;
    json["points"].push_back(
        {{"point", point_of(task.point.work)}, {"probe", task.probe->name}, {"seconds", task.point.seconds}});
  }
  json.update({{"seconds", sum},
               {"budget_s", budget_s},
               {"left", tasks.size() - chosen.size()},
               {"measured", known.measured.size()},
               {"rejected_before", known.doubted.size()}});
  return json.dump(2) + "\n";
}

Environment environment_of(Backend& backend, const Invocation& invocation) {
  Environment environment = backend.environment();
  environment.command = "rehearse-calibrate run";
  for (const auto& word : invocation.words) environment.command += " " + word;
  environment.started = utc_now();
  environment.id = digest_of(environment);
  return environment;
}

void prepare(Bench& bench, const RunOptions& options, const Environment& environment) {
  bench.limits = environment.limits;
  for (const double bytes : bench.ranks.gather(bench.limits.l2_bytes))  // as many sets on each rank
    bench.limits.l2_bytes = std::max(bench.limits.l2_bytes, bytes);
  bench.warm_l2 = options.warm_l2;
  bench.seed = options.seed;
  bench.graphs = environment.backend == "cuda";
  if (environment.backend != "host") return;
  // Cores are shared with the system: more timings, and a wider spread of them, are part of it.
  bench.rules.cap_s = 0.5;
  bench.rules.most_timings = 2000;
  bench.rules.unstable = 0.5;
}

Sweep sweep(Bench& bench, Session& session, const RunOptions& options, const Environment& environment) {
  Progress progress(is_watched(), options.quiet);
  bool introduced = false;
  stop_on_signals();
  return run_sweep(bench, std::move(session.tasks), options.budget_s,
                   {.keep =
                        [&](Sample sample) {
                          if (!introduced) session.writer->append(to_json_line(environment));
                          introduced = true;
                          sample.environment = environment.id;
                          session.writer->append(to_json_line(sample));
                          if (sample.status == Status::rejected || sample.status == Status::failed)
                            progress.doubt(sample);
                        },
                    .show = [&](const ProbePoint& next, const Pace& pace,
                                double elapsed) { progress.show(next, pace, elapsed); },
                    .stop = [] { return stop_asked != 0; }});
}

int measure_all(const RunOptions& options, const Invocation& invocation, std::ostream& out) {
  const auto ranks = make_ranks();
  const bool leads = ranks->rank() == 0;
  if (options.ranks > 0 && options.ranks != ranks->size()) {
    if (!leads) return kBadInput;
    throw InputErrors(InputError{{},
                                 "",
                                 "E-CLI",
                                 fmt::format("--ranks {}, but {} were started", options.ranks, ranks->size()),
                                 "under mpirun and srun leave out --ranks"});
  }
  const auto backend = make_backend(options.backend, *ranks);
  Bench bench(*backend, *ranks);
  const Environment environment = environment_of(*backend, invocation);
  prepare(bench, options, environment);
  Session session;
  if (!on_first_rank(*ranks, [&] { open_session(session, options, environment, bench); })) return kBadInput;
  if (options.dry_run) {
    if (!leads) return kDone;
    if (!options.json.empty())
      write_output(options.json, plan_json(session.tasks, options.budget_s, session.known), out);
    if (options.json != "-") out << plan_text(session.tasks, options.budget_s, session.known);
    return kDone;
  }
  const Sweep result = sweep(bench, session, options, environment);
  if (!leads) return kDone;
  if (!options.json.empty())
    write_output(options.json, summary_json(result, options.output, environment), out);
  if (options.json != "-") out << summary_text(result, options.output);
  return result.rejected() > 0 || result.interrupted ? kVerdictFails : kDone;
}

}  // namespace

int command_run(const Invocation& invocation, std::ostream& out) {
  const int launched = launched_rank();
  tell_started();
  try {
    const auto options = read_run_options(invocation, out);
    if (!options) return kDone;
    const int wanted = options->ranks > 0 ? options->ranks : default_ranks(options->backend);
    if (launched < 0 && wanted > 1) {
      std::vector<std::string> words{"run"};
      words.insert(words.end(), invocation.words.begin(), invocation.words.end());
      if (!options->quiet)
        std::cerr << "starting " << wanted << " ranks with mpirun; --ranks 1 measures one alone\n";
      return run_under_mpirun(wanted, invocation.program, words);
    }
    return after_first_rank(measure_all(*options, invocation, out));
  } catch (const InputErrors&) {
    if (launched <= 0) throw;
    return after_first_rank(kBadInput);
  }
}

}  // namespace rehearse::calibration
