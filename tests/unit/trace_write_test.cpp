// What stands in a trace: lanes, names, times, arguments, arrows, and what is refused.
#include <gmock/gmock.h>

#include <fstream>

#include "tests/support/trace_files.hpp"

namespace rehearse::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Json = nlohmann::json;

std::vector<Json> select(const Json& doc, const std::function<bool(const Json&)>& which) {
  std::vector<Json> found;
  for (const Json& e : doc["traceEvents"])
    if (which(e)) found.push_back(e);
  return found;
}

std::vector<Json> phase(const Json& doc, const std::string& ph) {
  return select(doc, [&](const Json& e) { return e["ph"] == ph; });
}

std::vector<Json> lane(const Json& doc, int pid, int tid) {
  return select(doc, [&](const Json& e) { return e["ph"] == "X" && e["pid"] == pid && e["tid"] == tid; });
}

std::vector<std::string> names(const std::vector<Json>& events) {
  std::vector<std::string> all;
  for (const Json& e : events) all.push_back(e["name"]);
  return all;
}

double total(const std::vector<Json>& events) {
  double sum = 0;
  for (const Json& e : events) sum += e["dur"].get<double>();
  return sum;
}

std::vector<InputError> errors_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const InputErrors& e) {
    return e.errors;
  }
  return {};
}

TEST(TraceWrite, ChunksOfEachStageInOrder) {
  const Json doc = Json::parse(merged_text(make_step()));
  EXPECT_THAT(names(lane(doc, 1, 1)), ElementsAre("F0", "F1", "B0", "F2", "B1", "B2", "optimizer"));
  EXPECT_THAT(names(lane(doc, 3, 1)), ElementsAre("F0", "B0", "F1", "B1", "F2", "B2", "optimizer"));
  EXPECT_THAT(names(lane(doc, 1, 7)), ElementsAre("ncclDevKernel_ReduceScatter_Sum_f32_RING_SIMPLE"));
  EXPECT_THAT(lane(doc, 1, 4), IsEmpty());  // in-node collectives are kernels
  EXPECT_EQ(lane(doc, 1, 1)[0]["cname"], "thread_state_running");
  EXPECT_EQ(lane(doc, 1, 1)[2]["cname"], "thread_state_runnable");
  EXPECT_EQ(lane(doc, 1, 1)[6]["cname"], "generic_work");
  EXPECT_EQ(lane(doc, 1, 7)[0]["cname"], "rail_idle");
}

TEST(TraceWrite, BoundariesAreRoundedAndSubtracted) {
  const Step step = make_step();
  const Json doc = Json::parse(merged_text(step));
  size_t i = 0;
  for (size_t t = 0; t < step.graph.tasks.size(); ++t) {
    const Task& task = step.graph.tasks[t];
    if (task.kind != TaskKind::run || step.graph.unit_sets[task.units][0] != 1) continue;
    const Json slice = lane(doc, 3, 1).at(i++);
    EXPECT_EQ(slice["ts"], on_grid(step.timeline.start[t], 8));
    EXPECT_EQ(slice["dur"], on_grid(step.timeline.end[t], 8) - on_grid(step.timeline.start[t], 8));
  }
  EXPECT_EQ(i, 7U);
}

TEST(TraceWrite, TransfersStandOnBothLanesAndAreJoined) {
  const Step step = make_step();
  const Json doc = Json::parse(merged_text(step));
  EXPECT_THAT(lane(doc, 1, 2), SizeIs(3));
  EXPECT_THAT(lane(doc, 1, 3), SizeIs(3));
  const Json sent = lane(doc, 1, 2)[1], received = lane(doc, 3, 3)[1];
  EXPECT_EQ(sent["ts"], received["ts"]);
  EXPECT_EQ(sent["args"],
            Json::parse(R"({"what":"stage boundary","bytes":8388608,"peer":2,"micro":1,"chunk":0})"));
  EXPECT_EQ(received["args"]["peer"], 0);
  EXPECT_THAT(phase(doc, "s"), SizeIs(6));
  EXPECT_THAT(phase(doc, "f"), SizeIs(6));
  EXPECT_EQ(phase(doc, "s")[0]["ts"], lane(doc, 1, 2)[0]["ts"].get<double>() + 0.125);
  EXPECT_EQ(phase(doc, "f")[0]["ts"],
            lane(doc, 3, 3)[0]["ts"].get<double>() + lane(doc, 3, 3)[0]["dur"].get<double>() - 0.125);
}

