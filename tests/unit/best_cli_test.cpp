// `rehearse best` as the shell sees it: a small study is swept, then asked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/program.hpp"

using rehearse::test::ProgramRun;
using rehearse::test::run_program;
using rehearse::test::TemporaryFolder;
using rehearse::test::text_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace {

// 16 points: 4 of them refused (tp 3), 12 that fit or do not.
constexpr const char* kStudy = R"(name: small
base: 7b-8xa100-dp
set: {layout.dp: null}
axes:
  layout.tp: [2, 3, 4, 8]
  batch.micro: [1, 2]
  recompute: [none, full]
prices: {gpu_hour: 2.5, watts: 700}
)";

class BestCommand : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    std::ofstream(folder_->file("study.yaml")) << kStudy;
    const ProgramRun swept = run_program("sweep study.yaml --quiet --csv points.csv", folder_->file(""));
    ASSERT_EQ(swept.status, 0) << swept.err;
  }
  static void TearDownTestSuite() { delete folder_, folder_ = nullptr; }

  static ProgramRun run(const std::string& words) { return run_program(words, folder_->file("")); }
  static nlohmann::json answer(const std::string& words = "") {
    const ProgramRun done = run("best study.yaml --json - " + words);
    EXPECT_EQ(done.status, 0) << done.err;
    return nlohmann::json::parse(done.out);
  }
  // Every entry of account parts sums to its step.
  static double sum(const nlohmann::json& parts) {
    double total = 0;
    for (const auto& [part, seconds] : parts.items()) total += seconds.get<double>();
    return total;
  }
  static TemporaryFolder* folder_;
};
TemporaryFolder* BestCommand::folder_ = nullptr;

}  // namespace

TEST_F(BestCommand, CountsEveryPointOnce) {
  const nlohmann::json a = answer();
  EXPECT_EQ(a["points"], 16);
  EXPECT_EQ(a["rejected"], 4);
  EXPECT_EQ(a["rejected_by_code"]["E-LAYOUT-GPUS"], 4);
  EXPECT_EQ(a["missing"], 0);
  EXPECT_EQ(a["points"].get<int>(),
            a["rejected"].get<int>() + a["unfit"].get<int>() + a["simulated"].get<int>());
  EXPECT_GT(a["simulated"], 6);
}

TEST_F(BestCommand, RanksWithReasonsThatAddUp) {
  const nlohmann::json a = answer("--top 100");
  ASSERT_EQ(a["best"].size(), a["simulated"].get<size_t>());
  double before = 0;
  for (size_t i = 0; i + 1 < a["best"].size(); ++i) {
    const nlohmann::json &point = a["best"][i], &next = a["best"][i + 1];
    const double step = point["step_time_s"];
    EXPECT_GE(step, before);
    before = step;
    EXPECT_NEAR(sum(point["account_s"]), step, 1e-9 * step);
    EXPECT_NEAR(sum(point["beats_next"]["parts"]), step - next["step_time_s"].get<double>(), 1e-7 * step);
    EXPECT_NEAR(point["lead"], next["step_time_s"].get<double>() / step - 1, 1e-12);
    EXPECT_TRUE(point["within_error_of_first"].is_null());
  }
}

TEST_F(BestCommand, FrontHoldsWhatNoPointBeats) {
  const nlohmann::json a = answer("--top 100");
  std::set<int> front;
  for (const auto& point : a["front"]) front.insert(point["rank"].get<int>());
  EXPECT_TRUE(front.count(1));
  for (const auto& point : a["best"]) {
    bool beaten = false;
    for (const auto& other : a["best"])
      beaten = beaten ||
               (other["step_time_s"] <= point["step_time_s"] && other["peak_bytes"] <= point["peak_bytes"] &&
                (other["step_time_s"] < point["step_time_s"] || other["peak_bytes"] < point["peak_bytes"]));
    EXPECT_EQ(front.count(point["rank"].get<int>()), beaten ? 0u : 1u) << point["settings"];
  }
}

TEST_F(BestCommand, TheBestRunsToTheSameStep) {
  const nlohmann::json a = answer("--yaml winner.yaml");
  EXPECT_EQ(text_of(folder_->file("winner.yaml")), a["yaml"]);
  const TemporaryFolder elsewhere;
  const ProgramRun done =
      run_program("run " + folder_->file("winner.yaml") + " --quiet --json -", elsewhere.file(""));
  ASSERT_EQ(done.status, 0) << done.err;
  const nlohmann::json report = nlohmann::json::parse(done.out);
  EXPECT_EQ(report["step_time_s"], a["best"][0]["step_time_s"]);
  EXPECT_EQ(report["memory"]["peak_bytes"], a["best"][0]["peak_bytes"]);
  EXPECT_EQ(report["name"], "small-best");
  EXPECT_EQ(run("best study.yaml --yaml -").out, a["yaml"]);
}

