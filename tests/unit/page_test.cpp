// The payload of a page: what stands in it, that it is safe in a script element, and what is refused.
#include "sim/view/page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "sim/engine/engine.hpp"
#include "sim/graph/lower.hpp"
#include "sim/view/text.hpp"
#include "tests/support/report_step.hpp"
#include "tests/support/scenarios.hpp"
#include "tests/support/skip.hpp"

namespace rehearse {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Ran {
  Scenario scenario;
  Schedule schedule;
  TaskGraph graph;
  Timeline timeline;
  Report report;
};

Ran ran() {
  Ran r{.scenario = test::small_scenario()};
  auto& s = r.scenario;
  s.layout.tp = 4, s.layout.pp = 2, s.layout.dp = 2, s.batch.global = 8;
  s.cluster.nodes = 2;
  r.schedule = build_schedule(s.schedule, {2, s.micro_batches(), 1});
  r.graph = lower(s, r.schedule);
  r.timeline = run_ideal(r.graph);
  r.report = make_report(s, r.schedule, r.graph, r.timeline);
  return r;
}

Json run_json(const Ran& r, const std::string& text = "") {
  return Json::parse(page_run("a.yaml", text, {"x=1"}, r.scenario, r.report,
                              page_timeline(r.graph, r.timeline, r.schedule)));
}

std::string code_of(const std::string& text) {
  try {
    page_part("a.json", text);
  } catch (const InputErrors& found) {
    return found.errors.at(0).code + ": " + found.errors.at(0).message;
  }
  return "none";
}

TEST(PageRun, EveryActionIsOnTheTimelineWithItsTimes) {
  const Ran r = ran();
  const Json run = run_json(r);
  const auto spans = action_spans(r.graph, r.timeline, r.schedule);
  ASSERT_EQ(run["timeline"]["stages"].size(), 2U);
  for (size_t s = 0; s < 2; ++s) {
    const Json& runs = run["timeline"]["stages"][s]["runs"];
    const auto kinds = runs["kind"].get<std::string>();
    EXPECT_EQ(std::count(kinds.begin(), kinds.end(), 'F'), r.scenario.micro_batches());
    EXPECT_EQ(std::count(kinds.begin(), kinds.end(), 'B'), r.scenario.micro_batches());
    EXPECT_GE(std::count(kinds.begin(), kinds.end(), 'O'), 1);  // the optimizer
    for (const char* column : {"name", "chunk", "micro", "start_ns", "length_ns"})
      EXPECT_EQ(runs[column].size(), kinds.size()) << column;
    double busy = 0, wanted = 0;
    for (size_t i = 0; i < kinds.size(); ++i)
      if (kinds[i] != 'O') busy += runs["length_ns"][i].get<double>() * 1e-9;
    for (const auto& span : spans[s]) wanted += span.end - span.start;
    EXPECT_NEAR(busy, wanted, 1e-9 * double(kinds.size()));
    EXPECT_TRUE(std::is_sorted(runs["start_ns"].begin(), runs["start_ns"].end()));
  }
}

TEST(PageRun, TransfersAreOfBothEnds) {
  const Json run = run_json(ran());
  for (const Json& stage : run["timeline"]["stages"]) {
    const auto kinds = stage["transfers"]["kind"].get<std::string>();
    EXPECT_EQ(std::count(kinds.begin(), kinds.end(), 'p') >= 2 * 4, true) << kinds;
    EXPECT_GE(std::count(kinds.begin(), kinds.end(), 'd'), 1) << kinds;
  }
}

TEST(PageRun, MemoryOverTimeReachesThePeakOfTheReport) {
  const Ran r = ran();
  const Json run = run_json(r);
  for (size_t s = 0; s < 2; ++s) {
    const Json& over = run["memory_over_time"][s];
    const auto& peak = r.report.memory.stages[s].peak;
    double most = 0;
    for (size_t i = 0; i < over["time_ns"].size(); ++i)
      most = std::max(most, over["activations"][i].get<double>() + over["logits"][i].get<double>());
    EXPECT_NEAR(most, peak.activations + peak.logits, 2);
  }
}

TEST(PageRun, HoldsTheReportAndWhatWasAsked) {
  const Ran r = ran();
  const Json run = run_json(r, "name: x\n");
  EXPECT_EQ(run["report"], Json::parse(to_json(r.report, r.scenario)));
  EXPECT_EQ(run["scenario_text"], "name: x\n");
  EXPECT_EQ(run["sets"], Json({"x=1"}));
  EXPECT_THAT(run["setup"].dump(), HasSubstr("TP 4 x PP 2 x DP 2"));
  EXPECT_EQ(run_json(r), run_json(r));
}

TEST(PagePayload, CannotEndItsScriptElement) {
  const std::string bad = "</script><!--\"'&\xe6\xad\xa9\xff";
  const Ran r = ran();
  PageSweep sweep{.name = bad, .verdict = {"rejected"}, .code = {bad}, .settings = {{bad, {bad}, {}}}};
  const std::string payload = page_payload(
      {.title = bad, .version = bad, .runs = {run_json(r, bad).dump()}, .sweeps = {page_sweep(sweep)}});
  EXPECT_EQ(payload.find('<'), std::string::npos);
  const Json json = Json::parse(payload);
  EXPECT_EQ(json["title"], "</script><!--\"'&\xe6\xad\xa9\xef\xbf\xbd");
  EXPECT_EQ(json["sweeps"][0]["settings"][0]["values"][0], json["title"]);
  EXPECT_EQ(json["runs"][0]["scenario_text"], json["title"]);
}

TEST(PageSweep, ColumnsAreShortAndWhatIsUnknownIsNull) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const Json json = Json::parse(page_sweep({.name = "s",
                                            .capacity_bytes = 8,
                                            .verdict = {"simulated", "unfit", "simulated"},
                                            .code = {"", "", ""},
                                            .settings = {{"tp", {"8", "4", "8"}, {}}},
                                            .figures = {{"step_time_s", {}, {1.23456789, none, 1e12}}}}));
  EXPECT_EQ(json["rows"], 3);
  EXPECT_EQ(json["settings"][0]["values"], Json({"8", "4"}));
  EXPECT_EQ(json["settings"][0]["at"], Json({0, 1, 0}));
  EXPECT_EQ(json["verdict"]["at"], Json({0, 1, 0}));
  EXPECT_EQ(json["figures"][0]["numbers"].dump(), "[1.23457,null,1000000000000]");
}

