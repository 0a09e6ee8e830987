// Points, from settings to figures: the same as `rehearse run` prints, and digests that tell points apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/study/price.hpp"

namespace fs = std::filesystem;

namespace rehearse {
namespace {

const std::string kRoot = REHEARSE_SOURCE_DIR;
const std::string kBase = kRoot + "/scenarios/gpt3-175b-1024xa100.yaml";

class Prices : public testing::Test {
 protected:
  Study study{
      .file = "s.yaml", .name = "s", .base = kBase, .sets = {"layout.dp=null"}, .axes = {}, .points = {}};
  const DataRoots roots{{kRoot}};
  Outcome price(const std::vector<std::string>& settings, size_t engine = 0) {
    return Pricer(study, roots, engine_table()[engine]).price({settings});
  }
  std::string digest(const std::vector<std::string>& settings, size_t engine = 0) {
    return Pricer(study, roots, engine_table()[engine]).digest({settings});
  }
};

double figure(const Outcome& outcome, std::string_view name) {
  for (size_t i = 0; i < figure_table().size(); ++i)
    if (figure_table()[i].name == name) return outcome.figures.at(i);
  ADD_FAILURE() << "no figure " << name;
  return 0;
}

nlohmann::json run_json(const std::vector<std::string>& settings) {
  std::string command = std::string(REHEARSE_BINARY) + " run " + kBase + " --quiet --json -";
  for (const auto& set : settings) command += " --set '" + set + "'";
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  char buffer[4096];
  for (size_t n = 0; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
  pclose(pipe);
  return nlohmann::json::parse(text);
}

// What a figure is in the report's JSON.
double in_json(const nlohmann::json& report, std::string_view name) {
  const auto dot = name.find('.');
  const std::string group(name.substr(0, dot)),
      key(dot == std::string_view::npos ? "" : name.substr(dot + 1));
  if (key.empty()) return report.at(group);
  if (group == "ledger") {
    const std::string axis = key.substr(0, 2), column = key.substr(3);
    double sum = 0;
    for (const auto& row : report.at("ledger"))
      if (row.at("axis") == axis) sum += row.at(column).get<double>() * row.at("ranks").get<double>();
    return sum / report.at("engine").at("ranks").get<double>();
  }
  if (group == "memory" && !report.at("memory").contains(key)) {
    nlohmann::json fullest;
    for (const auto& stage : report.at("memory").at("stages"))
      if (fullest.is_null() || stage.at("peak_bytes") > fullest.at("peak_bytes")) fullest = stage;
    return fullest.at("parts").at(key);
  }
  const nlohmann::json& value = report.at(group).at(key);
  if (!value.is_array()) return value;
  double most = 0;
  for (const double each : value) most = std::max(most, each);
  return most;
}

TEST_F(Prices, AreTheFiguresOfARun) {
  const std::vector<std::vector<std::string>> points = {
      {},
      {"layout.tp=4", "layout.pp=16", "batch.micro=2", "layout.zero=1"},
      {"schedule=interleaved", "layout.chunks=3", "recompute=selective", "layout.sequence_parallel=true"},
      {"schedule=zb-v", "layout.pp=16", "layout.chunks=null"},
      {"layout.tp=16", "layout.pp=4", "cluster.nodes=8", "batch.global=16"}};
  for (const auto& settings : points) {
    auto all = study.sets;
    all.insert(all.end(), settings.begin(), settings.end());
    const nlohmann::json report = run_json(all);
    const Outcome outcome = price(settings);
    ASSERT_EQ(outcome.verdict, Verdict::simulated) << outcome.code << outcome.message;
    for (const auto& row : figure_table()) {
      if (row.name == "engine.shared_flows") continue;  // a figure of stores alone
      EXPECT_NEAR(figure(outcome, row.name), in_json(report, row.name),
                  1e-12 * std::abs(in_json(report, row.name)))
          << row.name;
    }
    const auto& stages = report.at("memory").at("stages");
    ASSERT_EQ(outcome.stage_peak_bytes.size(), stages.size());
    for (size_t s = 0; s < stages.size(); ++s)
      EXPECT_NEAR(outcome.stage_peak_bytes[s], stages[s].at("peak_bytes").get<double>(), 1);
  }
}

TEST_F(Prices, KnowNothingButMemoryOfWhatDoesNotFit) {
  const Outcome outcome = price({"recompute=none", "batch.micro=4"});
  EXPECT_EQ(outcome.verdict, Verdict::unfit);
  EXPECT_EQ(outcome.stage_peak_bytes.size(), 8U);
  EXPECT_GT(figure(outcome, "memory.peak_bytes"), figure(outcome, "memory.capacity_bytes"));
  EXPECT_GT(figure(outcome, "memory.activations"), 0);
  EXPECT_TRUE(std::isnan(figure(outcome, "step_time_s")));
  EXPECT_TRUE(std::isnan(figure(outcome, "engine.ranks")));
  EXPECT_EQ(outcome.code, "");
}

TEST_F(Prices, NameTheFirstReasonOfARefusal) {
  const Outcome outcome = price({"layout.tp=7"});
  EXPECT_EQ(outcome.verdict, Verdict::rejected);
  EXPECT_EQ(outcome.code, "E-LAYOUT-GPUS");
  EXPECT_THAT(outcome.message, testing::HasSubstr("does not divide the GPUs"));
  EXPECT_EQ(outcome.figures.size(), figure_table().size());
  EXPECT_TRUE(std::isnan(figure(outcome, "memory.peak_bytes")));
  EXPECT_TRUE(outcome.stage_peak_bytes.empty());
  EXPECT_EQ(price({"layout.no_such=1"}).code, "E-KEY-UNKNOWN");
  EXPECT_EQ(price({"profile=nowhere"}).code, "E-FILE-MISSING");
  EXPECT_EQ(price({"rubbish"}).code, "E-SET");
}

TEST_F(Prices, DoNotDependOnTheirOrder) {
  Pricer pricer(study, roots, engine_table()[1]);
  const std::vector<Point> points = {
      {{"layout.tp=16"}}, {{"profile=h100-sxm5-80gb"}}, {{"recompute=none", "model.layers=48"}}, {{}}};
  std::vector<Outcome> forwards;
  for (const auto& point : points) forwards.push_back(pricer.price(point));
  for (size_t i = points.size(); i-- > 0;) {
    ASSERT_EQ(forwards[i].verdict, Verdict::simulated) << forwards[i].code;
    EXPECT_EQ(pricer.price(points[i]).figures, forwards[i].figures);
    EXPECT_EQ(price(points[i].settings, 1).figures, forwards[i].figures);
  }
  EXPECT_NE(forwards[0].figures, forwards[3].figures);
}

TEST_F(Prices, AreOfTheEngineAskedFor) {
  const std::vector<std::string> shared = {"layout.tp=16", "layout.pp=4", "cluster.nodes=16",
                                           "batch.global=16", "overlap.p2p=true"};
  EXPECT_LE(figure(price(shared, 1), "step_time_s"), figure(price(shared, 0), "step_time_s"));
  EXPECT_NE(digest(shared, 0), digest(shared, 1));
}

TEST_F(Prices, CountFlowsThatShareLinks) {
  // Two replicas a node, each of which hands its activations on over the NICs of that node.
  const std::vector<std::string> shared = {"layout.tp=4", "layout.pp=8", "recompute=full", "model.layers=16",
                                           "cluster.nics_per_node=4"};
  EXPECT_GT(figure(price(shared, 0), "engine.shared_flows"), 0);
  EXPECT_EQ(figure(price(shared, 1), "engine.shared_flows"), 0);
  EXPECT_GE(figure(price(shared, 0), "step_time_s"), figure(price(shared, 1), "step_time_s"));
}

TEST_F(Prices, HaveFiguresOfUniqueNames) {
  std::set<std::string_view> names;
  for (const auto& row : figure_table()) EXPECT_TRUE(names.insert(row.name).second) << row.name;
  EXPECT_GE(names.size(), 40U);
}

TEST_F(Prices, DigestsTellPointsApart) {
  const std::string one = digest({"layout.tp=4"});
  EXPECT_EQ(one.size(), 32U);
  EXPECT_EQ(one.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(digest({"layout.tp=4"}), one);
  std::set<std::string> digests = {one,
                                   digest({"layout.tp=8"}),
                                   digest({}),
                                   digest({"layout.tp=4", "layout.pp=4"}),
                                   digest({"layout.pp=4", "layout.tp=4"}),
                                   digest({"layout.tp=4layout.pp=4"}),
                                   digest({"profile=h100-sxm5-80gb"}),
                                   digest({"profile=nowhere"})};
  study.sets.clear();
  digests.insert(digest({"layout.tp=4"}));
  EXPECT_EQ(digests.size(), 9U);
}

TEST_F(Prices, DigestsFollowEveryFileThatIsRead) {
  std::string folder = (fs::temp_directory_path() / "rehearse-digest-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  for (const char* part : {"topologies", "calibration/profiles"}) {
    fs::create_directories(fs::path(folder) / part);
    fs::copy(fs::path(kRoot) / part, fs::path(folder) / part, fs::copy_options::recursive);
  }
  fs::create_directories(fs::path(folder) / "scenarios/models");
  fs::copy(fs::path(kRoot) / "scenarios/models/gpt3-175b.yaml", fs::path(folder) / "scenarios/models");
  fs::copy(kBase, fs::path(folder) / "scenarios");
  const DataRoots copied{{folder}};
  study.base = folder + "/scenarios/gpt3-175b-1024xa100.yaml";
  std::ofstream(folder + "/scenarios/mine.csv") << "stage,kind,chunk,micro\n";
  const Point point{{"schedule=mine.csv"}};
  const auto of = [&] { return Pricer(study, copied, engine_table()[0]).digest(point); };
  std::set<std::string> digests = {of()};
  EXPECT_EQ(*digests.begin(), of());
  size_t count = 1;
  for (const char* file :
       {"scenarios/gpt3-175b-1024xa100.yaml", "scenarios/models/gpt3-175b.yaml",
        "topologies/dgx-a100-80g.yaml", "calibration/profiles/a100-sxm4-80gb.yaml",
        "calibration/profiles/a100-sxm4-80gb/a100_1x8_all_reduce_aic2273.csv", "scenarios/mine.csv"}) {
    std::ofstream(folder + "/" + file, std::ios::app) << "\n";
    digests.insert(of());
    EXPECT_EQ(digests.size(), ++count) << file;
  }
  fs::remove_all(folder);
}

// A killed process of SimGrid costs a try, and no more than two are made.
TEST(NumbersFromChild, AreAskedForOnceMoreWhereItDies) {
  const std::string mark = ::testing::TempDir() + "died_once";
  std::remove(mark.c_str());
  const auto dies_once = [&]() -> std::vector<double> {
    if (std::FILE* there = std::fopen(mark.c_str(), "r")) {
      std::fclose(there);
      return {1, 2};
    }
    std::fclose(std::fopen(mark.c_str(), "w"));
    raise(SIGKILL);
    return {};
  };
  EXPECT_EQ(numbers_from_child(dies_once), (std::vector<double>{1, 2}));
  const auto dies = []() -> std::vector<double> {
    raise(SIGKILL);
    return {};
  };
  EXPECT_THROW(numbers_from_child(dies), ProcessDied);
  std::remove(mark.c_str());
}

}  // namespace
}  // namespace rehearse