// Files that a base names beside itself are found from elsewhere too; what a setting took away stays away.
TEST_F(BestCommand, TheBestFindsTheFilesOfItsBase) {
  const TemporaryFolder own, elsewhere;
  const std::string profile = REHEARSE_SOURCE_DIR "/calibration/profiles/a100-sxm4-80gb.yaml";
  std::ofstream(own.file("base.yaml"))
      << "model: models/llama2-7b.yaml\ncluster: {topology: dgx-a100-80g, nodes: 1}\nprofile: "
      << std::filesystem::relative(profile, own.file("")).string()
      << "\nlayout: {pp: 2, dp: 4, zero: 1}\nbatch: {global: 32, micro: 1}\nrecompute: full\nschedule: "
         "order.csv\n";
  const std::string folder = own.file("");
  ProgramRun done =
      run_program("run base.yaml --quiet --set schedule=1f1b --stop-after schedule --dump order.csv", folder);
  ASSERT_EQ(done.status, 0) << done.err;
  std::ofstream(own.file("s.yaml"))
      << "base: base.yaml\nset: {layout.dp: null, recompute: null}\naxes: {layout.zero: [1]}\n";
  ASSERT_EQ(run_program("sweep s.yaml --quiet", folder).status, 0);
  done = run_program("best s.yaml --yaml " + elsewhere.file("w.yaml") + " --json " + elsewhere.file("w.json"),
                     folder);
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(text_of(elsewhere.file("w.yaml")),
              AllOf(HasSubstr(folder + "order.csv"), Not(HasSubstr("recompute"))));
  done = run_program("run w.yaml --quiet --json -", elsewhere.file(""));
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(nlohmann::json::parse(done.out)["step_time_s"],
            nlohmann::json::parse(text_of(elsewhere.file("w.json")))["best"][0]["step_time_s"]);
}

TEST_F(BestCommand, SaysWhatTheErrorLeavesOpen) {
  EXPECT_THAT(run("best study.yaml").out, HasSubstr("error of the model: not known here"));
  EXPECT_THAT(run("best study.yaml --error 1e-9").out, HasSubstr("more than that: it is the best"));
  const nlohmann::json wide = answer("--error 1000");
  EXPECT_EQ(wide["error"]["cannot_be_told_apart"], wide["simulated"]);
  EXPECT_THAT(run("best study.yaml --error 1000").out, HasSubstr("cannot be told apart"));
  std::ofstream(folder_->file("score.json"))
      << R"({"families": [{"family": "f", "rows": 1, "mape": 0.5}], "mean_of_families": 0.25})";
  EXPECT_EQ(answer("--score score.json")["error"]["fraction"], 0.25);
  EXPECT_EQ(answer("--score score.json --family f")["error"]["fraction"], 0.5);
}

TEST_F(BestCommand, PlacesTheBaseAndNamedLayouts) {
  const nlohmann::json a = answer("--rank 'layout.tp=8; batch.micro=2' --rank layout.tp=5 --top 100");
  ASSERT_EQ(a["ranked"].size(), 3u);
  EXPECT_EQ(a["ranked"][0]["layout"], "base");
  const nlohmann::json& named = a["ranked"][1];
  const size_t rank = named["rank"];
  EXPECT_EQ(a["best"][rank - 1]["step_time_s"], named["step_time_s"]);
  EXPECT_NEAR(sum(named["against_best"]["parts"]),
              named["step_time_s"].get<double>() - a["best"][0]["step_time_s"].get<double>(), 1e-9);
  EXPECT_EQ(a["ranked"][2]["verdict"], "rejected");
  EXPECT_EQ(a["ranked"][2]["code"], "E-LAYOUT-GPUS");
}

