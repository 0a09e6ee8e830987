#include "sim/study/price.hpp"

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid.hpp>
#include <limits>
#include <map>

#include "sim/graph/fold.hpp"
#include "sim/io/scenario.hpp"
#include "sim/step/step.hpp"

namespace rehearse {

namespace {

std::vector<double> figures_of(const Report& report, bool memory_only) {
  std::vector<double> figures;
  for (const auto& row : figure_table())
    figures.push_back(memory_only && !row.name.starts_with("memory.")
                          ? std::numeric_limits<double>::quiet_NaN()
                          : row.value(report));
  return figures;
}

std::vector<double> peaks_of(const MemoryReport& memory) {
  std::vector<double> peaks;
  for (const auto& stage : memory.stages) peaks.push_back(stage.peak.total());
  return peaks;
}

// Whether a setting may change which files are read.
bool names_files(const std::string& setting) {
  for (const char* key : {"model", "cluster", "profile", "schedule"})
    if (setting.starts_with(key)) return true;
  return false;
}

void append(std::string& text, const std::string& part) {  // so that no two lists give one text
  text += std::to_string(part.size());
  text += ':';
  text += part;
}

std::string hash(const std::string& text) {  // SHA-1 as of RFC 4122, version 5
  static constexpr boost::uuids::uuid kOurs = {0x5e, 0x0c, 0x2b, 0x4d, 0x8f, 0x31, 0x4a, 0x67,
                                               0x9d, 0x1e, 0x70, 0xb6, 0x3a, 0x95, 0xc2, 0x48};
  const auto id = boost::uuids::name_generator_sha1(kOurs)(text);
  std::string digits;
  for (const uint8_t byte : id) {
    digits += "0123456789abcdef"[byte >> 4];
    digits += "0123456789abcdef"[byte & 15];
  }
  return digits;
}

}  // namespace

struct Pricer::Impl {
  std::string base;
  std::vector<std::string> sets;
  DataRoots roots;
  Named<Engine> engine;
  ScenarioFiles files = {};
  Fold fold = {};
  std::string folded_lies = {};                      // how the layout lies that `fold` is of
  Cluster folded_cluster = {};                       // and on what
  std::map<std::string, std::string> contents = {};  // digests of all files, by the settings that name them

  std::vector<std::string> sets_of(const Point& point) const {
    auto all = sets;
    all.insert(all.end(), point.settings.begin(), point.settings.end());
    return all;
  }

  // Points that follow each other often lie alike on the cluster.
  const Fold& fold_of(const Scenario& scenario) {
    const auto& l = scenario.layout;
    const auto& c = scenario.cluster;
    std::string lies;
    for (const int n :
         {l.tp, l.cp, l.pp, l.ep, l.dp, l.chunks, int(l.placement), int(scenario.model.tied_embeddings)})
      append(lies, std::to_string(n));
    for (const Axis axis : l.order) append(lies, std::to_string(int(axis)));
    if (lies == folded_lies && c == folded_cluster) return fold;
    fold = rehearse::fold_of(scenario), folded_lies = lies, folded_cluster = c;
    return fold;
  }

  Outcome simulate(const Plan& plan) {
    Report report;
    report.memory = planned_memory(plan.scenario, plan.schedule);
    Outcome outcome;
    outcome.stage_peak_bytes = peaks_of(report.memory);
    if (!report.memory.fits) {
      outcome.verdict = Verdict::unfit;
      outcome.figures = figures_of(report, true);
      return outcome;
    }
    const Fold& folded = fold_of(plan.scenario);
    const auto run = [&](Engine replay) {
      const Step step = rehearse::simulate(
          plan,
          {.engine = replay, .lower = {.known_fold = &folded}, .memory = &report.memory, .links = false});
      return figures_of(step.report, false);
    };
    outcome.verdict = Verdict::simulated;
    outcome.figures = engine.value == run_simgrid ? numbers_from_child([&] { return run(run_simgrid_here); })
                                                  : run(engine.value);
    return outcome;
  }

  const std::string& contents_of(const std::vector<std::string>& all) {
    std::vector<std::string> naming;
    std::string key;
    for (const auto& set : all)
      if (names_files(set)) naming.push_back(set), append(key, set);
    if (const auto at = contents.find(key); at != contents.end()) return at->second;
    std::string text;
    try {
      for (const auto& file : files_of_scenario(base, naming, roots, files))
        append(text, files.contents(file));
    } catch (const InputErrors& found) {
      append(text, found.what());
    }
    return contents[key] = hash(text);
  }
};

Pricer::Pricer(const Study& study, const DataRoots& roots, const Named<Engine>& engine)
    : impl_(new Impl{study.base, study.sets, roots, engine}) {}
Pricer::~Pricer() = default;

Outcome Pricer::price(const Point& point) {
  Outcome outcome;
  try {
    return impl_->simulate(resolve(read_job(impl_->base, impl_->sets_of(point), impl_->roots, impl_->files)));
  } catch (const InputErrors& found) {
    outcome.verdict = Verdict::rejected;
    outcome.code = found.errors.front().code;
    outcome.message = found.errors.front().message;
  } catch (const ProcessDied& death) {
    outcome.verdict = Verdict::failed;
    outcome.code = "E-POINT-CRASH";
    outcome.message = death.what();
  } catch (const std::exception& failure) {
    outcome.verdict = Verdict::failed;
    outcome.code = "E-POINT-INTERNAL";
    outcome.message = failure.what();
  }
  outcome.figures.assign(figure_table().size(), std::numeric_limits<double>::quiet_NaN());
  return outcome;
}

std::string Pricer::digest(const Point& point) {
  const auto sets = impl_->sets_of(point);
  std::string text;
  append(text, std::string(impl_->engine.name));
  append(text, impl_->contents_of(sets));
  for (const auto& set : sets) append(text, set);
  return hash(text);
}

}  // namespace rehearse
