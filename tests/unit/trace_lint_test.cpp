// Traces of many steps break no viewer's rule, and each rule finds a trace that breaks it.
#include <gmock/gmock.h>

#include <functional>

#include "tests/support/trace_files.hpp"

namespace rehearse::test {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Key;
using Json = nlohmann::json;

std::vector<StepShape> shapes() {
  std::vector<StepShape> all;
  for (int pp : {1, 2, 4})
    for (int dp : {1, 2})
      for (bool folded : {true, false})
        for (double kernel : {1.37e-5, 0.9e-6, 2.7e-8, 0.00123457}) {
          if (dp == 1 && folded) continue;
          StepShape shape;
          shape.pp = pp;
          shape.dp = dp;
          shape.folded = folded;
          shape.kernel = kernel;
          shape.transfer = kernel * 1.9;
          shape.micro = pp + 2;
          all.push_back(shape);
        }
  return all;
}

TEST(TraceLint, MergedFilesAreClean) {
  for (const StepShape& shape : shapes()) {
    const Step step = make_step(shape);
    for (TraceDetail detail : {TraceDetail::chunk, TraceDetail::kernel}) {
      const TraceLintOptions ends{on_grid(step.timeline.step, 8)};
      EXPECT_THAT(lint_trace(merged_text(step, {detail, {}}), ends), IsEmpty())
          << shape.pp << " " << shape.kernel;
    }
  }
}

TEST(TraceLint, RankFilesAreClean) {
  for (const StepShape& shape : shapes()) {
    if (shape.kernel < 1e-7) continue;  // nothing is left of it on a grid of 1 us
    const Step step = make_step(shape);
    const TemporaryFolder folder;
    for (TraceDetail detail : {TraceDetail::chunk, TraceDetail::kernel}) {
      write_dir(folder.file("ranks"), step, {detail, {}});
      for (const UnitInfo& unit : step.graph.units) {
        const std::string name = "ranks/rank" + std::to_string(unit.ranks[0].value) + ".pt.trace.json.gz";
        const std::string text = read_trace(folder.file(name));
        EXPECT_THAT(lint_trace(text), IsEmpty()) << name << " " << shape.kernel;
      }
    }
  }
}

// Overlapping slices are a fault of the graph; the writer must not hide it.
TEST(TraceLint, TasksThatOverlapOnALaneAreSeen) {
  Step step = make_step();
  for (size_t t = 0; t < step.graph.tasks.size(); ++t)
    if (step.graph.tasks[t].pipeline && step.graph.tasks[t].micro.value == 1) step.timeline.start[t] -= 1e-6;
  EXPECT_THAT(lint_trace(merged_text(step)), Contains(Key("overlap")));
}

struct Break {
  const char* rule;
  std::function<void(Json&)> apply;
};

Json& first(Json& doc, const char* phase) {
  for (Json& e : doc["traceEvents"])
    if (e["ph"] == phase) return e;
  throw std::logic_error("no such event");
}

Json& last(Json& doc, const char* phase) {
  Json* found = nullptr;
  for (Json& e : doc["traceEvents"])
    if (e["ph"] == phase) found = &e;
  if (found == nullptr) throw std::logic_error("no such event");
  return *found;
}

void erase_all(Json& doc, const std::function<bool(const Json&)>& which) {
  Json kept = Json::array();
  for (const Json& e : doc["traceEvents"])
    if (!which(e)) kept.push_back(e);
  doc["traceEvents"] = kept;
}

const Break kBreaks[] = {
    {"document", [](Json& d) { d = d["traceEvents"]; }},
    {"display unit", [](Json& d) { d["displayTimeUnit"] = "ms"; }},
    {"left out", [](Json& d) { d["otherData"].erase("left_out_below_grid"); }},
    {"integer ids", [](Json& d) { first(d, "X")["pid"] = "1"; }},
    {"integer ids", [](Json& d) { first(d, "X")["tid"] = 1.5; }},
    {"integer ids", [](Json& d) { first(d, "X").erase("tid"); }},
    {"pid 0", [](Json& d) { first(d, "X")["pid"] = 0; }},
    {"time", [](Json& d) { first(d, "X")["ts"] = "0"; }},
    {"time", [](Json& d) { first(d, "X")["ts"] = -1; }},
    {"time", [](Json& d) { last(d, "i")["ts"] = 1.7e15; }},
    {"time", [](Json& d) { first(d, "M").erase("ts"); }},
    {"grid", [](Json& d) { first(d, "X")["dur"] = 10.0625; }},
    {"grid", [](Json& d) { last(d, "i")["ts"] = last(d, "i")["ts"].get<double>() + 0.01; }},
    {"order", [](Json& d) { std::swap(first(d, "X")["ts"], last(d, "X")["ts"]); }},
    {"cname", [](Json& d) { first(d, "X")["cname"] = "blue"; }},
    {"duration", [](Json& d) { first(d, "X")["dur"] = 0; }},
    {"duration", [](Json& d) { first(d, "X").erase("dur"); }},
    {"cat", [](Json& d) { first(d, "X").erase("cat"); }},
    {"tid 0", [](Json& d) { first(d, "X")["tid"] = 0; }},
    {"names", [](Json& d) { erase_all(d, [](const Json& e) { return e["name"] == "thread_name"; }); }},
    {"names", [](Json& d) { erase_all(d, [](const Json& e) { return e["name"] == "process_sort_index"; }); }},
    {"names", [](Json& d) { erase_all(d, [](const Json& e) { return e["ph"] == "M"; }); }},
    {"empty args", [](Json& d) { first(d, "X")["args"] = Json::object(); }},
    {"stream", [](Json& d) { first(d, "X")["args"]["stream"] = 1; }},
    {"phase", [](Json& d) { first(d, "s")["ph"] = "t"; }},
    {"flow id", [](Json& d) { first(d, "s")["id"] = "1"; }},
    {"flow id", [](Json& d) { first(d, "s")["id"] = uint64_t{1} << 60; }},
    {"flow bp", [](Json& d) { first(d, "f").erase("bp"); }},
    {"flow pair", [](Json& d) { first(d, "f")["name"] = "other"; }},
    {"flow pair", [](Json& d) { erase_all(d, [](const Json& e) { return e["ph"] == "s"; }); }},
    {"flow unbound", [](Json& d) { first(d, "f")["ts"] = first(d, "f")["ts"].get<double>() + 0.125; }},
    {"flow unbound", [](Json& d) { first(d, "s")["tid"] = 3; }},
    {"flow backwards",
     [](Json& d) {
       std::swap(first(d, "s")["ts"], first(d, "f")["ts"]);
       std::swap(first(d, "s"), first(d, "f"));
     }},
    {"counter value", [](Json& d) { first(d, "C")["args"]["weights"] = "5"; }},
    {"counter series", [](Json& d) { last(d, "C")["args"].erase("weights"); }},
    {"lane order",
     [](Json& d) {
       Json inner = first(d, "X");
       inner["dur"] = 1;
       auto& events = d["traceEvents"];
       const auto at =
           std::find_if(events.begin(), events.end(), [](const Json& e) { return e["ph"] == "X"; });
       events.insert(at, inner);
     }},
    {"overlap", [](Json& d) { first(d, "X")["dur"] = first(d, "X")["dur"].get<double>() + 0.125; }},
    {"profiler steps",
     [](Json& d) {
       first(d, "X")["name"] = "ProfilerStep#0";
       last(d, "X")["name"] = "ProfilerStep#1";
     }},
    {"step end", [](Json& d) { erase_all(d, [](const Json& e) { return e["ph"] == "i"; }); }},
    {"step end", [](Json& d) { last(d, "i")["ts"] = last(d, "i")["ts"].get<double>() - 1; }},
    {"last end", [](Json& d) { last(d, "X")["dur"] = 1000000; }},
};

const Break kRankBreaks[] = {
    {"rank", [](Json& d) { d["before"]["rank"] = 5; }},
    {"grid", [](Json& d) { first(d, "X")["dur"] = 1.5; }},
    {"grid", [](Json& d) { first(d, "X")["ts"] = 0.0; }},
    {"stream", [](Json& d) { first(d, "X")["args"].erase("stream"); }},
    {"stream", [](Json& d) { first(d, "X")["args"]["stream"] = "1"; }},
    {"stream", [](Json& d) { first(d, "X")["args"].erase("device"); }},
    {"stream", [](Json& d) { first(d, "X")["cat"] = "gpu_user_annotation"; }},
    {"correlation", [](Json& d) { last(d, "X")["args"]["correlation"] = 1; }},
    {"kind by name", [](Json& d) { first(d, "X")["name"] = "Memset F0"; }},
    {"kind by name", [](Json& d) { first(d, "X")["name"] = "ncclDevKernel_SendRecv"; }},
    {"flow in a rank's file",
     [](Json& d) {
       Json flow = first(d, "X");
       flow["ph"] = "s";
       d["traceEvents"].insert(d["traceEvents"].end() - 1, flow);
     }},
};

// HTA's blank after the colon is a matter of the text, which parsing loses.
std::string with_blank(const Json& doc) {
  std::string text = doc.dump();
  const auto at = text.find("\"rank\":");
  return at == std::string::npos ? text : text.insert(at + 7, " ");
}

TEST(TraceLint, EachRuleOfMergedFilesFindsItsFault) {
  const Step step = make_step();
  const TraceLintOptions ends{on_grid(step.timeline.step, 8)};
  const Json sound = Json::parse(merged_text(step));
  EXPECT_THAT(lint_trace(sound.dump(), ends), IsEmpty());
  for (const Break& b : kBreaks) {
    Json doc = sound;
    b.apply(doc);
    EXPECT_THAT(lint_trace(doc.dump(), ends), Contains(Key(b.rule))) << &b - kBreaks;
  }
}

TEST(TraceLint, EachRuleOfRankFilesFindsItsFault) {
  const Json sound = Json::parse(rank_text(make_step(), 0));
  EXPECT_THAT(lint_trace(with_blank(sound)), IsEmpty());
  EXPECT_THAT(lint_trace(sound.dump()), Contains(Key("rank")));
  for (const Break& b : kRankBreaks) {
    Json doc = sound;
    b.apply(doc);
    EXPECT_THAT(lint_trace(with_blank(doc)), Contains(Key(b.rule))) << b.rule << " " << &b - kRankBreaks;
  }
}

TEST(TraceLint, LargeFilesAreFound) {
  const std::string text = merged_text(make_step());
  EXPECT_THAT(lint_trace(text + std::string(100'000'000, ' ')), Contains(Key("size")));
}

TEST(TraceLint, TruncatedFilesAreFound) {
  const std::string text = merged_text(make_step());
  EXPECT_THAT(lint_trace(text.substr(0, text.size() / 2)), Contains(Key("document")));
}

}  // namespace
}  // namespace rehearse::test
