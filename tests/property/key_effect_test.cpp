// No key of a scenario is accepted in silence: another value of it moves a figure, or a warning says that it
// does not. The keys and the words that they take are those that the reader's own hints list.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "sim/base/text.hpp"
#include "sim/io/scenario.hpp"
#include "sim/step/step.hpp"
#include "sim/view/text.hpp"

namespace rehearse {
namespace {

using Settings = std::vector<std::string>;

const std::string kData = std::string(REHEARSE_SOURCE_DIR) + "/tests/input/data";
const DataRoots kRoots{{kData, REHEARSE_SOURCE_DIR}};

Plan planned(const Settings& sets) {
  static ScenarioFiles files;
  return resolve(read_job(kData + "/scenarios/small.yaml", sets, kRoots, files));
}

// Everything that a report says but for names and what only repeats the scenario.
std::string figures_of(const Plan& plan) {
  auto json = nlohmann::json::parse(to_json(simulate(plan).report, plan.scenario));
  nlohmann::json said = json["provenance"]["warnings"];
  for (const char* key : {"name", "provenance", "engine", "layout", "scenario"}) json.erase(key);
  return json.dump() + said.dump();
}

// Nothing where the settings are refused.
std::optional<std::string> figures(const Settings& sets) {
  try {
    return figures_of(planned(sets));
  } catch (const InputErrors&) {
    return {};
  }
}

// The words of the hint "valid: a, b" of the error of `code` at `key`.
Settings offered(Settings sets, const std::string& key, const std::string& code) {
  sets.push_back(key + "=zzz");
  try {
    planned(sets);
  } catch (const InputErrors& found) {
    for (const auto& e : found.errors) {
      const size_t at = e.hint.find("valid: ");
      if (e.code != code || e.key_path != key || at == std::string::npos) continue;
      Settings words;
      for (const auto word : split(std::string_view(e.hint).substr(at + 7), ','))
        words.emplace_back(word.substr(word.find_first_not_of(' ')));
      return words;
    }
  }
  return {};
}

// Keys of the mapping at `path` and of those below.
void add_keys(const Settings& base, const std::string& path, Settings& keys) {
  const std::string below = path.empty() ? "" : path + ".";
  const Settings here = offered(base, below + "zzz", "E-KEY-UNKNOWN");
  if (here.empty() && !path.empty()) keys.push_back(path);
  for (const auto& key : here) add_keys(base, below + key, keys);
}

const Settings kValues = {"true",
                          "false",
                          "0",
                          "1",
                          "2",
                          "3",
                          "4",
                          "8",
                          "16",
                          "64",
                          "512",
                          "4096",
                          "131072",
                          "0.5",
                          "1 us",
                          "50 us",
                          "10 GB/s",
                          "900 GB/s",
                          "1 KiB",
                          "1 MiB",
                          "100 GiB",
                          "tp-cp-pp-ep-dp",
                          "dp-tp-pp",
                          "pp-tp-dp",
                          "[5, 3]",
                          "[3, 2, 2, 1]",
                          "[8]",
                          "[4, 1]",
                          "[{node: 1, slow: 0.5}]",
                          "gpipe",
                          "zb-h1"};

struct Verdict {
  bool flipped = false;  // a second value was accepted
  bool silent = false;
};

Verdict flip(const Settings& base, const std::string& key, const std::string& before) {
  Settings values = offered(base, key, "E-CHOICE");
  values.insert(values.end(), kValues.begin(), kValues.end());
  int accepted = 0;
  for (const auto& value : values) {
    Settings sets = base;
    sets.push_back(key + "=" + value);
    const auto after = figures(sets);
    if (!after) continue;
    if (*after != before) return {true, false};
    ++accepted;
  }
  return {accepted > 1, accepted > 1};
}

const Settings kBases[] = {
    {"layout={tp: 2, pp: 2}"},
    {"layout={tp: 1}"},
    {"layout={tp: 4}", "cluster.nodes=1"},
    {"layout={tp: 2, pp: 2}", "cluster.nodes=1", "schedule=auto"},
    {"layout={tp: 2, pp: 2, zero: 1, sequence_parallel: true}", "overlap.grad_reduce=true"},
    {"layout={tp: 2, pp: 2, chunks: 2}", "schedule=interleaved", "overlap.p2p=true"},
    {"layout={tp: 2, pp: 2}", "schedule=auto"},
    {"layout={tp: 2, pp: 2}", "schedule=zb-h1"},
    {"layout={tp: 2, pp: 2, sequence_parallel: true}", "schedule=zb-h1"},
    {"layout={tp: 2, pp: 2}", "cluster.fabric={shape: torus, dims: [2, 2], rate: 25 GB/s}"},
    {"layout={tp: 2, pp: 2}",
     "cluster={nodes: 4, gpu: test-gpu, gpus_per_node: 4, node: pcie, nics_per_node: 2, nic: 200 Gb/s, "
     "nic_latency: 2.7 us, fabric: one_tier, pcie: {rate: 32 GB/s, latency: 1 us, gpus_per_switch: 2, "
     "bridge: 20 "
     "GB/s}}"},
    {"layout={tp: 2, pp: 2}", "profile=h100-sxm5-80gb", "cluster.topology=dgx-h100"},
};

// Names, files of which there is but one here, what is modelled at one size only, and what other keys
// determine.
const std::set<std::string> kOthers = {
    "name",    "model.name", "cluster.name", "cluster.network", "cluster.placement", "stack",
    "profile", "layout.cp",  "layout.ep",    "layout.dp",       "layout.placement",  "cluster.fabric.shape"};

TEST(KeyEffect, EveryAcceptedKeyMovesAFigureOrIsSaidToHaveNoEffect) {
  std::set<std::string> seen, flipped;
  for (const auto& base : kBases) {
    Settings keys;
    add_keys(base, "", keys);
    const auto before = figures(base);
    std::string shown;
    for (const auto& set : base) shown += "--set '" + set + "' ";
    ASSERT_TRUE(before) << shown;
    for (const auto& key : keys) {
      seen.insert(key);
      if (kOthers.count(key)) continue;
      const Verdict verdict = flip(base, key, *before);
      EXPECT_FALSE(verdict.silent) << key << " changes nothing in silence: " << shown;
      if (verdict.flipped) flipped.insert(key);
    }
  }
  EXPECT_GT(seen.size(), 60u);
  std::string never;
  for (const auto& key : seen)
    if (!flipped.count(key) && !kOthers.count(key)) never += key + " ";
  EXPECT_EQ(never, "");
}

}  // namespace
}  // namespace rehearse
