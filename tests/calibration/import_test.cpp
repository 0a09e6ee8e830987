// Logs written for these tests in the forms that nccl-tests prints.
#include "tests/calibration/import_fixture.hpp"

namespace rehearse::calibration {
namespace {

using test::call_of;
using test::refusal;
using test::replaced;
using test::take;
using testing::HasSubstr;
using testing::StartsWith;

const char* const kDevices =
    "# Using devices\n"
    "#  Rank  0 Group  0 Pid   1887 on     node-1 device  0 [0x8d] NVIDIA H100 80GB HBM3\n"
    "#  Rank  1 Group  0 Pid   1888 on     node-1 device  1 [0x91] NVIDIA H100 80GB HBM3\n"
    "#  Rank  2 Group  0 Pid   1885 on     node-0 device  0 [0x8d] NVIDIA H100 80GB HBM3\n"
    "#  Rank  3 Group  0 Pid   1886 on     node-0 device  1 [0x91] NVIDIA H100 80GB HBM3\n";

// Since 2.17: version, name of the test, "#wrong" in a wider column.
std::string new_log() {
  return "# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22903\n"
         "# Collective test starting: all_reduce_perf\n"
         "# nThread 1 nGpus 1 minBytes 8 maxBytes 1048576 step: 2(factor) warmup iters: 1 iters: 20 agg "
         "iters: 1 "
         "validation: 1 graph: 0\n#\n" +
         std::string(kDevices) +
         "#\n"
         "#                                                              out-of-place                       "
         "in-place          \n"
         "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   "
         "algbw   busbw  #wrong \n"
         "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  "
         "(GB/s)  (GB/s)         \n"
         "           8             2     float     sum      -1    68.52    0.00    0.00       0    24.70    "
         "0.00    0.00       0\n"
         "     1048576        262144     float     sum      -1    62.50   16.78   25.17       0    64.10   "
         "16.36   24.54       0\n"
         "# Out of bounds values : 0 OK\n"
         "# Avg bus bandwidth    : 12.4295 \n#\n# Collective test concluded: all_reduce_perf\n#\n";
}

// Of 2.0 to 2.10: "error" for "#wrong", no root; no name of the test anywhere.
std::string old_log() {
  return "# nThread 1 nGpus 2 minBytes 1 maxBytes 4294967296 step: 2(factor) warmup iters: 5 iters: 20 "
         "validation: 1 \n#\n"
         "# Using devices\n"
         "#   Rank  0 Pid 112424 on localhost device  0 [0x00] A100-SXM4-40GB\n"
         "#   Rank  1 Pid 112424 on localhost device  1 [0x00] A100-SXM4-40GB\n#\n"
         "#                                                     out-of-place                       in-place  "
         "        \n"
         "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   "
         "busbw  error\n"
         "#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  "
         "(GB/s)       \n"
         "localhost:3442:3442 [0] NCCL INFO Launch mode Parallel\n"
         "           0             0   float     sum    35.20    0.00    0.00    N/A    34.05    0.00    "
         "0.00    N/A\n"
         "        2048           512   float     sum    20.00    0.10    0.10  5e-07    21.00    0.10    "
         "0.10  5e-07\n"
         "  4294967296    1073741824   float     sum    32070  133.92  133.92  0e+00    32052  134.00  "
         "134.00    N/A\n"
         "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 68.4048\n#\n";
}

// As early versions print all_gather: neither redop nor root, algbw without the rank's own part.
std::string gather_log() {
  return "# Using devices\n"
         "#   Rank  0 Pid 7 on a device  0 [0x1a] Tesla V100-SXM2-32GB\n"
         "#   Rank  1 Pid 7 on a device  1 [0x1b] Tesla V100-SXM2-32GB\n"
         "#       size         count    type     time   algbw   busbw  error     time   algbw   busbw  "
         "error\n"
         "     1048576        131072   float    50.00   10.49   10.49  0e+00    52.00   10.08   10.08  "
         "0e+00\n";
}

std::string json_log() {
  return R"({"version":2,"start_time":"2026-02-03 04:05:06","args":["\/opt\/build\/reduce_scatter_perf","-b","8"],)"
         R"("env":["HOME=\/root","NCCL_ALGO=Ring"],"nccl_version":22903,"config":{"nthreads":1,"ngpus":1,"minimum_bytes":8,)"
         R"("devices":[{"rank":0,"group":0,"pid":1,"hostname":"a","device":0,"device_hex":"0000:1b:00","device_info":"NVIDIA B200"},)"
         R"({"rank":1,"group":0,"pid":2,"hostname":"b","device":0,"device_hex":"0000:1b:00","device_info":"NVIDIA B200"}]},)"
         R"("results":[{"size":1048576,"count":131072,"type":"float","redop":"sum","root":"    -1","out_of_place":{"time":50.000000,)"
         R"("alg_bw":20.971520,"bus_bw":10.485760,"nwrong":0.000000},"in_place":{"time":40.000000,"alg_bw":26.214400,"bus_bw":13.107200,)"
         R"("nwrong":null},"actual_iterations":20,"experiment_name":"x"}],"out_of_bounds":{"count":0,"okay":"true"},)"
         R"("average_bus_bandwidth":{"bandwidth":11.8,"okay":"unchecked"},"errors":[],"end_time":"2026-02-03 04:05:07"})";
}

TEST(Import, ReadsTheTableOfToday) {
  const Imported in = take(new_log());
  ASSERT_EQ(in.samples.size(), 2u);
  EXPECT_EQ(in.environment.device, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(in.environment.collectives_library, "NCCL 2.29.3");
  EXPECT_EQ(in.environment.ranks, 4);
  EXPECT_EQ(in.environment.ranks_per_node, 2);
  const CollectiveCall& call = call_of(in.samples[1]);
  EXPECT_EQ(call.op, CollectiveOp::all_reduce);
  EXPECT_EQ(call.bytes, 1048576);
  EXPECT_EQ(call.dtype, DType::fp32);
  EXPECT_EQ(call.group, (Group{4, 1, false, 2, 2}));
  EXPECT_EQ(in.samples[1].status, Status::ok);
  EXPECT_EQ(in.samples[1].environment, digest_of(in.environment));
}

TEST(Import, KeepsTheFasterOfBothTimes) {
  const Imported in = take(new_log());
  EXPECT_DOUBLE_EQ(in.samples[0].device.median, 24.70e-6);  // in place
  EXPECT_THAT(in.samples[0].flags, testing::ElementsAre("in-place"));
  EXPECT_DOUBLE_EQ(in.samples[1].device.median, 62.50e-6);  // out of place
  EXPECT_TRUE(in.samples[1].flags.empty());
}

TEST(Import, ReadsTheTableOfOldWithoutRoot) {
  EXPECT_THAT(
      refusal(old_log()),
      HasSubstr("log.txt:8:9: error: neither log nor file name says which collective this is [E-IMPORT-OP]"));
  const Imported in = take(old_log(), "nccl_allreduce.log");
  ASSERT_EQ(in.samples.size(), 2u);
  EXPECT_EQ(call_of(in.samples[1]).group, (Group{2, 1, false, 1, 2}));
  EXPECT_DOUBLE_EQ(in.samples[1].device.median, 32052e-6);
  EXPECT_EQ(in.samples[0].status, Status::ok);  // the largest deviation is no count of wrong elements
  EXPECT_THAT(in.notes, testing::ElementsAre("1 rows of 0 bytes left out"));
}

TEST(Import, ReadsAllGatherWithoutRedop) {
  const Imported in = take(gather_log(), "all_gather_perf.txt");
  ASSERT_EQ(in.samples.size(), 1u);
  EXPECT_EQ(call_of(in.samples[0]).op, CollectiveOp::all_gather);
  EXPECT_DOUBLE_EQ(in.samples[0].device.median, 50e-6);
}

TEST(Import, ReadsPerIterationColumnsAndTimeStamps) {
  std::string log =
      "# nThread 1 nGpus 2\n#  Rank  0 Group 0 Pid 7 on a device  0 [0x1a] B200\n#  Rank  1 Group 0 Pid 7 on "
      "a device  1 [0x1b] B200\n"
      "#       size         count      type   redop    root     time   algbw   busbw  #wrong    i_min    "
      "i_max    i_p99    i_cv%     time   algbw   busbw  #wrong    i_min    i_max    i_p99    i_cv%          "
      " timestamp\n"
      "     2097152       1048576      half    none      -1    50.00   41.94   20.97       0    49.00    "
      "52.00    51.90     1.10    48.00   43.69   21.85       0    47.00    50.00    49.90     1.10   "
      "2026-02-03 04:05:06\n";
  ImportOptions options;
  options.op = CollectiveOp::all_to_all;
  const Imported in = take(log, "log.txt", options);
  ASSERT_EQ(in.samples.size(), 1u);
  EXPECT_DOUBLE_EQ(in.samples[0].device.median, 48e-6);
  EXPECT_EQ(call_of(in.samples[0]).dtype, DType::fp16);
}

TEST(Import, ReadsATableInsideOfOtherOutput) {
  std::string tagged =
      "mpirun --np 4 ./build/all_reduce_perf -b 8 -e 1M -f 2\nHello from the launcher, 3 warnings\n";
  const std::string log = replaced(new_log(), "# Collective test starting: all_reduce_perf\n", "");
  for (size_t at = 0, end = 0; (end = log.find('\n', at)) != std::string::npos; at = end + 1)
    tagged += "[1,0]<stdout>:" + log.substr(at, end - at) + "\n";
  tagged += "real 0m12s\n";
  EXPECT_EQ(take(tagged).samples.size(), 2u);
  std::string indented = "    root@box:~# ./build/all_reduce_perf -g 4\n";
  for (size_t at = 0, end = 0; (end = log.find('\n', at)) != std::string::npos; at = end + 1)
    indented += "    " + log.substr(at, end - at) + "\n";
  EXPECT_EQ(take(indented).samples.size(), 2u);
}

TEST(Import, WrongElementsAreRejectedSamples) {
  const Imported in = take(replaced(new_log(), "25.17       0", "25.17       7"));
  EXPECT_EQ(in.samples[1].status, Status::rejected);
  EXPECT_EQ(in.samples[1].code, "wrong-result");
  EXPECT_EQ(in.samples[0].status, Status::ok);
  // The slower time of a size counts too.
  const Imported slower = take(replaced(new_log(), "24.54       0", "24.54       3"));
  EXPECT_EQ(slower.samples[1].status, Status::rejected);
  EXPECT_EQ(slower.samples[1].reason, "3 wrong elements");
  EXPECT_DOUBLE_EQ(slower.samples[1].device.median, 62.50e-6);
}

// Which size is wrong, the rows say; where they do not, none is believed.
TEST(Import, ALogThatFoundWrongResultsIsBelievedOnlyWhereItsRowsTellWhich) {
  const std::string failed = replaced(new_log(), "values : 0 OK", "values : 5 FAILED");
  for (const auto& s : take(failed).samples) {
    EXPECT_EQ(s.status, Status::rejected);
    EXPECT_EQ(s.code, "wrong-result");
    EXPECT_EQ(s.reason, "the log says 'Out of bounds values : 5 FAILED'");
  }
  const Imported told = take(replaced(failed, "25.17       0", "25.17       5"));
  EXPECT_EQ(told.samples[0].status, Status::ok);
  EXPECT_EQ(told.samples[1].reason, "5 wrong elements");
  const Imported bitwise =
      take(replaced(new_log(), "values : 0 OK\n", "values : 0 OK\n# Bitwise mismatches   : 2 FAILED\n"));
  EXPECT_EQ(bitwise.samples[0].code, "wrong-result");
  // A bandwidth below what was asked for is no wrong result.
  EXPECT_EQ(take(replaced(new_log(), "12.4295 ", "12.4295 FAILED")).samples[0].status, Status::ok);
  for (const char* where : {"\"out_of_bounds\"", "\"bitwise_mismatches\""}) {
    const std::string json = replaced(json_log(), "\"out_of_bounds\":{\"count\":0,\"okay\":\"true\"}",
                                      std::string(where) + ":{\"count\":3,\"okay\":\"false\"}");
    EXPECT_EQ(take(json).samples[0].code, "wrong-result");
    const Imported row = take(replaced(json, "\"nwrong\":0.000000", "\"nwrong\":3.000000"));
    EXPECT_EQ(row.samples[0].reason, "3 wrong elements");
  }
}

TEST(Import, RefusesRanksOfDifferentGpusUnlessTheyAreNamed) {
  const std::string mixed = replaced(new_log(), "[0x91] NVIDIA H100 80GB HBM3", "[0x91] NVIDIA H200");
  EXPECT_THAT(refusal(mixed), StartsWith("log.txt:7:4: error: rank 1 is on 'NVIDIA H200', rank 0 on "
                                         "'NVIDIA H100 80GB HBM3' [E-IMPORT-RANKS]"));
  ImportOptions named;
  named.gpu = "Hopper";
  EXPECT_EQ(take(mixed, "log.txt", named).environment.device, "Hopper");
  const std::string json = replaced(json_log(), "NVIDIA B200\"}]", "NVIDIA B300\"}]");
  EXPECT_THAT(refusal(json),
              HasSubstr("rank 1 is on 'NVIDIA B300', rank 0 on 'NVIDIA B200' [E-IMPORT-RANKS]"));
  EXPECT_EQ(take(json, "log.txt", named).environment.device, "Hopper");
}

TEST(Import, RefusesCountsThatNoFileOfSamplesHolds) {
  EXPECT_THAT(refusal(replaced(new_log(), "     1048576        262144", "     99999999999999999999 262144")),
              StartsWith("log.txt:15:6: error: size must be a whole number up to 2^53 [E-IMPORT-ROW]"));
  EXPECT_THAT(refusal(replaced(new_log(), "        262144 ", "      262144.5 ")),
              HasSubstr("count must be a whole number up to 2^53 [E-IMPORT-ROW]"));
  EXPECT_THAT(refusal(replaced(json_log(), "\"size\":1048576", "\"size\":1e30")),
              HasSubstr("size and count must be whole numbers up to 2^53"));
  EXPECT_THAT(refusal(replaced(json_log(), "\"count\":131072", "\"count\":131073")),
              HasSubstr("the size is not count x the width"));
  EXPECT_THAT(refusal(replaced(json_log(), "\"ngpus\":1", "\"ngpus\":0")),
              HasSubstr("nthreads x ngpus is no number of GPUs [E-IMPORT-RANKS]"));
  EXPECT_THAT(refusal(replaced(json_log(), "\"ngpus\":1", "\"ngpus\":99999999999")),
              HasSubstr("nthreads x ngpus is no number of GPUs"));
}

TEST(Import, KeepsTheFasterOfASizeThatStandsTwice) {
  const std::string line =
      "     1048576        262144     float     sum      -1    62.50   16.78   25.17       0    64.10   ";
  const std::string log = new_log();
  const size_t from = log.find(line), end = log.find('\n', from) + 1;
  const Imported once = take(log);
  const Imported twice = take(log.substr(0, end) + log.substr(from));
  EXPECT_EQ(twice.samples.size(), once.samples.size());
  ASSERT_EQ(twice.notes.size(), 1U);
  EXPECT_EQ(twice.notes[0], "1 rows of a shape that stands twice: the faster one kept");
}

TEST(Import, RefusesACutLine) {
  const std::string cut = new_log().substr(0, new_log().find("  64.10   16.36") + 7);
  EXPECT_THAT(refusal(cut),
              StartsWith("log.txt:15:90: error: the row has 10 fields, its header 13 [E-IMPORT-ROW]"));
  EXPECT_THAT(refusal(cut), HasSubstr("a cut line"));
  EXPECT_THAT(refusal(new_log().substr(0, new_log().find("1048576        262144") + 7)),
              HasSubstr("the row has 1 fields"));
  EXPECT_THAT(refusal(new_log().substr(0, new_log().find("           8  "))),
              HasSubstr("the table has no rows [E-IMPORT-ROW]"));
  EXPECT_THAT(refusal(replaced(new_log(), "     1048576  ", "     10485x6  ")),
              StartsWith("log.txt:15:6: error: size is no number: '10485x6' [E-IMPORT-ROW]"));
  EXPECT_THAT(refusal(replaced(new_log(), "  62.50 ", "  6x.50 ")),
              StartsWith("log.txt:15:57: error: time is no number: '6x.50' [E-IMPORT-ROW]"));
}

TEST(Import, RefusesAWrongHeader) {
  EXPECT_THAT(refusal(replaced(new_log(), "#       size  ", "#      bytes  ")),
              StartsWith("log.txt:14:12: error: a row stands before any header [E-IMPORT-HEADER]"));
  EXPECT_THAT(
      refusal(replaced(new_log(), "   busbw  #wrong", "   buswb  #wrong")),
      StartsWith("log.txt:12:73: error: a column that nccl-tests does not print: 'buswb' [E-IMPORT-HEADER]"));
  EXPECT_THAT(refusal(replaced(new_log(), "   busbw  #wrong", "          #wrong")),
              HasSubstr("the header lacks columns"));
  EXPECT_THAT(refusal(replaced(new_log(), "    time   algbw", " cputime   algbw")),
              HasSubstr("times of the CPU"));
  EXPECT_THAT(refusal("# nThread 1 nGpus 8\n"), HasSubstr("no header of a table in it [E-IMPORT-HEADER]"));
}

TEST(Import, ReadsTablesOneAfterTheOther) {
  EXPECT_THAT(take(new_log() + new_log()).notes,
              testing::ElementsAre("2 rows of a shape that stands twice: the faster one kept"));
  const std::string table = new_log().substr(new_log().find("#       size"));
  EXPECT_THAT(refusal(new_log() + table),
              HasSubstr("log.txt:21:9: error: a second table in one file, without a list of ranks of its own "
                        "[E-IMPORT-TWO]"));
  const std::string others = replaced(new_log(), "#  Rank  3 Group", "#  Wank  3 Group");
  EXPECT_THAT(refusal(new_log() + replaced(others, "#  Rank  2 Group", "#  Wank  2 Group")),
              HasSubstr("a table of 2 ranks on 1 nodes in a file of one of 4 ranks [E-IMPORT-TWO]"));
}

TEST(Import, RefusesBusbwZero) {
  EXPECT_THAT(
      refusal(replaced(new_log(), "16.78   25.17", "16.78    0.00")),
      StartsWith("log.txt:15:6: error: busbw is 0 where time and size say 25.17 GB/s [E-IMPORT-BUSBW]"));
}

TEST(Import, RefusesFiguresThatContradict) {
  EXPECT_THAT(refusal(replaced(new_log(), "16.78   25.17", "17.78   25.17")),
              HasSubstr("algbw 17.78 is not size / time = 16.78 GB/s [E-IMPORT-BUSBW]"));
  EXPECT_THAT(refusal(replaced(new_log(), "16.78   25.17", "16.78   29.36")),
              HasSubstr("busbw 29.36 is not 25.17 GB/s"));
  EXPECT_THAT(refusal(replaced(new_log(), " 62.50 ", " 625.0 ")), HasSubstr("[E-IMPORT-BUSBW]"));
  EXPECT_THAT(refusal(replaced(new_log(), "        262144     float", "        262145     float")),
              HasSubstr("the size is not count x the width"));
  ImportOptions of_eight;  // the ranks that it ran on do not fit its figures
  of_eight.ranks = 8, of_eight.nodes = 2;
  EXPECT_THAT(refusal(new_log(), "log.txt", of_eight),
              HasSubstr("x 1.75 of all_reduce over 8 ranks [E-IMPORT-BUSBW]"));
}

TEST(Import, RefusesOneRankAndProcessesOnTheirOwn) {
  std::string one = replaced(new_log(), kDevices, "#  Rank  0 Group  0 Pid 7 on a device  0 [0x8d] H100\n");
  EXPECT_THAT(refusal(one), HasSubstr("a collective of one rank moves nothing [E-IMPORT-ONE-RANK]"));
  one = replaced(new_log(), "#  Rank  1 Group", "#  Rank  0 Group");
  EXPECT_THAT(refusal(one), StartsWith("log.txt:7:4: error: rank 0 stands twice [E-IMPORT-RANKS]"));
  EXPECT_THAT(refusal(replaced(new_log(), kDevices, "")),
              HasSubstr("the log lists no ranks [E-IMPORT-RANKS]"));
  EXPECT_THAT(refusal(replaced(new_log(), "on     node-0 device  0", "on     node-2 device  0")),
              HasSubstr("4 ranks do not divide over 3 nodes"));
}

TEST(Import, ReadsJson) {
  const Imported in = take(json_log());
  ASSERT_EQ(in.samples.size(), 1u);
  EXPECT_EQ(call_of(in.samples[0]).op, CollectiveOp::reduce_scatter);
  EXPECT_EQ(call_of(in.samples[0]).group, (Group{2, 1, false, 2, 1}));
  EXPECT_DOUBLE_EQ(in.samples[0].device.median, 40e-6);
  EXPECT_EQ(in.environment.collectives_library, "NCCL 2.29.3");
  EXPECT_EQ(in.environment.device, "NVIDIA B200");
  EXPECT_EQ(in.environment.variables, (std::map<std::string, std::string>{{"NCCL_ALGO", "Ring"}}));
}

TEST(Import, RefusesBrokenJson) {
  EXPECT_THAT(refusal(json_log().substr(0, 300)),
              HasSubstr("log.txt:1:301: error: not whole JSON: the file is cut or broken [E-IMPORT-ROW]"));
  EXPECT_THAT(refusal(replaced(json_log(), "\"bus_bw\":10.485760", "\"bus_bw\":0.000000")),
              HasSubstr("results[0]: busbw is 0"));
  EXPECT_THAT(refusal(replaced(json_log(), "\"time\":50.000000", "\"cpu_time\":50.000000")),
              HasSubstr("results[0].out_of_place: holds times of the CPU"));
  EXPECT_THAT(refusal(replaced(json_log(), "\"alg_bw\":20.971520,", "")), HasSubstr("has no alg_bw"));
  EXPECT_THAT(refusal(replaced(json_log(), "\"rank\":1", "\"rank\":0")), HasSubstr("built without MPI"));
  EXPECT_THAT(refusal(replaced(json_log(), "reduce_scatter_perf", "perf")), HasSubstr("[E-IMPORT-OP]"));
}
}  // namespace
}  // namespace rehearse::calibration
