// Studies: how axes, zips, conditions and the search unroll into points.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "sim/base/error.hpp"
#include "sim/study/axes.hpp"
#include "sim/study/study.hpp"

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

namespace rehearse {
namespace {

const fs::path kSource = REHEARSE_SOURCE_DIR;

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Study study_of(const std::string& text, const std::vector<std::string>& sets = {}) {
  std::string folder = (fs::temp_directory_path() / "rehearse-study-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary folder");
  const fs::path file = fs::path(folder) / "trial.yaml";
  std::ofstream(file) << text;
  struct Remove {
    fs::path what;
    ~Remove() { fs::remove_all(what); }
  } const remove{folder};
  return read_study(file.string(), sets, {{kSource.string()}});
}

Study axes(const std::string& text, const std::string& rest = "") {
  return study_of("base: gpt3-175b-1024xa100\naxes: " + text + "\n" + rest);
}

std::vector<std::string> joined(const Study& study) {
  std::vector<std::string> all;
  for (const auto& point : study.points) {
    std::string text;
    for (const auto& setting : point.settings) text += (text.empty() ? "" : " ") + setting;
    all.push_back(text);
  }
  return all;
}

std::string refusal(const std::string& text) {
  try {
    study_of(text);
  } catch (const InputErrors& found) {
    return found.what();
  }
  return "accepted";
}

// The value of a key in a point, "" where it has none.
std::string value(const Point& point, const std::string& key) {
  for (const auto& setting : point.settings)
    if (setting.starts_with(key + "=")) return setting.substr(key.size() + 1);
  return "";
}

TEST(StudyAxes, MultiplyTheLastVaryingFastest) {
  const Study study = axes("{layout.tp: [4, 8], batch.micro: [1, 2]}");
  EXPECT_THAT(joined(study), ElementsAre("layout.tp=4 batch.micro=1", "layout.tp=4 batch.micro=2",
                                         "layout.tp=8 batch.micro=1", "layout.tp=8 batch.micro=2"));
  EXPECT_THAT(study.axes, ElementsAre("layout.tp", "batch.micro"));
  EXPECT_EQ(study.name, "trial");
  EXPECT_EQ(fs::path(study.base).filename(), "gpt3-175b-1024xa100.yaml");
}

TEST(StudyAxes, RangesIncludeTheirEnd) {
  EXPECT_THAT(joined(axes("{batch.micro: {from: 1, to: 8, times: 2}}")),
              ElementsAre("batch.micro=1", "batch.micro=2", "batch.micro=4", "batch.micro=8"));
  EXPECT_THAT(joined(axes("{batch.micro: {from: 1, to: 6, step: 2}}")),
              ElementsAre("batch.micro=1", "batch.micro=3", "batch.micro=5"));
  EXPECT_THAT(joined(axes("{cluster.nic: {from: 0.1, to: 0.3, step: 0.1, unit: Tb/s}}")),
              ElementsAre("cluster.nic=0.1 Tb/s", "cluster.nic=0.2 Tb/s", "cluster.nic=0.3 Tb/s"));
  EXPECT_THAT(joined(axes("{batch.micro: {from: 3, to: 3, step: 1}}")), ElementsAre("batch.micro=3"));
}

TEST(StudyAxes, Divide) {
  EXPECT_THAT(joined(axes("{layout.chunks: {divisors: 12}}")),
              ElementsAre("layout.chunks=1", "layout.chunks=2", "layout.chunks=3", "layout.chunks=4",
                          "layout.chunks=6", "layout.chunks=12"));
  EXPECT_EQ(axes("{layout.pp: {divisors_of: layers}}").points.size(), 12U);                // of 96
  EXPECT_EQ(axes("{layout.pp: {divisors_of: gpus}}").points.size(), 11U);                  // of 1024
  EXPECT_EQ(axes("{layout.pp: {divisors_of: batch.global}}").points.size(), 20U);          // of 1536
  EXPECT_EQ(axes("{layout.pp: {divisors_of: cluster.gpus_per_node}}").points.size(), 4U);  // of its topology
}

TEST(StudyAxes, ZippedOnesVaryTogether) {
  EXPECT_THAT(joined(axes("{zip: {layout.tp: [4, 8], layout.pp: [16, 8]}, batch.micro: [1, 2]}")),
              ElementsAre("layout.tp=4 layout.pp=16 batch.micro=1", "layout.tp=4 layout.pp=16 batch.micro=2",
                          "layout.tp=8 layout.pp=8 batch.micro=1", "layout.tp=8 layout.pp=8 batch.micro=2"));
  EXPECT_EQ(axes("{zip: [{layout.tp: [4, 8], layout.pp: [16, 8]}, {batch.micro: [1, 2], recompute: [full, "
                 "none]}]}")
                .points.size(),
            4U);
}

TEST(StudyAxes, RepeatedValuesAreOnePoint) {
  EXPECT_EQ(axes("{layout.tp: [4, 8, 4], zip: {recompute: [full, full], batch.micro: [1, 1]}}").points.size(),
            2U);
}

TEST(StudyAxes, ValuesAreWhateverASettingTakes) {
  EXPECT_THAT(joined(axes("{recompute: [none, {full_layers: 2}], precision: ['bf16'], layout.dp: [null]}")),
              ElementsAre("recompute=none precision=\"bf16\" layout.dp=null",
                          "recompute={full_layers: 2} precision=\"bf16\" layout.dp=null"));
}

TEST(StudyAxes, ConditionsLeaveOutPoints) {
  EXPECT_THAT(joined(axes("{layout.tp: [4, 8], layout.pp: [8, 16]}", "when: layout.tp * layout.pp == 64")),
              ElementsAre("layout.tp=4 layout.pp=16", "layout.tp=8 layout.pp=8"));
  EXPECT_THAT(
      joined(axes("{layout.tp: [4, 8, 16]}", "when: [layout.tp < gpus / 100, layout.tp >= layout.pp]")),
      ElementsAre("layout.tp=8"));
  EXPECT_THAT(joined(axes("{precision: ['bf16', fp16]}", "when: precision == 'bf16'")),
              ElementsAre("precision=\"bf16\""));
}

TEST(Study, SettingsOfTheCommandLineComeLast) {
  const Study study = study_of(
      "base: gpt3-175b-1024xa100\nname: mine\nset: {layout.dp: null, batch.global: 3072}\n"
      "axes: {layout.pp: {divisors_of: batch.global}}\nprices: {gpu_hour: 2.5, watts: 700}\n",
      {"batch.global=512"});
  EXPECT_THAT(study.sets, ElementsAre("layout.dp=null", "batch.global=3072", "batch.global=512"));
  EXPECT_EQ(study.points.size(), 10U);
  EXPECT_EQ(study.name, "mine");
  EXPECT_EQ(study.dollars_per_gpu_hour, 2.5);
  EXPECT_EQ(study.watts_per_gpu, 700);
}

TEST(Study, TooManyPointsAreRefusedAtOnce) {
  const std::string many = "{from: 1, to: 2000, step: 1}";
  EXPECT_THAT(
      refusal("base: gpt3-175b-1024xa100\naxes: {batch.micro: " + many + ", batch.global: " + many + "}\n"),
      HasSubstr("more than 1000000 points [E-STUDY-POINTS]"));
  EXPECT_THAT(refusal("base: gpt3-175b-1024xa100\naxes: {batch.micro: " + many + ", batch.global: " + many +
                      ", layout.tp: " + many + "}\nwhen: batch.micro == 1\n"),
              HasSubstr("more than 100000000 products of its axes [E-STUDY-POINTS]"));
}

TEST(StudySearch, CoversTheTextbookAndUsesAllGpus) {
  const Study study = study_of("base: gpt3-175b-1024xa100\nsearch: layout\n");
  const auto points = joined(study);
  EXPECT_GT(points.size(), 5000U);
  EXPECT_EQ(std::set<std::string>(points.begin(), points.end()).size(), points.size());
  EXPECT_EQ(std::count(points.begin(), points.end(),
                       "layout.tp=8 layout.pp=8 layout.dp=16 schedule=1f1b layout.chunks=1 batch.micro=1 "
                       "recompute=full layout.zero=0 layout.sequence_parallel=false"),
            1);
  std::set<std::string> tp, pp;
  for (const auto& point : study.points) {
    const auto number = [&](const char* key) { return std::stol(value(point, key)); };
    EXPECT_EQ(number("layout.tp") * number("layout.pp") * number("layout.dp"), 1024);
    EXPECT_TRUE(number("layout.dp") > 1 || number("layout.zero") == 0);
    EXPECT_TRUE(number("layout.tp") > 1 || value(point, "layout.sequence_parallel") == "false");
    EXPECT_TRUE(number("layout.pp") > 1 || value(point, "schedule") == "1f1b");
    EXPECT_TRUE(value(point, "schedule") != "zb-v" || number("layout.chunks") == 2);
    tp.insert(value(point, "layout.tp")), pp.insert(value(point, "layout.pp"));
  }
  EXPECT_THAT(tp, testing::UnorderedElementsAre("1", "2", "4", "8", "16"));
  EXPECT_THAT(pp, testing::UnorderedElementsAre("1", "2", "4", "8", "16", "32", "64"));
}

TEST(StudySearch, CanBeNarrowed) {
  const Study study = study_of(
      "base: gpt3-175b-1024xa100\nsearch: {layout: {tp: [8], pp: [8], micro: [1, 2], schedules: "
      "[interleaved], "
      "chunks: [2, 3], recompute: [full], zero: [1], sequence_parallel: [true]}}\nwhen: layout.dp == 16\n");
  EXPECT_EQ(study.points.size(), 4U);
  EXPECT_EQ(joined(study).front(),
            "layout.tp=8 layout.pp=8 layout.dp=16 schedule=interleaved layout.chunks=2 batch.micro=1 "
            "recompute=full layout.zero=1 layout.sequence_parallel=true");
}

TEST(StudySearch, LeavesOutWhatFitsTheBaseAlone) {
  const Study study = study_of(
      "base: gpt3-175b-1024xa100\nset: {layout.stage_layers: [12, 12, 12, 12, 12, 12, 12, 12]}\nsearch: "
      "layout\n");
  EXPECT_EQ(study.sets.back(), "layout.stage_layers=null");
}

TEST(Study, EveryShippedOneIsRead) {
  size_t count = 0;
  for (const auto& entry : fs::directory_iterator(kSource / "scenarios" / "studies")) {
    const Study study = read_study(entry.path().string(), {}, {{kSource.string()}});
    EXPECT_GT(study.points.size(), 10U) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 2U);
}

TEST(Study, TheExamplesOfTheReferenceAreRead) {
  const std::string text = text_of(kSource / "sim" / "study" / "README.md"), fence = "```yaml\n";
  size_t count = 0;
  for (size_t at = text.find(fence); at != std::string::npos; at = text.find(fence, at + 1)) {
    const size_t from = at + fence.size();
    EXPECT_FALSE(study_of(text.substr(from, text.find("```", from) - from)).points.empty());
    ++count;
  }
  EXPECT_EQ(count, 3U);
}

}  // namespace
}  // namespace rehearse