TEST_F(BestCommand, TakesOnlyWhatFitsTheMemoryAskedFor) {
  const nlohmann::json all = answer("--top 100");
  double least = 1e300, most = 0;
  for (const auto& point : all["best"]) {
    least = std::min(least, point["peak_bytes"].get<double>());
    most = std::max(most, point["peak_bytes"].get<double>());
  }
  const nlohmann::json some =
      answer("--top 100 --memory '" + std::to_string(int64_t((least + most) / 2)) + " B'");
  EXPECT_GT(some["over_memory"], 0);
  EXPECT_EQ(some["over_memory"].get<int>() + some["simulated"].get<int>(), all["simulated"].get<int>());
  for (const auto& point : some["best"]) EXPECT_LE(point["peak_bytes"], (least + most) / 2);
  const ProgramRun none = run("best study.yaml --memory 1B");
  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(none.out, HasSubstr("no simulated point is within the memory"));
}

TEST_F(BestCommand, GoalsFollowFromTheFigures) {
  const nlohmann::json a = answer("--by cost");
  const nlohmann::json& best = a["best"][0];
  const double step = best["step_time_s"], tokens = step * best["tokens_per_s"].get<double>();
  EXPECT_NEAR(best["dollars_per_step"], 8 * step / 3600 * 2.5, 1e-9 * step);
  EXPECT_NEAR(best["dollars_per_1e9_tokens"], best["dollars_per_step"].get<double>() * 1e9 / tokens, 1e-6);
  EXPECT_NEAR(best["joules_per_step"], 8 * step * 700, 1e-6 * step);
  EXPECT_EQ(answer("--by energy")["best"][0]["settings"], best["settings"]);
  EXPECT_EQ(answer("--by tokens_per_s_per_gpu")["best"][0]["settings"], best["settings"]);
}

TEST_F(BestCommand, SaysWhichPointsAreMissing) {
  std::string wider = kStudy;
  wider.replace(wider.find("[1, 2]"), 6, "[1, 2, 4]");
  std::ofstream(folder_->file("wider.yaml")) << wider;
  const ProgramRun done = run("best wider.yaml");
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("8 missing from the store, or failed; to price them: rehearse sweep "
                                  "wider.yaml --store small.sqlite\n"));
  const ProgramRun nowhere = run("best study.yaml --store nowhere.sqlite");
  EXPECT_EQ(nowhere.status, 2);
  EXPECT_THAT(nowhere.err,
              AllOf(HasSubstr("[E-STORE-FILE]"), HasSubstr("rehearse sweep STUDY --store FILE")));
  // Another engine's points are others.
  EXPECT_THAT(run("best study.yaml --engine ideal").out, HasSubstr("16 missing from the store"));
}

TEST_F(BestCommand, RefusesWhatItCannotAnswer) {
  std::string free = kStudy;
  free.resize(free.find("prices"));
  std::ofstream(folder_->file("free.yaml")) << free;
  for (const char* words :
       {"--by cheapest", "--top 0", "--memory much", "--error -1", "--error 1 --score s", "--family f",
        "--rank tp", "--yaml - --json -", "--yaml study.yaml", "--json small.sqlite"}) {
    const ProgramRun done = run(std::string("best study.yaml ") + words);
    EXPECT_EQ(done.status, 2) << words;
    EXPECT_THAT(done.err, HasSubstr("[E-CLI]")) << words;
    EXPECT_EQ(done.out, "") << words;
  }
  EXPECT_THAT(run("best free.yaml --by cost").err, HasSubstr("prices: {gpu_hour"));
  EXPECT_THAT(run("best free.yaml --by energy").err, HasSubstr("prices: {watts"));
  EXPECT_THAT(run("best free.yaml").out, Not(HasSubstr("$/step")));
}

// A store where a scenario or a study is wanted is binary: it is named, and not shown.
TEST_F(BestCommand, NamesAStoreThatStandsForAStudy) {
  for (const char* command : {"best", "sweep", "run", "check", "compare", "ledger", "sensitivity", "score"}) {
    const ProgramRun done = run(std::string(command) + " small.sqlite");
    EXPECT_EQ(done.status, 2) << command;
    EXPECT_THAT(done.err, AllOf(HasSubstr("cannot read 'small.sqlite': it is a store of results, no text "
                                          "[E-FILE-READ]"),
                                HasSubstr("rehearse best STUDY --store FILE"), Not(HasSubstr("??"))))
        << command;
  }
}

TEST_F(BestCommand, TakesAnErrorWithItsSign) {
  EXPECT_EQ(run("best study.yaml --error 8.5%").out, run("best study.yaml --error 8.5").out);
  EXPECT_EQ(run("best study.yaml --error %").status, 2);
}
