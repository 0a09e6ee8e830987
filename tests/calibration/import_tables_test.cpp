// Tables as the import takes them.
#include "tests/calibration/import_fixture.hpp"

namespace rehearse::calibration {
namespace {

using test::call_of;
using test::refusal;
using test::replaced;
using test::take;
using testing::HasSubstr;
using testing::StartsWith;

const char* const kCollectives =
    "op,ranks,nodes,gpus_per_node,bytes,time_us,algbw_GBps,busbw_GBps,inplace_time_us\n"
    "all_reduce,16,2,8,8,68.52,0.000116754,0.000218914,24.7\n"
    "all_reduce,16,2,8,1073741824,4478.8,239.739,449.51,4463.7\n";

TEST(Import, ReadsTablesOfCollectives) {
  const Imported in = take(kCollectives);
  ASSERT_EQ(in.samples.size(), 2u);
  EXPECT_DOUBLE_EQ(in.samples[0].device.median, 24.7e-6);
  EXPECT_EQ(call_of(in.samples[1]).group, (Group{16, 1, false, 2, 8}));
  EXPECT_THAT(refusal(replaced(kCollectives, "239.739,449.51", "239.739,549.51")),
              StartsWith("log.txt:3:30: error: busbw 549.51 is not"));
  EXPECT_THAT(refusal(replaced(kCollectives, "16,2,8,8", "12,2,8,8")),
              HasSubstr("log.txt:2:12: error: ranks is not nodes x gpus_per_node"));
  EXPECT_THAT(refusal(replaced(kCollectives, "16,2,8,8", "1,1,1,8")), HasSubstr("[E-IMPORT-ONE-RANK]"));
  ImportOptions large;
  large.least_bytes = 1024;
  EXPECT_EQ(take(kCollectives, "log.txt", large).samples.size(), 1u);
}

TEST(Import, ThinsToPowersOfTwo) {
  std::string table = "op,ranks,nodes,gpus_per_node,bytes,time_us,algbw_GBps,busbw_GBps\n";
  for (int bytes : {2000, 3000, 4000, 5000, 8000, 16400})
    table += "send_recv,2,1,2," + std::to_string(bytes) + ",1," + std::to_string(bytes * 1e-3) + "," +
             std::to_string(bytes * 1e-3) + "\n";
  ImportOptions options;
  options.thin = true;
  std::vector<double> sizes;
  for (const auto& s : take(table, "log.txt", options).samples) sizes.push_back(call_of(s).bytes);
  EXPECT_EQ(sizes, (std::vector<double>{2000, 4000, 8000, 16400}));
}

// A table of several operations is several curves.
TEST(Import, ThinsEachOperationByItself) {
  std::string table = "op,ranks,nodes,gpus_per_node,bytes,time_us,algbw_GBps,busbw_GBps\n";
  for (const char* op : {"send_recv,2,1,2,", "broadcast,2,1,2,", "send_recv,4,1,4,"})
    for (int bytes : {2000, 3000, 4000})
      table += op + std::to_string(bytes) + ",1," + std::to_string(bytes * 1e-3) + "," +
               std::to_string(bytes * 1e-3) + "\n";
  ImportOptions options;
  options.thin = true;
  EXPECT_EQ(take(table, "log.txt", options).samples.size(), 6u);
}

// The faster of two rows of a shape is kept, but not one that no device can have reached.
TEST(Import, WhatIsNotBelievedDoesNotReplaceWhatIs) {
  ImportOptions options;
  options.limits.peak_flops = {{DType::bf16, 100e12}};
  const Imported in =
      take("m,n,k,dtype,time_us\n1024,1024,1024,bf16,22\n1024,1024,1024,bf16,2\n", "log.txt", options);
  ASSERT_EQ(in.samples.size(), 1u);
  EXPECT_EQ(in.samples[0].status, Status::ok);
  EXPECT_DOUBLE_EQ(in.samples[0].device.median, 22e-6);
}

TEST(Import, RefusesShapesThatCannotBe) {
  const std::string gemm = "m,n,k,dtype,time_us\n128,1e30,128,bf16,4\n";
  EXPECT_THAT(refusal(gemm), StartsWith("log.txt:2:5: error: n must be a whole number up to 2^53"));
  EXPECT_THAT(
      refusal("batch,seq,heads,kv_heads,head_dim,causal,direction,time_us\n1,4096,16,5,128,1,fwd,9\n"),
      StartsWith("log.txt:2:11: error: 16 heads do not share 5 of keys evenly [E-IMPORT-ROW]"));
  EXPECT_THAT(refusal("op,ranks,nodes,gpus_per_node,bytes,time_us,algbw_GBps,busbw_GBps\n"
                      "all_gather,8589934592,1073741824,8,8,1,1,1\n"),
              StartsWith("log.txt:2:12: error: more than 1048576 ranks [E-IMPORT-RANKS]"));
}

TEST(Import, ReadsTablesOfKernels) {
  const Imported gemms = take("m,n,k,dtype,time_us\n128,256,512,bf16,3.5\n128,256,512,bf16,3.25\n");
  ASSERT_EQ(gemms.samples.size(), 1u);
  EXPECT_EQ(gemms.samples[0].work, Work(GemmCall{DType::bf16, GemmRole::forward, {128, 256, 512}}));
  EXPECT_DOUBLE_EQ(gemms.samples[0].device.median, 3.25e-6);
  EXPECT_THAT(gemms.notes, testing::ElementsAre(HasSubstr("the faster one kept")));

  const Imported layouts = take(
      "b,m,n,k,layout,accumulate,out_dtype,time_us\n2,128,256,512,NT,True,fp32,9\n1,128,256,512,NT,True,bf16,"
      "7\n");
  ASSERT_EQ(layouts.samples.size(), 1u);
  EXPECT_EQ(layouts.samples[0].work,
            Work(GemmCall{DType::bf16, GemmRole::weight_gradient, {128, 256, 512, 2}, true}));

  const Imported attention = take(
      "batch,seq,heads,kv_heads,head_dim,causal,direction,time_us,tflops\n1,4096,16,8,128,1,fwd,1000,68."
      "719\n");
  EXPECT_EQ(attention.samples[0].work, Work(AttentionCall{DType::bf16, false, {1, 4096, 16, 8, 128, true}}));

  ImportOptions options;
  options.kernels = {{"mlp_act", "swiglu"}};
  const Imported memory = take("op,rows,width,dtype,time_us\nmlp_act,16,128,fp16,2\n", "log.txt", options);
  EXPECT_EQ(memory.samples[0].work, Work(MemoryCall{DType::fp16, MemoryKernel::swiglu, {16, 128}}));
}

TEST(Import, RefusesTablesThatItCannotRead) {
  EXPECT_THAT(refusal("m,n,kk,dtype,time_us\n1,2,3,bf16,4\n"),
              StartsWith("log.txt:1:1: error: not the columns of a table that is known [E-IMPORT-HEADER]"));
  EXPECT_THAT(refusal("m,n,k,power,time_us\n1,2,3,4,5\n"),
              StartsWith("log.txt:1:7: error: a table of GEMMs has no column 'power'"));
  EXPECT_THAT(refusal("m,n,k,dtype,time_us\n1,2,3,bf16\n"),
              StartsWith("log.txt:2:7: error: the row has 4 fields, its header 5 [E-IMPORT-ROW]"));
  EXPECT_THAT(refusal("m,n,k,dtype,time_us\n1,2,3,bf16,-4\n"),
              StartsWith("log.txt:2:12: error: time_us must be a positive number, not '-4'"));
  EXPECT_THAT(refusal("m,n,k,dtype,time_us\n1,2,3.5,bf16,4\n"),
              StartsWith("log.txt:2:5: error: k must be a whole number"));
  EXPECT_THAT(refusal("m,n,k,dtype,time_us\n1,2,3,int8,4\n"),
              StartsWith("log.txt:2:7: error: a type that the simulator does not know: 'int8'"));
  EXPECT_THAT(refusal("m,n,k,dtype,time_us\n"), HasSubstr("the table has no rows"));
  EXPECT_THAT(refusal("gpu,m,n,k,dtype,time_us\na,1,2,3,bf16,4\n"),
              HasSubstr("a table of several devices [E-IMPORT-HEADER]"));
  EXPECT_THAT(
      refusal("op,rows,width,dtype,time_us\nmlp_act,16,128,fp16,2\n"),
      StartsWith("log.txt:2:1: error: a kernel that the simulator does not know: 'mlp_act' [E-IMPORT-OP]"));
  EXPECT_THAT(refusal("batch,seq,heads,kv_heads,head_dim,causal,direction,time_us,tflops\n1,4096,16,8,128,1,"
                      "fwd,1000,137.4\n"),
              StartsWith("log.txt:2:28: error: tflops 137.4 is not FLOPs / time = 68.72"));
  EXPECT_THAT(refusal("hello\n"), HasSubstr("[E-IMPORT-FORMAT]"));
  EXPECT_THAT(refusal(" \n"), HasSubstr("the file is empty [E-IMPORT-FORMAT]"));
}

TEST(Import, WhatNoDeviceReachesIsRejected) {
  ImportOptions options;
  options.limits.peak_flops = {{DType::bf16, 100e12}};
  options.limits.link_bytes_per_s = 300e9;
  const Imported gemms =
      take("m,n,k,dtype,time_us\n1024,1024,1024,bf16,21\n1024,1024,2048,bf16,45\n", "log.txt", options);
  EXPECT_EQ(gemms.samples[0].code, "above-peak");
  EXPECT_EQ(gemms.samples[1].status, Status::ok);
  const auto wire = [&](const char* op, int ranks, double bus_factor, double bus) {
    const double bytes = 1e9, time = bytes * bus_factor / bus * 1e-3;
    std::string row = std::string(op) + "," + std::to_string(ranks) + ",1," + std::to_string(ranks) +
                      ",1000000000," + std::to_string(time) + "," + std::to_string(bytes / time * 1e-3) +
                      "," + std::to_string(bus) + "\n";
    return take("op,ranks,nodes,gpus_per_node,bytes,time_us,algbw_GBps,busbw_GBps\n" + row, "log.txt",
                options)
        .samples[0]
        .code;
  };
  EXPECT_EQ(wire("all_gather", 8, 0.875, 299), "");
  EXPECT_EQ(wire("all_gather", 8, 0.875, 301), "above-wire");
  EXPECT_EQ(wire("all_reduce", 4, 1.5, 301), "above-wire");
  EXPECT_EQ(wire("all_reduce", 8, 1.75, 480), "");  // reduced in the switch
  EXPECT_EQ(wire("all_reduce", 8, 1.75, 530), "above-wire");
}

// Cut inside of its last number, a table would hold a time ten times too short.
TEST(Import, RefusesATableWithoutItsLastLineBreak) {
  const std::string table = "m,n,k,dtype,time_us\n128,128,128,bf16,10\n4096,4096,8192,bf16,1200\n";
  EXPECT_EQ(take(table, "gemm.csv").samples.size(), 2U);
  EXPECT_THAT(refusal(table.substr(0, table.size() - 3), "gemm.csv"),
              HasSubstr("gemm.csv:3:1: error: the last line has no end: the file may have been cut"));
}

}  // namespace
}  // namespace rehearse::calibration
