// `rehearse scale` as the shell sees it, against runs of the settings that it names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sim/study/scale.hpp"
#include "tests/support/program.hpp"

using rehearse::test::ProgramRun;
using rehearse::test::run_program;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

ProgramRun scale(const std::string& words) {
  return run_program("scale 7b-8xa100-dp " + words + " --quiet --set layout.zero=1 --set recompute=full",
                     ".");
}

nlohmann::json sizes_of(const std::string& words) {
  const ProgramRun done = scale(words + " --json -");
  EXPECT_EQ(done.status, 0) << done.err;
  return nlohmann::json::parse(done.out)["scale"];
}

// The step that `run` gives for what a size was answered with.
nlohmann::json run(const nlohmann::json& size) {
  std::string words = "run 7b-8xa100-dp --quiet --json -";
  for (const auto& setting : size["settings"]) words += " --set '" + setting.get<std::string>() + "'";
  const ProgramRun done = run_program(words, ".");
  EXPECT_EQ(done.status, 0) << done.err;
  return nlohmann::json::parse(done.out);
}

}  // namespace

TEST(Scale, SizesDouble) {
  EXPECT_THAT(rehearse::doubling(64, 512), ElementsAre(64, 128, 256, 512));
  EXPECT_THAT(rehearse::doubling(6, 20), ElementsAre(6, 12));
  EXPECT_THAT(rehearse::doubling(8, 8), ElementsAre(8));
}

TEST(Scale, EfficiencyIsThatOfTokensAGpu) {
  std::vector<rehearse::ScaleResult> results(5);
  const double speeds[] = {0, 200, 150, 100, 120};  // tokens/s/GPU; nothing ran at the first
  for (size_t i = 1; i < results.size(); ++i) {
    results[i].weak = i >= 3;
    results[i].best.emplace().tokens_per_s_per_gpu = speeds[i];
  }
  rehearse::scale_efficiency(results);
  std::vector<double> efficiencies;
  for (const auto& r : results) efficiencies.push_back(r.efficiency);
  EXPECT_THAT(efficiencies, ElementsAre(0, 1, 0.75, 1, 1.2));
}

TEST(Scale, KeepChangesTheReplicasAlone) {
  const nlohmann::json sizes = sizes_of("--gpus 8..32 --layouts keep");
  ASSERT_EQ(sizes.size(), 6u);
  for (size_t i = 0; i < 6; ++i) {
    const nlohmann::json& size = sizes[i];
    EXPECT_EQ(size["scaling"], i < 3 ? "strong" : "weak");
    EXPECT_EQ(size["gpus"], 8 << i % 3);
    EXPECT_EQ(size["layout"]["dp"], 8 << i % 3);
    EXPECT_EQ(size["batch"].get<int>(), sizes[0]["batch"].get<int>() << (i < 3 ? 0 : i - 3));
    const nlohmann::json report = run(size);
    EXPECT_EQ(size["step_time_s"], report["step_time_s"]);
    EXPECT_EQ(size["bubble_fraction"], report["bubble_fraction"]);
    EXPECT_NEAR(size["efficiency"],
                size["tokens_per_s_per_gpu"].get<double>() / sizes[0]["tokens_per_s_per_gpu"].get<double>(),
                1e-9);
  }
}

TEST(Scale, SearchIsNeverWorseThanKeeping) {
  const nlohmann::json kept = sizes_of("--gpus 8..16 --strong --layouts keep"),
                       found = sizes_of("--gpus 8..16 --strong");
  ASSERT_EQ(found.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_LE(found[i]["step_time_s"], kept[i]["step_time_s"]);
    EXPECT_EQ(found[i]["points"].get<int>(), found[i]["rejected"].get<int>() + found[i]["unfit"].get<int>() +
                                                 found[i]["simulated"].get<int>());
    EXPECT_GT(found[i]["simulated"], 20);
    EXPECT_EQ(run(found[i])["step_time_s"], found[i]["step_time_s"]);
  }
  EXPECT_LT(found[0]["step_time_s"], kept[0]["step_time_s"]);
}

// What it tries beside its answer is no faster: neither alone nor together with another change.
TEST(Scale, NothingThatItTriesBeatsItsAnswer) {
  const nlohmann::json size = sizes_of("--gpus 16..16 --strong")[0];
  for (const char* one :
       {"recompute=none", "recompute=selective", "schedule=zb-h1", "batch.micro=1", "batch.micro=4"})
    for (const char* two : {"layout.zero=0", "layout.zero=1", "batch.micro=2"}) {
      std::string words = "run 7b-8xa100-dp --quiet --json -";
      for (const auto& setting : size["settings"]) words += " --set '" + setting.get<std::string>() + "'";
      const ProgramRun done =
          run_program(words + " --set layout.chunks=1 --set " + one + " --set " + two, ".");
      if (done.status != 0) continue;  // refused, or it does not fit
      EXPECT_GE(nlohmann::json::parse(done.out)["step_time_s"].get<double>(),
                size["step_time_s"].get<double>() * (1 - 1e-9))
          << one << ' ' << two;
    }
}

TEST(Scale, SaysWhatDoesNotGo) {
  const nlohmann::json odd = sizes_of("--gpus 4..8 --layouts keep");
  EXPECT_EQ(odd[0]["code"], "E-SCALE-WHOLE");
  EXPECT_FALSE(odd[0].contains("step_time_s"));
  EXPECT_EQ(odd[1]["efficiency"], 1);
  EXPECT_THAT(scale("--gpus 4..8 --layouts keep").out,
              HasSubstr("4 GPUs are no whole nodes of 8 [E-SCALE-WHOLE]"));
  // More replicas than sequences.
  const ProgramRun many = scale("--gpus 1048576 --layouts keep --strong");
  EXPECT_EQ(many.status, 1);
  EXPECT_THAT(many.out, HasSubstr("[E-BATCH-GLOBAL]"));
  const ProgramRun large = run_program("scale gpt3-175b-1024xa100 --gpus 8 --strong --quiet", ".");
  EXPECT_EQ(large.status, 1);
  EXPECT_THAT(large.out, HasSubstr("[E-SCALE-MEMORY]"));
}

TEST(Scale, RefusesWhatIsNoRange) {
  for (const char* words : {"", "--gpus x", "--gpus 0..8", "--gpus 16..8", "--gpus 8..99999999999",
                            "--gpus 8 --jobs 0", "--gpus 8 --layouts keeps"}) {
    const ProgramRun done = scale(words);
    EXPECT_EQ(done.status, 2) << words;
    EXPECT_THAT(done.err, HasSubstr("[E-CLI]")) << words;
    EXPECT_EQ(done.out, "") << words;
  }
}