TEST(TraceWrite, ShortTransfersHaveNoArrow) {
  StepShape shape;
  shape.transfer = 0.125e-6;
  const Step step = make_step(shape);
  const TemporaryFolder folder;
  const TraceSize size = write_file(folder.file("a.json"), step);
  const Json doc = Json::parse(read_trace(folder.file("a.json")));
  const auto lost = static_cast<int64_t>(6 - phase(doc, "s").size());
  EXPECT_GT(lost, 0);
  EXPECT_EQ(phase(doc, "f").size(), phase(doc, "s").size());
  EXPECT_LE(size.arrows_left_out, lost);  // a transfer that rounds to nothing is a slice left out
  EXPECT_EQ(doc["otherData"]["arrows_left_out_below_grid"], size.arrows_left_out);
}

TEST(TraceWrite, SlicesBelowTheGridAreCounted) {
  StepShape shape;
  shape.transfer = 1e-9;
  shape.kernel = 1e-4;
  const TemporaryFolder folder;
  const TraceSize size = write_file(folder.file("a.json"), make_step(shape));
  const Json doc = Json::parse(read_trace(folder.file("a.json")));
  const auto shown =
      lane(doc, 1, 2).size() + lane(doc, 1, 3).size() + lane(doc, 3, 2).size() + lane(doc, 3, 3).size();
  EXPECT_LT(shown, 12U);
  EXPECT_EQ(size.left_out, static_cast<int64_t>(12 - shown));
  EXPECT_EQ(doc["otherData"]["left_out_below_grid"], size.left_out);
}

TEST(TraceWrite, SizeCountsWhatStandsInTheFile) {
  const TemporaryFolder folder;
  const TraceSize size = write_file(folder.file("a.json"), make_step(), {TraceDetail::kernel, {}});
  const std::string text = read_trace(folder.file("a.json"));
  EXPECT_EQ(size.bytes, static_cast<int64_t>(text.size()));
  EXPECT_EQ(size.events, static_cast<int64_t>(Json::parse(text)["traceEvents"].size()));
  EXPECT_EQ(size.files, 1);
}

TEST(TraceWrite, OneEventALine) {
  const std::string text = merged_text(make_step(), {TraceDetail::kernel, {}});
  const auto lines = std::count(text.begin(), text.end(), '\n');
  EXPECT_EQ(lines, static_cast<int64_t>(Json::parse(text)["traceEvents"].size()) + 4);
}

TEST(TraceWrite, KernelsFillTheirChunk) {
  const Step step = make_step();
  const Json doc = Json::parse(merged_text(step, {TraceDetail::kernel, {}}));
  const auto compute = lane(doc, 1, 1);
  ASSERT_EQ(compute[0]["name"], "F0");
  EXPECT_EQ(compute[0]["cat"], "gpu_user_annotation");
  EXPECT_EQ(compute[1]["name"], "qkv gemm");
  EXPECT_EQ(compute[1]["ts"], compute[0]["ts"]);
  EXPECT_EQ(compute[1]["args"], Json::parse(R"({"layer":0})"));
  EXPECT_EQ(compute[2]["name"], "softmax");  // the gap between them is no slice
  EXPECT_GT(compute[2]["ts"].get<double>(), compute[1]["ts"].get<double>() + compute[1]["dur"].get<double>());
  EXPECT_THAT(lane(doc, 1, 4), SizeIs(6 * 2 + 1));
  EXPECT_EQ(lane(doc, 1, 4)[0]["name"], "ncclDevKernel_AllReduce_Sum_bf16_RING_LL128");
  EXPECT_EQ(lane(doc, 1, 4)[0]["args"],
            Json::parse(R"({"what":"block forward","bytes":16777216,"group":"tp x 2","layer":0})"));
}

