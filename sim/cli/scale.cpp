// rehearse scale: strong and weak scaling, the layout chosen anew at each size.
#include "sim/cli/scale.hpp"

#include <algorithm>
#include <boost/program_options.hpp>

#include "sim/base/text.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/simulate.hpp"
#include "sim/cli/sweep_progress.hpp"
#include "sim/study/workers.hpp"

namespace rehearse {

namespace {

constexpr int64_t kMostGpus = 16'777'216;

struct ScaleOptions {
  CommonOptions common;
  std::string gpus, layouts = "search", engine = "simgrid", jobs;
  bool weak = false, strong = false;
};

bool read_options(const Invocation& invocation, ScaleOptions& options, std::ostream& out) {
  namespace po = boost::program_options;
  po::options_description extra("scale");
  extra.add_options()("gpus", po::value(&options.gpus)->value_name("FROM..TO"),
                      "numbers of GPUs, doubling; as in 64..16384")(
      "strong", po::bool_switch(&options.strong), "the same batch on all; both where neither is given")(
      "weak", po::bool_switch(&options.weak), "the batch in proportion to the GPUs")(
      "layouts", po::value(&options.layouts)->value_name("search|keep"),
      "choose the layout at each size (default), or keep it and change dp alone")(
      "jobs", po::value(&options.jobs)->value_name("N"), "processes; default: as many as cores")(
      "engine", po::value(&options.engine)->value_name("NAME"), "simgrid (the default) or ideal");
  const CommandHelp help{"scale", "SCENARIO",
                         "Strong and weak scaling, with the best layout at each number of GPUs."};
  if (!parse_words(invocation, help, extra, options.common, out)) return false;
  static constexpr std::string_view kLayouts[] = {"search", "keep"};
  if (std::find(std::begin(kLayouts), std::end(kLayouts), options.layouts) == std::end(kLayouts))
    refuse("--layouts takes search or keep, not " + quote(options.layouts),
           suggest(options.layouts, kLayouts));
  if (!options.strong && !options.weak) options.strong = options.weak = true;
  return true;
}

std::vector<int64_t> read_sizes(const std::string& text) {
  const char* hint = "as in --gpus 64..16384";
  if (text.empty()) refuse("--gpus is missing", hint);
  const size_t dots = text.find("..");
  const auto from = parse_int(std::string_view(text).substr(0, dots));
  const auto to = dots == std::string::npos ? from : parse_int(std::string_view(text).substr(dots + 2));
  if (!from.value || !to.value || *from.value < 1 || *to.value < *from.value || *to.value > kMostGpus)
    refuse("--gpus " + quote(text) + " is no range of numbers of GPUs", hint);
  return doubling(*from.value, *to.value);
}

int read_jobs(const std::string& text) {
  if (text.empty()) return usable_cores();
  const auto jobs = parse_int(text);
  if (!jobs.value || *jobs.value < 1 || *jobs.value > 1024)
    refuse("--jobs " + quote(text) + " is no number from 1 to 1024", "");
  return int(*jobs.value);
}

std::vector<ScaleResult> run_all(const ScaleRequest& wanted, const std::vector<int64_t>& sizes, bool strong,
                                 bool weak, const DataRoots& roots, bool quiet) {
  std::vector<std::pair<ScaleRequest, ScaleSize>> plan;
  size_t total = 0, done = 0;
  for (const bool grows : {false, true})
    for (const int64_t gpus : sizes) {
      if (!(grows ? weak : strong)) continue;
      ScaleRequest request = wanted;
      request.weak = grows;
      plan.emplace_back(request, plan_size(request, gpus, roots));
      total += plan.back().second.most_points();
    }
  SweepProgress progress(total, quiet);
  std::vector<ScaleResult> results;
  for (const auto& [request, size] : plan) {
    results.push_back(run_size(request, size, roots, [&](size_t now) { progress.show(done + now); }));
    done += size.most_points();
  }
  scale_efficiency(results);
  return results;
}

}  // namespace

int command_scale(const Invocation& invocation, std::ostream& out) {
  ScaleOptions options;
  if (!read_options(invocation, options, out)) return kDone;
  ScaleRequest request;
  request.sets = options.common.sets;
  request.keep = options.layouts == "keep";
  request.engine = engine_row(options.engine);
  request.jobs = read_jobs(options.jobs);
  const auto sizes = read_sizes(options.gpus);
  const Plan plan = load(options.common, invocation.roots);
  request.base = resolve_scenario(options.common.input, invocation.roots);
  if (request.base == "-") refuse("scale reads its scenario many times, and standard input once", "");
  const auto results =
      run_all(request, sizes, options.strong, options.weak, invocation.roots, options.common.quiet);
  emit(options.common, scale_table(plan.scenario.name, results), scale_json(plan.scenario.name, results),
       out);
  const bool any =
      std::any_of(results.begin(), results.end(), [](const auto& r) { return r.best.has_value(); });
  return any ? kDone : kVerdictFails;
}

}  // namespace rehearse
