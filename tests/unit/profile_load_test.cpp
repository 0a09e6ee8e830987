#include "sim/io/profile.hpp"
#include "tests/unit/profile_fixture.hpp"

namespace rehearse {
namespace {

using test::profile_files;
using test::refusal;
using test::refusal_of;
using test::write_files;

TEST(ProfileLoad, ReadsEveryField) {
  const auto p = load_profile(write_files(profile_files()) + "/tiny.yaml");
  EXPECT_EQ(p->name, "tiny");
  EXPECT_EQ(p->memory_bytes.value, 80 * kGibi);
  EXPECT_EQ(p->memory_bytes.basis, Basis::guess);
  EXPECT_EQ(p->memory_bytes.source, "invented");
  EXPECT_EQ(p->hbm_bytes_per_s.value, 1e12);
  EXPECT_EQ(p->peak(DType::bf16)->value, 100e12);
  EXPECT_DOUBLE_EQ(p->p2p_network_latency_s.value, 9e-6);
  ASSERT_EQ(p->algorithms.size(), 1u);
  EXPECT_DOUBLE_EQ(p->algorithms[0].base_s.value, 8e-6);
  ASSERT_EQ(p->gemm.size(), 1u);
  ASSERT_EQ(p->gemm[0].rows.size(), 3u);
  EXPECT_EQ(p->gemm[0].rows[1].n, 256);
  EXPECT_DOUBLE_EQ(p->gemm[0].rows[2].seconds, 3.25e-6);
  EXPECT_EQ(p->gemm[0].file, "gemm.csv");
  EXPECT_EQ(p->gemm[0].licence, "MIT");
  ASSERT_EQ(p->attention[0].rows.size(), 1u);
  EXPECT_TRUE(p->attention[0].rows[0].causal);
  EXPECT_EQ(p->attention[0].rows[0].heads, 2);
  EXPECT_EQ(p->collectives[0].per_node, 8);
  EXPECT_EQ(p->collectives[0].bytes, (std::vector<double>{1024, 1048576}));
  EXPECT_DOUBLE_EQ(p->collectives[0].seconds[1], 40.5e-6);
  ASSERT_NE(p->stack("slow-host"), nullptr);
  EXPECT_DOUBLE_EQ(p->stack("slow-host")->host_per_kernel_s.value, 40e-6);
  EXPECT_EQ(p->stack("slow-host")->help, "another");
  EXPECT_EQ(p->stack("slow-host")->loss_bytes_per_logit.value, 20);
}

TEST(ProfileLoad, DigestIsStableAndSeesEveryByte) {
  auto files = profile_files();
  const auto digest = [&] { return load_profile(write_files(files) + "/tiny.yaml")->digest; };
  const std::string first = digest();
  EXPECT_EQ(first.size(), 16u);
  EXPECT_EQ(digest(), first);
  files["gemm.csv"] += "256,256,256,4\n";
  const std::string second = digest();
  EXPECT_NE(second, first);
  files["tiny.yaml"] += "\n";
  EXPECT_NE(digest(), second);
}

TEST(ProfileLoad, RefusesBadNumbersWithTheirPlace) {
  EXPECT_EQ(refusal_of("gemm.csv", "128,256,128,3", "128,256,x128,3"),
            "gemm.csv:3:9: error: k must be a positive number, not 'x128' [E-PROFILE-CSV]\n"
            "  128,256,x128,3\n"
            "          ^\n");
  EXPECT_EQ(refusal_of("gemm.csv", "3.25", "-3.25"),
            "gemm.csv:4:13: error: time_us must be a positive number, not '-3.25' [E-PROFILE-CSV]\n"
            "  256,128,128,-3.25\n"
            "              ^\n");
  EXPECT_THAT(refusal_of("gemm.csv", "3.25", "inf"), testing::HasSubstr("positive number, not 'inf'"));
  EXPECT_THAT(refusal_of("gemm.csv", "3.25", "nan"), testing::HasSubstr("positive number, not 'nan'"));
  EXPECT_THAT(refusal_of("gemm.csv", "3.25", "0"), testing::HasSubstr("positive number, not '0'"));
  EXPECT_THAT(refusal_of("gemm.csv", "3.25", "1e999"), testing::HasSubstr("positive number, not '1e999'"));
  EXPECT_THAT(refusal_of("attention.csv", ",1,10", ",2,10"),
              testing::HasSubstr("causal must be 0 or 1, not '2'"));
}

TEST(ProfileLoad, RefusesRowsOfAnotherForm) {
  EXPECT_EQ(refusal_of("all_reduce.csv", "1024,20", "1024"),
            "all_reduce.csv:2:5: error: the row ends before column time_us [E-PROFILE-CSV]\n"
            "  1024\n"
            "      ^\n");
  EXPECT_EQ(refusal_of("all_reduce.csv", "1024,20", "1024,20,7"),
            "all_reduce.csv:2:8: error: the row goes on after its last column [E-PROFILE-CSV]\n"
            "  1024,20,7\n"
            "         ^\n"
            "  hint: columns: bytes,time_us\n");
  EXPECT_THAT(refusal_of("all_reduce.csv", "1024,20", "1024,"),
              testing::HasSubstr(":2:6: error: column time_us has no value"));
  EXPECT_THAT(refusal_of("all_reduce.csv", "1024,20", "\n1024,20"),
              testing::HasSubstr(":2:1: error: column bytes has no value"));
  EXPECT_EQ(refusal_of("all_reduce.csv", "bytes,time_us", "bytes,seconds"),
            "all_reduce.csv:1:1: error: the first line must name the columns [E-PROFILE-CSV]\n"
            "  bytes,seconds\n"
            "  ^\n"
            "  hint: bytes,time_us\n");
  EXPECT_THAT(refusal_of("all_reduce.csv", "1024,20\n1048576,40.5\n", ""),
              testing::HasSubstr("the table has no rows"));
}

TEST(ProfileLoad, RefusesRowsOutOfOrderOrTwice) {
  EXPECT_EQ(refusal_of("gemm.csv", "256,128,128", "128,256,128"),
            "gemm.csv:4:1: error: the row does not stand after the row before it in order, or repeats it "
            "[E-PROFILE-CSV]\n"
            "  128,256,128,3.25\n"
            "  ^\n"
            "  hint: sort by m,n,k\n");
  EXPECT_THAT(refusal_of("all_reduce.csv", "1048576", "512"),
              testing::HasSubstr(":3:1: error: the row does not stand"));
}

TEST(ProfileLoad, RefusesAMissingTableWhereItIsNamed) {
  auto files = profile_files();
  files.erase("gemm.csv");
  EXPECT_THAT(refusal(files), testing::HasSubstr("error: cannot read 'gemm.csv': no such file [E-FILE-READ]\n"
                                                 "    - table: gemm.csv\n"
                                                 "             ^"));
}

TEST(ProfileLoad, RefusesUnknownAndMissingKeys) {
  EXPECT_THAT(refusal_of("tiny.yaml", "  sms:", "  smx:"),
              testing::AllOf(testing::HasSubstr("unknown key 'device.smx' [E-KEY-UNKNOWN]"),
                             testing::HasSubstr("the key 'device.sms' is missing [E-KEY-MISSING]")));
  EXPECT_THAT(refusal_of("tiny.yaml", "    gemm_scale: ", "    gemm_scala: "),
              testing::AllOf(testing::HasSubstr("unknown key 'stacks.base.gemm_scala'"),
                             testing::HasSubstr("the key 'stacks.base.gemm_scale' is missing")));
  EXPECT_THAT(refusal_of("tiny.yaml", ", basis: guess", ""),
              testing::HasSubstr("the key 'device.memory.basis' is missing"));
  EXPECT_THAT(refusal_of("tiny.yaml", "basis: guess", "basis: hearsay"),
              testing::HasSubstr("device.memory.basis cannot be 'hearsay' [E-CHOICE]"));
  EXPECT_THAT(refusal_of("tiny.yaml", "    bf16:", "    fp32:"),
              testing::HasSubstr("device.peak has no bf16, which this table needs [E-PROFILE-TABLE]"));
  EXPECT_THAT(refusal_of("tiny.yaml", "ring-simple", "ring-easy"),
              testing::HasSubstr("the key 'algorithms.ring-simple' is missing"));
}

TEST(ProfileLoad, RefusesValuesWithoutMeaning) {
  EXPECT_THAT(refusal_of("tiny.yaml", "80 GiB", "80"), testing::HasSubstr("[E-UNIT]"));
  EXPECT_THAT(
      refusal_of("tiny.yaml", "0.85", "1.85"),
      testing::HasSubstr("stacks.base.network_efficiency.value must be at most 1, not '1.85' [E-RANGE]"));
  EXPECT_THAT(refusal_of("tiny.yaml", "gpus: 8", "gpus: 1"), testing::HasSubstr("[E-RANGE]"));
  EXPECT_THAT(refusal_of("tiny.yaml", "op: all_reduce", "op: allreduce"), testing::HasSubstr("[E-CHOICE]"));
}

TEST(ProfileLoad, RefusesUnknownStacks) {
  EXPECT_THAT(refusal_of("tiny.yaml", "default_stack: base", "default_stack: bose"),
              testing::HasSubstr("default_stack names no set of constants: 'bose' [E-PROFILE-STACK]"));
  EXPECT_THAT(refusal_of("tiny.yaml", "like: base", "like: slow-host"),
              testing::HasSubstr(
                  "stacks.slow-host.like names no set of constants above it: 'slow-host' [E-PROFILE-STACK]"));
}

TEST(ProfileLoad, RefusesTwoGemmTablesOfOneType) {
  auto files = profile_files();
  const size_t at = files["tiny.yaml"].find("attention:\n");
  files["tiny.yaml"].insert(at,
                            "  - {table: gemm.csv, dtype: bf16, basis: measured, source: b, licence: MIT}\n");
  EXPECT_THAT(refusal(files), testing::HasSubstr("two GEMM tables for one type and role [E-PROFILE-TABLE]"));
}

// A role's own GEMMs, batches, passes and backward attention beside the tables that every profile has.
TEST(ProfileLoad, ReadsTheTablesOfAHarness) {
  auto files = profile_files();
  const std::string rest = ", basis: measured, source: b, licence: MIT}\n";
  files["tiny.yaml"] += "memory:\n  - {table: norm.csv, kernel: norm, dtype: fp16" + rest +
                        "batched_gemm:\n  - {table: scores.csv, dtype: bf16" + rest;
  files["tiny.yaml"].insert(files["tiny.yaml"].find("attention:\n"),
                            "  - {table: gemm.csv, dtype: bf16, role: weight_gradient" + rest);
  files["tiny.yaml"].insert(files["tiny.yaml"].find("collectives:\n"),
                            "  - {table: attention.csv, direction: backward, dtype: bf16" + rest);
  files["norm.csv"] = "rows,width,time_us\n2048,4096,20\n2048,8192,40\n";
  files["scores.csv"] = "batch,m,n,k,time_us\n16,1024,1024,128,55\n";
  const auto profile = load_profile(write_files(files) + "/tiny.yaml");
  ASSERT_EQ(profile->gemm.size(), 2u);
  EXPECT_FALSE(profile->gemm[0].role);
  EXPECT_EQ(profile->gemm[1].role, GemmRole::weight_gradient);
  EXPECT_TRUE(profile->attention[1].backward);
  ASSERT_EQ(profile->memory.size(), 1u);
  EXPECT_EQ(profile->memory[0].kernel, MemoryKernel::norm);
  EXPECT_EQ(profile->memory[0].rows[1].shape, (MemoryShape{2048, 8192}));
  ASSERT_EQ(profile->batched_gemm.size(), 1u);
  EXPECT_EQ(profile->batched_gemm[0].rows[0].shape, (GemmShape{1024, 1024, 128, 16}));
  EXPECT_DOUBLE_EQ(profile->batched_gemm[0].rows[0].seconds, 55e-6);
}

TEST(ProfileLoad, ShowsAllProblemsAtOnce) {
  auto files = profile_files();
  files["gemm.csv"][0] = 'M';
  files["all_reduce.csv"] += "7,7\n";
  files["tiny.yaml"] += "colour: blue\n";
  const std::string text = refusal(files);
  EXPECT_THAT(text,
              testing::AllOf(testing::HasSubstr("gemm.csv:1:1"), testing::HasSubstr("all_reduce.csv:4:1"),
                             testing::HasSubstr("unknown key 'colour'")));
}

}  // namespace
}  // namespace rehearse