// The last backward runs slowed while the gradients are reduced: its kernels stretch by the same factor, then
// not.
TEST(TraceWrite, KernelsOfASlowedChunkStretch) {
  StepShape shape;
  shape.pp = 1;
  shape.kernel = 1e-3;
  shape.slow_by = 0.5;
  const Step step = make_step(shape);
  ASSERT_THAT(step.timeline.slowed, SizeIs(1));
  const SlowStretch slow = step.timeline.slowed[0];
  const Json doc = Json::parse(merged_text(step, {TraceDetail::kernel, {}}));
  const Program& program = step.graph.programs[1];
  const double start = step.timeline.start[slow.task];
  ASSERT_EQ(slow.from, start);
  ASSERT_LT(slow.to, step.timeline.end[slow.task]);
  const double reached = (slow.to - slow.from) / 1.5;  // progress within the program when it speeds up again
  const auto expected = [&](double x) {
    return start + (x <= reached ? 1.5 * x : 1.5 * reached + (x - reached));
  };
  int checked = 0;
  const auto slices = select(doc, [&](const Json& e) {
    return e["ph"] == "X" && e["cat"] == "kernel" && e["ts"] >= on_grid(start, 8) &&
           e["ts"] < on_grid(step.timeline.end[slow.task], 8) && e["tid"] != 7;
  });
  for (const Op& op : program.ops) {
    if (op.kind == OpKind::gap) continue;
    const Json& slice = slices.at(static_cast<size_t>(checked++));
    EXPECT_EQ(slice["name"], op.name);
    EXPECT_NEAR(slice["ts"].get<double>(), expected(op.start) * 1e6, 0.125);
    EXPECT_NEAR(slice["ts"].get<double>() + slice["dur"].get<double>(),
                expected(op.start + op.duration) * 1e6, 0.126);
  }
  EXPECT_EQ(checked, 6);
}

TEST(TraceWrite, RankFilesSpeakHta) {
  const Step step = make_step();
  const std::string text = rank_text(step, 2, {TraceDetail::kernel, {}});
  EXPECT_THAT(text, ::testing::StartsWith(
                        "{\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 2, \"world_size\": 8},"));
  const Json doc = Json::parse(text);
  EXPECT_EQ(lane(doc, 3, 1)[1]["args"], Json::parse(R"({"device":2,"stream":1,"correlation":2,"layer":0})"));
  EXPECT_FALSE(lane(doc, 3, 1)[0]["args"].contains("stream"));  // F0 goes around its kernels
  EXPECT_EQ(lane(doc, 3, 3)[0]["args"],
            Json::parse(R"({"device":2,"stream":3,"correlation":1,"what":"stage boundary","bytes":8388608,
              "Collective name":"recv","In msg nelems":4194304,"Out msg nelems":4194304,"dtype":"BFloat16",
              "Group size":2,"Process Group Name":"pp","peer":0,"Src Rank":0,"Dst Rank":2,"micro":0,"chunk":0})"));
  const Json gradients = lane(doc, 3, 7)[0]["args"];
  EXPECT_EQ(gradients["Collective name"], "_reduce_scatter_base");
  EXPECT_EQ(gradients["In msg nelems"], 25'000'000);
  EXPECT_EQ(gradients["Out msg nelems"], 12'500'000);
  EXPECT_EQ(gradients["group"], "dp x 2");
}

TEST(TraceWrite, RankAndMergedFileAgree) {
  const Step step = make_step();
  const Json merged = Json::parse(merged_text(step)), rank = Json::parse(rank_text(step, 0));
  for (int tid : {1, 2, 3, 7}) {
    EXPECT_EQ(names(lane(merged, 1, tid)), names(lane(rank, 1, tid)));
    EXPECT_NEAR(total(lane(merged, 1, tid)), total(lane(rank, 1, tid)),
                1.0 * static_cast<double>(lane(rank, 1, tid).size()));
  }
}

