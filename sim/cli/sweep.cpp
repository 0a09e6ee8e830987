// rehearse sweep: prices the points of a study and keeps them in a store.
#include "sim/cli/sweep.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <iostream>

#include "sim/base/file.hpp"
#include "sim/base/text.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/simulate.hpp"
#include "sim/cli/sweep_progress.hpp"
#include "sim/study/workers.hpp"

namespace rehearse {

namespace {

using Clock = std::chrono::steady_clock;

struct SweepOptions {
  CommonOptions common;
  std::string store, csv, jobs_text, shard_text, timeout_text = "60s", engine = "simgrid";
  PoolOptions pool;
  size_t shard = 0, shards = 1;  // which part, from 0, and of how many
  bool serves = false;           // prices for a sweep elsewhere (study/mpi)
};

volatile std::sig_atomic_t stop_asked = 0;

// A signal ends the sweep with what is done, at once; more of them, as timeout and mpirun send, say no more.
void stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { stop_asked = 1; };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

std::optional<size_t> whole_number(std::string_view text, size_t most) {
  size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > most)
    return std::nullopt;
  return value;
}

void read_shard(SweepOptions& options) {
  if (options.shard_text.empty()) return;
  const size_t slash = options.shard_text.find('/');
  const auto shard = whole_number(std::string_view(options.shard_text).substr(0, slash), 1'000'000);
  const auto shards = slash == std::string::npos
                          ? std::nullopt
                          : whole_number(std::string_view(options.shard_text).substr(slash + 1), 1'000'000);
  if (!shard || !shards || *shard > *shards)
    refuse("--shard " + quote(options.shard_text) + " is no part of a whole",
           "the first of three parts as in --shard 1/3");
  options.shard = *shard - 1;
  options.shards = *shards;
}

bool is_socket(int descriptor) {
  struct stat status {};
  return fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode);
}

// What rehearse-mpi says to the processes that it starts; from elsewhere it would only make them wait.
void read_surroundings(SweepOptions& options) {
  const auto refuse_variable = [](const std::string& name) {
    refuse(name + " is set, and not by rehearse-mpi", "unset " + name);
  };
  options.serves = std::getenv("REHEARSE_SERVE") != nullptr;
  if (options.serves && !is_socket(STDIN_FILENO)) refuse_variable("REHEARSE_SERVE");
  const char* given = std::getenv("REHEARSE_LANES");
  const std::string lanes = given ? given : "";
  unsetenv("REHEARSE_SERVE");
  unsetenv("REHEARSE_LANES");
  if (lanes.empty()) return;
  for (const std::string_view lane : split(lanes, ',')) {
    const auto socket = whole_number(lane, 1'000'000);
    if (!socket || !is_socket(int(*socket))) refuse_variable("REHEARSE_LANES");
    options.pool.elsewhere.push_back(int(*socket));
  }
  if (options.jobs_text.empty()) options.pool.jobs = 1;
}

bool read_options(const Invocation& invocation, SweepOptions& options, std::ostream& out) {
  namespace po = boost::program_options;
  po::options_description extra("sweep");
  extra.add_options()("store", po::value(&options.store)->value_name("FILE"),
                      "results, an SQLite file; default: the study's name and .sqlite")(
      "jobs", po::value(&options.jobs_text)->value_name("N"),
      "processes that price points; default: as many as cores")(
      "shard", po::value(&options.shard_text)->value_name("I/N"),
      "only the I-th of N parts, for job arrays; rehearse merge joins their stores")(
      "csv", po::value(&options.csv)->value_name("FILE|-"),
      "all points with their figures; - replaces the table")(
      "timeout", po::value(&options.timeout_text)->value_name("TIME"), "for one point; default: 60s")(
      "engine", po::value(&options.engine)->value_name("NAME"),
      "simgrid (flows share links, the default) or ideal (no contention)");
  const CommandHelp help{"sweep", "STUDY", "Prices all points of a study, and goes on where it was stopped."};
  if (!parse_words(invocation, help, extra, options.common, out)) return false;
  options.pool.jobs = usable_cores();
  read_surroundings(options);
  if (!options.jobs_text.empty()) {
    const auto jobs = whole_number(options.jobs_text, 1024);
    if (!jobs) refuse("--jobs " + quote(options.jobs_text) + " is no number from 1 to 1024", "");
    options.pool.jobs = int(*jobs);
  }
  read_shard(options);
  const auto timeout = parse_quantity(options.timeout_text, Dimension::seconds);
  if (!timeout.value) refuse("--timeout: " + timeout.problem, timeout.hint);
  options.pool.timeout_s = *timeout.value;
  if (options.pool.timeout_s <= 0) refuse("--timeout must be more than nothing", "as in --timeout 60s");
  return true;
}

