#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/engine/engine.hpp"
#include "sim/graph/lower.hpp"
#include "sim/plan/model_math.hpp"
#include "sim/spec/constants.hpp"
#include "sim/view/text.hpp"
#include "tests/support/scenarios.hpp"

namespace rehearse {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Reported {
  Scenario scenario;
  Report report;
};

Reported reported(int tp = 4, int pp = 2, int dp = 2, int sequences = 8) {
  Reported r{test::small_scenario(), {}};
  auto& s = r.scenario;
  s.layout.tp = tp, s.layout.pp = pp, s.layout.dp = dp, s.batch.global = sequences;
  s.cluster.nodes = std::max(1, tp * pp * dp / s.cluster.gpus_per_node);
  s.recompute.kind = RecomputeKind::full;
  s.warnings.push_back({"W-TEST", "a doubt"});
  const auto schedule = build_schedule(s.schedule, {pp, s.micro_batches(), 1});
  const auto graph = lower(s, schedule);
  r.report = make_report(s, schedule, graph, run_ideal(graph));
  return r;
}

std::vector<std::string> keys(const Json& j) {
  std::vector<std::string> names;
  for (const auto& [key, value] : j.items()) names.push_back(key);
  return names;
}

TEST(ReportJson, KeysStandInTheOrderOfTheContract) {
  const auto r = reported();
  const auto j = Json::parse(to_json(r.report, r.scenario));
  EXPECT_THAT(keys(j),
              ElementsAre("schema", "name", "step_time_s", "tokens_per_s", "tokens_per_s_per_gpu",
                          "model_tflops_per_gpu", "mfu", "hfu", "bubble_fraction", "account_s", "rests_on_s",
                          "pipeline", "memory", "ledger", "critical_path", "links", "engine", "provenance"));
  EXPECT_THAT(keys(j["account_s"]),
              ElementsAre("compute", "recompute", "exposed_tp", "exposed_cp", "exposed_ep", "exposed_pp",
                          "exposed_dp", "bubble", "optimizer", "overhead", "total"));
  EXPECT_THAT(keys(j["pipeline"]),
              ElementsAre("makespan_s", "bubble_fraction", "idle_over_ideal", "peak_live"));
  EXPECT_THAT(keys(j["memory"]), ElementsAre("fits", "capacity_bytes", "peak_bytes", "stages"));
  EXPECT_THAT(
      keys(j["memory"]["stages"][0]["parts"]),
      ElementsAre("weights", "gradients", "optimizer", "activations", "logits", "buffers", "framework"));
  EXPECT_THAT(keys(j["ledger"][0]),
              ElementsAre("axis", "what", "collective", "group_size", "ranks", "calls_per_step",
                          "bytes_per_call", "bytes_sent_per_rank", "closed_form_bytes_per_rank", "exposed_s",
                          "memory_factor", "busy_s", "runs_as"));
  EXPECT_THAT(keys(j["rests_on_s"]),
              ElementsAre("measured", "fitted", "datasheet", "guess", "bubble", "outside"));
  double rests = 0;
  for (const auto& [key, value] : j["rests_on_s"].items())
    rests += key == "outside" ? 0 : value.get<double>();
  EXPECT_NEAR(rests, j["step_time_s"], 1e-9 * rests);
  EXPECT_EQ(j["schema"], 1);
  EXPECT_EQ(j["ledger"][0]["axis"], "tp");
  EXPECT_EQ(j["provenance"]["profile"], "plain");
  EXPECT_EQ(j["provenance"]["warnings"][0]["code"], "W-TEST");
  EXPECT_EQ(j["engine"]["ranks"], 16);
}

TEST(ReportJson, NamesEveryConstantThatHasAnEffect) {
  auto r = reported();
  const auto names = [&] {
    const auto j = Json::parse(to_json(r.report, r.scenario));
    std::set<std::string> found;
    for (const auto& constant : j["provenance"]["constants"]) found.insert(constant["name"]);
    return found;
  };
  const auto without = names();
  for (const auto& row : kDeviceConstants)
    EXPECT_TRUE(without.contains(std::string(row.key) + std::string(suffix_of(row.unit)))) << row.key;
  for (const auto& row : kStackConstants)
    EXPECT_EQ(without.contains("stack." + std::string(row.key) + std::string(suffix_of(row.unit))),
              !row.may_miss)
        << row.key;
  r.scenario.stack.host_per_exchange_s.value = 1e-4;
  EXPECT_TRUE(names().contains("stack.host_per_exchange_s"));
}

TEST(ReportJson, PartsSumToTheirTotals) {
  const auto r = reported();
  const auto j = Json::parse(to_json(r.report, r.scenario));
  double parts = 0;
  for (const auto& [key, value] : j["account_s"].items())
    if (key != "total") parts += value.get<double>();
  EXPECT_EQ(j["account_s"]["total"], j["step_time_s"]);
  EXPECT_NEAR(parts / j["step_time_s"].get<double>(), 1, 1e-12);
  EXPECT_EQ(j["bubble_fraction"].get<double>(),
            j["account_s"]["bubble"].get<double>() / j["step_time_s"].get<double>());
  for (const auto& stage : j["memory"]["stages"]) {
    double sum = 0;
    for (const auto& [key, value] : stage["parts"].items()) sum += value.get<double>();
    EXPECT_DOUBLE_EQ(sum, stage["peak_bytes"].get<double>());
  }
}

TEST(ReportJson, NumbersReadBackAsTheyWere) {
  const auto r = reported();
  EXPECT_EQ(Json::parse(to_json(r.report, r.scenario))["step_time_s"].get<double>(), r.report.step_time_s);
}

TEST(ReportJson, ANumberThatIsNotFiniteIsNamed) {
  auto r = reported();
  r.report.ledger[1].exposed_s = std::numeric_limits<double>::quiet_NaN();
  try {
    to_json(r.report, r.scenario);
    FAIL();
  } catch (const std::logic_error& e) {
    EXPECT_THAT(e.what(), HasSubstr("ledger[1].exposed_s"));
  }
}

TEST(ReportJson, BadBytesInANameAreReplaced) {
  auto r = reported();
  r.report.name = "caf\xe9";
  EXPECT_EQ(Json::parse(to_json(r.report, r.scenario))["name"], "caf\xef\xbf\xbd");
}

TEST(ReportRates, FollowTheirFormulas) {
  const auto r = reported();
  const double peak = 312e12 * 16 * r.report.step_time_s;
  EXPECT_DOUBLE_EQ(r.report.mfu, model_flops(r.scenario).value / peak);
  EXPECT_DOUBLE_EQ(r.report.hfu, (model_flops(r.scenario) + recompute_flops(r.scenario)).value / peak);
  EXPECT_GT(r.report.hfu, r.report.mfu);
  EXPECT_DOUBLE_EQ(r.report.tokens_per_s, 8 * 256 / r.report.step_time_s);
  EXPECT_DOUBLE_EQ(r.report.tokens_per_s_per_gpu * 16, r.report.tokens_per_s);
}

TEST(ReportTable, NamesWhatItShows) {
  auto r = reported();
  r.report.memory.fits = false;
  const auto text = to_table(r.report, r.scenario);
  for (const char* word :
       {"TP 4 x PP 2 x DP 2", "MFU", "compute", "exposed_tp", "total", "live chunks", "DOES NOT FIT",
        "block forward", "critical path", "ranks simulated", "a doubt [W-TEST]", "guessed:"})
    EXPECT_THAT(text, HasSubstr(word));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  for (char c : text)
    EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << "plain ASCII unless asked otherwise";
  EXPECT_THAT(to_table(r.report, r.scenario, {.unicode = true, .colour = true}), HasSubstr("\x1b[1m"));
}

const Saying& about(const std::vector<Saying>& list, const std::string& word) {
  for (const auto& s : list)
    if (s.saying.find(word) != std::string::npos) return s;
  throw std::out_of_range(word);
}

TEST(Sayings, AreSettledWithNumbers) {
  const auto r = reported(2, 4, 2, 32);
  const auto list = sayings(r.scenario, r.report);
  EXPECT_EQ(about(list, "1F1B shrinks").verdict, "false");
  EXPECT_EQ(about(list, "middle stages").verdict, "false");
  EXPECT_GT(about(list, "middle stages").value, 1);
  EXPECT_EQ(about(list, "interleaving").verdict, "false");
  EXPECT_DOUBLE_EQ(about(list, "interleaving").value, (2 * 3 + 4 + 1) / 2.0 / 4);
  EXPECT_EQ(about(list, "28 GB").verdict, "false");
  EXPECT_NEAR(about(list, "28 GB").value, 2 * 7.0 / 8 * 28e9 / (0.8 * 300e9), 0.01);
  EXPECT_EQ(about(list, "16 bytes").verdict, "false");
  EXPECT_NEAR(about(list, "16 bytes").value, 12, 0.01);
  EXPECT_NEAR(about(list, "multiply").value, 1, 0.2);
  EXPECT_EQ(list.size(), 8u);
  for (const auto& s : list) {
    EXPECT_THAT(s.verdict, ::testing::AnyOf("true", "false", "depends"));
    EXPECT_FALSE(s.why.empty()) << s.saying;
    EXPECT_TRUE(std::isfinite(s.value)) << s.saying;
  }
}

TEST(Sayings, WithoutTheCutTheyDepend) {
  const auto r = reported(1, 1, 1);
  const auto list = sayings(r.scenario, r.report);
  EXPECT_EQ(about(list, "middle stages").verdict, "depends");
  EXPECT_EQ(about(list, "TP traffic").verdict, "depends");
  EXPECT_EQ(about(list, "overlap").verdict, "depends");
}

TEST(Sayings, OtherRunsSettleTheRest) {
  const auto r = reported();
  OtherRuns runs;
  runs.gpipe_step_s = 10, runs.one_f_one_b_step_s = 9;
  runs.node_tp_step_s = 10, runs.wide_tp_step_s = 16;
  runs.step_s_by_order = {{"tp-pp-dp", 10}, {"dp-pp-tp", 30}};
  auto list = sayings(r.scenario, r.report, runs);
  EXPECT_EQ(about(list, "1F1B shrinks").verdict, "true");
  EXPECT_DOUBLE_EQ(about(list, "across nodes").value, 1.6);
  EXPECT_EQ(about(list, "across nodes").verdict, "true");
  EXPECT_EQ(about(list, "right order").verdict, "true");
  runs.step_s_by_order[1].second = 8;
  EXPECT_DOUBLE_EQ(about(sayings(r.scenario, r.report, runs), "right order").value, 1.25);
  EXPECT_EQ(about(sayings(r.scenario, r.report, runs), "right order").verdict, "false");
}

TEST(LedgerOutput, HoldsTheBookAndTheSayings) {
  const auto r = reported();
  const auto list = sayings(r.scenario, r.report);
  const auto j = Json::parse(to_ledger_json(r.report, r.scenario, list));
  EXPECT_THAT(keys(j), ElementsAre("parameters", "bytes_per_parameter", "ledger", "sayings"));
  EXPECT_NEAR(j["bytes_per_parameter"].get<double>(), 18, 1e-9);
  EXPECT_EQ(j["parameters"].get<double>(),
            total_parameters(r.scenario.model, padded_vocab(r.scenario.model, 4)));
  EXPECT_THAT(keys(j["sayings"][0]), ElementsAre("saying", "verdict", "value", "unit", "why"));
  const auto text = to_ledger_table(r.report, r.scenario, list);
  EXPECT_THAT(text, HasSubstr("closed form"));
  EXPECT_THAT(text, HasSubstr(list[3].saying));
}

}  // namespace
}  // namespace rehearse