TEST(TraceWrite, ARankThatWasFoldedIsWrittenFromItsClass) {
  const Step step = make_step();  // rank = tp + 2 pp + 4 dp
  const Json doc = Json::parse(merged_text(step, {TraceDetail::chunk, {RankId(7), RankId(5)}}));
  EXPECT_EQ(phase(doc, "M")[0]["args"]["name"], "rank 5 (pp0 dp1 tp1)");
  EXPECT_EQ(names(lane(doc, 6, 1)), names(lane(Json::parse(merged_text(step)), 1, 1)));
  EXPECT_EQ(lane(doc, 6, 2)[0]["args"]["peer"], 7);
  EXPECT_EQ(lane(doc, 8, 2)[0]["args"]["peer"], 5);
  EXPECT_THAT(phase(doc, "s"), SizeIs(6));
}

TEST(TraceWrite, RanksOfAUnitThatDifferAreEachWritten) {
  StepShape shape;
  shape.sliced = true;
  const Step step = make_step(shape);
  const std::string text = merged_text(step);
  EXPECT_THAT(lint_trace(text), IsEmpty());  // the collectives of the peers run at once, each on its own rank
  const Json doc = Json::parse(text);
  for (int pid : {1, 2, 3, 4}) EXPECT_THAT(lane(doc, pid, 7), SizeIs(1)) << pid;
  EXPECT_EQ(phase(doc, "M")[2]["args"]["labels"], "one of 2 alike");
}

TEST(TraceWrite, ARankIsWrittenFromTheOnlySliceOfItsUnit) {
  StepShape shape;
  shape.sliced = true;
  Step step = make_step(shape);
  for (Task& task : step.graph.tasks)
    if (task.slice == 1) task.units = -1;
  const Json doc = Json::parse(merged_text(step, {TraceDetail::chunk, {RankId(1)}}));
  EXPECT_THAT(lane(doc, 2, 7), SizeIs(1));
}

TEST(TraceWrite, ARankOfNoKnownSliceIsRefused) {
  StepShape shape;
  shape.sliced = true;
  shape.tp = 4;
  Step step = make_step(shape);
  for (Task& task : step.graph.tasks)
    if (task.slice == 3) task.units = -1;
  const auto errors = errors_of([&] { merged_text(step, {TraceDetail::chunk, {RankId(3)}}); });
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_EQ(errors[0].code, "E-TRACE-RANKS");
}

TEST(TraceWrite, NoArrowToARankThatIsNotShown) {
  const Json doc = Json::parse(merged_text(make_step(), {TraceDetail::chunk, {RankId(5), RankId(2)}}));
  EXPECT_THAT(phase(doc, "s"), IsEmpty());
  EXPECT_THAT(phase(doc, "f"), IsEmpty());
  EXPECT_THAT(lane(doc, 6, 2), SizeIs(3));
}

TEST(TraceWrite, EachReplicaHasItsOwnArrowsWhenUnfolded) {
  StepShape shape;
  shape.folded = false;
  const Json doc = Json::parse(merged_text(make_step(shape)));
  EXPECT_THAT(phase(doc, "s"), SizeIs(12));
  EXPECT_EQ(lane(doc, 5, 2)[0]["args"]["peer"], 6);
}

TEST(TraceWrite, MemoryIsCountedByComponent) {
  const Json doc = Json::parse(merged_text(make_step()));
  const auto samples = select(doc, [](const Json& e) { return e["ph"] == "C" && e["pid"] == 1; });
  ASSERT_THAT(samples, SizeIs(7));
  EXPECT_EQ(
      samples[0]["args"],
      Json::parse(R"({"weights":5.25,"gradients":0.0,"optimizer":27.939677,"activations":0.0,"logits":0.0,
              "buffers":0.0,"framework":0.0})"));
  EXPECT_EQ(samples[2]["args"]["activations"], 2);
}