TEST(PagePart, TellsResultsByTheirKeys) {
  const Ran r = ran();
  const PagePart run = page_part("a.json", to_json(r.report, r.scenario));
  EXPECT_EQ(run.kind, PagePart::Kind::run);
  EXPECT_EQ(Json::parse(run.json)["source"], "a.json");
  EXPECT_EQ(page_part("s.json", R"({"sensitivity": [{"knob": "k", "factor": 2, "step_time_s": 1}]})").kind,
            PagePart::Kind::sensitivity);
  EXPECT_EQ(page_part("s.json", R"({"families": [], "mean_of_families": 0.1})").kind, PagePart::Kind::score);
}

TEST(PagePart, RefusesWhatCannotBeShown) {
  EXPECT_THAT(code_of("{"), HasSubstr("E-REPORT-JSON: 'a.json' is no JSON object"));
  EXPECT_THAT(code_of("[1]"), HasSubstr("E-REPORT-JSON"));
  EXPECT_THAT(code_of("{}"), HasSubstr("step_time_s"));
  EXPECT_THAT(code_of(R"({"sensitivity": [{"knob": "k", "factor": "2", "step_time_s": 1}]})"),
              HasSubstr("E-REPORT-JSON"));
  const Ran r = ran();
  Json report = Json::parse(to_json(r.report, r.scenario));
  report["ledger"][0].erase("exposed_s");
  EXPECT_THAT(code_of(report.dump()), HasSubstr("exposed_s"));
}

TEST(PageText, PutsThePayloadInItsPlace) {
  EXPECT_EQ(fill_page("<a>@PAYLOAD@</a>", "{}"), "<a>{}</a>");
  EXPECT_THROW(fill_page("<a></a>", "{}"), std::logic_error);
  if (page_template().empty()) GTEST_SKIP() << test::no_page();
  EXPECT_THAT(std::string(fill_page(page_template(), R"({"page":7})")),
              HasSubstr(R"(id="payload">{"page":7}</script>)"));
}

}  // namespace
}  // namespace rehearse