// The points of this shard. Which those are follows from the digests alone.
std::vector<SweepItem> items_of(const Study& study, Pricer& pricer, const SweepOptions& options) {
  std::vector<SweepItem> items(study.points.size());
  for (size_t i = 0; i < items.size(); ++i) {
    items[i].index = i;
    items[i].digest = pricer.digest(study.points[i]);
  }
  if (options.shards == 1) return items;
  std::sort(items.begin(), items.end(), [](const auto& a, const auto& b) { return a.digest < b.digest; });
  std::vector<SweepItem> part;
  for (size_t i = options.shard; i < items.size(); i += options.shards) part.push_back(std::move(items[i]));
  std::sort(part.begin(), part.end(), [](const auto& a, const auto& b) { return a.index < b.index; });
  return part;
}

// Prices what is not known yet; the store has it within a fraction of a second.
class Sweep {
 public:
  Sweep(const Study& study, Pricer& pricer, Store& store, std::vector<SweepItem>& items)
      : study_(study), pricer_(pricer), store_(store), items_(items), of_point_(study.points.size()) {
    for (size_t i = 0; i < items_.size(); ++i) {
      of_point_[items_[i].index] = i;
      if (!items_[i].known) todo_.push_back(items_[i].index);
    }
  }

  // False where it was stopped.
  bool run(PoolOptions pool, bool quiet) {
    SweepProgress progress(todo_.size(), quiet);
    pool.digest = [this](const Point& point) { return pricer_.digest(point); };
    const auto price = [this](const Point& point) { return pricer_.price(point); };
    const PoolCalls calls{
        [&](size_t index, Outcome outcome) { keep(items_[of_point_[index]], std::move(outcome)); },
        [&] {
          progress.show(done_);
          if (Clock::now() - written_ > std::chrono::milliseconds(200)) write();
          return stop_asked != 0;
        }};
    const bool whole = price_all(study_.points, todo_, price, pool, calls);
    write();
    std::vector<std::string> digests;
    for (const auto& item : items_)
      if (item.known) digests.push_back(item.digest);
    store_.check_holds(digests);
    return whole;
  }

 private:
  void keep(SweepItem& item, Outcome outcome) {
    item.outcome = std::move(outcome);
    item.known = true;
    ++done_;
    batch_.push_back({item.digest, study_.points[item.index], item.outcome});
  }
  void write() {
    if (!batch_.empty()) store_.write(batch_);
    batch_.clear();
    written_ = Clock::now();
  }

  const Study& study_;
  Pricer& pricer_;
  Store& store_;
  std::vector<SweepItem>& items_;
  std::vector<size_t> of_point_;  // item of each point of the study
  std::vector<size_t> todo_;
  std::vector<StoredPoint> batch_;
  Clock::time_point written_ = Clock::now();
  size_t done_ = 0;
};

std::string store_name(const SweepOptions& options, const Study& study) {
  if (!options.store.empty()) return options.store;
  if (options.shards == 1) return default_store(study);
  return fmt::format("{}-{}of{}.sqlite", study.name, options.shard + 1, options.shards);
}

void reuse(std::vector<SweepItem>& items, const Store& store) {
  auto outcomes = store.outcomes();
  for (auto& item : items)
    if (const auto at = outcomes.find(item.digest); at != outcomes.end()) {
      item.outcome = std::move(at->second);
      item.known = item.reused = true;
    }
}

}  // namespace

int command_sweep(const Invocation& invocation, std::ostream& out) {
  const auto began = Clock::now();
  const auto since = [](Clock::time_point then) {
    return std::chrono::duration<double>(Clock::now() - then).count();
  };
  SweepOptions options;
  if (!read_options(invocation, options, out)) return kDone;
  const auto engine = engine_row(options.engine);
  const std::string input = resolve_scenario(options.common.input, invocation.roots);
  const Study study = read_study(input, options.common.sets, invocation.roots);
  Pricer pricer(study, invocation.roots, engine);
  if (options.serves) {
    serve_points(
        0, study.points, [&](const Point& point) { return pricer.price(point); },
        [&](const Point& point) { return pricer.digest(point); });
    return kDone;
  }
  const std::string path = store_name(options, study);
  claim_kept("--store", path);
  claim_outputs({{"--csv", options.csv}, {"--json", options.common.json}});
  stop_on_signals();
  Store store(path, Store::Mode::write);
  auto items = items_of(study, pricer, options);
  reuse(items, store);
  store.write(StoredStudy{study.name, study.base, study.file == "-" ? "" : read_file(study.file), study.sets,
                          study.axes});
  const auto priced_from = Clock::now();
  const bool whole = Sweep(study, pricer, store, items).run(options.pool, options.common.quiet);
  SweepSummary summary = summarize(items);
  summary.pricing_s = since(priced_from);
  summary.wall_s = since(began);
  summary.interrupted = !whole;
  if (!options.csv.empty()) write_output(options.csv, sweep_csv(items, study), out);
  if (!options.common.json.empty()) write_output(options.common.json, sweep_json(summary, study, path), out);
  if (options.csv != "-" && options.common.json != "-") out << sweep_table(summary, study, path);
  return whole ? kDone : kVerdictFails;
}

}  // namespace rehearse