TEST(TraceWrite, TheSameStepGivesTheSameBytes) {
  const Step step = make_step();
  const TemporaryFolder folder;
  for (const char* name : {"a.json.gz", "b.json.gz", "c.json"}) write_file(folder.file(name), step);
  const auto bytes = [&](const char* name) {
    std::ifstream in(folder.file(name), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string a = bytes("a.json.gz");
  EXPECT_EQ(a, bytes("b.json.gz"));
  EXPECT_EQ(a.substr(0, 2), "\x1f\x8b");
  EXPECT_EQ(a.substr(4, 4), std::string(4, '\0'));  // no time of writing
  EXPECT_EQ(bytes("c.json"), read_trace(folder.file("a.json.gz")));
  EXPECT_EQ(bytes("c.json")[0], '{');
}

TEST(TraceWrite, NamesAreEscaped) {
  Step step = make_step();
  step.scenario.name = "a\"b\\c\n\xff";
  const Json doc = Json::parse(merged_text(step));
  EXPECT_EQ(doc["otherData"]["scenario"], "a\"b\\c\n\xef\xbf\xbd");
}

TEST(TraceWrite, FileNamesAreRefused) {
  const auto errors = errors_of([] { write_file("step.txt", make_step()); });
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_EQ(errors[0].code, "E-TRACE-PATH");
  EXPECT_EQ(errors[0].place.file, "--trace step.txt");
  const TemporaryFolder folder;
  const auto missing = errors_of([&] { write_file(folder.file("no/such/folder.json"), make_step()); });
  ASSERT_THAT(missing, SizeIs(1));
  EXPECT_EQ(missing[0].code, "E-TRACE-PATH");
}

TEST(TraceWrite, UnknownRanksAreRefused) {
  for (int rank : {-1, 8}) {
    const auto errors = errors_of([&] { merged_text(make_step(), {TraceDetail::chunk, {RankId(rank)}}); });
    ASSERT_THAT(errors, SizeIs(1));
    EXPECT_EQ(errors[0].code, "E-TRACE-RANKS");
    EXPECT_EQ(errors[0].hint, "ranks are 0 .. 7");
  }
}

TEST(TraceWrite, ARankOfNoKnownClassIsRefused) {
  StepShape shape;
  shape.dp = 4;
  shape.folded = false;
  Step step = make_step(shape);
  step.graph.units[6].dp = step.graph.units[7].dp = 0;  // nobody says who stands for the fourth replica
  const auto errors = errors_of([&] { merged_text(step, {TraceDetail::chunk, {RankId(12)}}); });
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_EQ(errors[0].code, "E-TRACE-RANKS");
  EXPECT_THAT(errors[0].hint, HasSubstr("--fold off"));
}

TEST(TraceWrite, FoldersWithOtherTracesAreRefused) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.file("ranks"));
  std::ofstream(folder.file("ranks/report.json")) << "{}";
  const auto errors = errors_of([&] { write_dir(folder.file("ranks"), make_step()); });
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_EQ(errors[0].code, "E-TRACE-DIR");
  std::filesystem::remove(folder.file("ranks/report.json"));
  EXPECT_EQ(write_dir(folder.file("ranks"), make_step()).files, 2);
  EXPECT_EQ(write_dir(folder.file("ranks"), make_step()).files, 2);  // its own files it replaces
}

TEST(TraceWrite, FilesThatViewersChokeOnAreWarnedOf) {
  TraceSize size;
  size.largest_events = 500'000;
  size.largest_bytes = 100'000'000;
  EXPECT_THAT(trace_warnings(size, {}), IsEmpty());
  size.largest_events = 500'001;
  const auto chunk = trace_warnings(size, {}), kernel = trace_warnings(size, {TraceDetail::kernel, {}});
  ASSERT_THAT(chunk, SizeIs(1));
  EXPECT_EQ(chunk[0].code, "W-TRACE-SIZE");
  EXPECT_EQ(chunk[0].message,
            "a timeline file holds 500001 events in 100 MB of JSON; viewers are slow or fail above 500000 "
            "events or "
            "100 MB: narrow it by --trace-ranks with fewer ranks");
  EXPECT_THAT(kernel.at(0).message, HasSubstr("--trace-detail chunk"));
  size = {};
  size.largest_bytes = 100'000'001;
  EXPECT_THAT(trace_warnings(size, {}), SizeIs(1));
}

}  // namespace
}  // namespace rehearse::test
