#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "calibration/samples/sample.hpp"
#include "sim/base/error.hpp"

namespace rehearse::calibration {
namespace {

std::string file_of_test() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const auto path =
      std::filesystem::path(testing::TempDir()) / (std::string("samples_") + test->name() + ".jsonl");
  std::filesystem::remove(path);
  return path.string();
}

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

Environment environment() {
  Environment e;
  e.backend = "cuda", e.device = "NVIDIA H200", e.driver = "580.1", e.toolkit = "CUDA 13.0";
  e.collectives_library = "NCCL 2.29.2", e.topology = "18 NVLinks", e.command = "run --budget 2min";
  e.started = "2026-01-02T03:04:05Z", e.variables = {{"NCCL_ALGO", "Ring"}};
  e.ranks = 8, e.ranks_per_node = 8;
  e.limits.peak_flops = {{DType::bf16, 989e12}, {DType::fp8, 1979e12}};
  e.limits.memory_bytes_per_s = 4.8e12, e.limits.link_bytes_per_s = 450e9, e.limits.sms = 132;
  e.id = digest_of(e);
  return e;
}

Sample sample(const Work& work) {
  Sample s;
  s.probe = "gemm", s.work = work, s.environment = environment().id;
  s.device = {1.2345678901234567e-4, 1e-7, 1.2e-4, 1.3e-4, 25};
  return s;
}

const GemmCall kStoredGemm{DType::bf16, GemmRole::forward, {2048, 12288, 6144}};
const CollectiveCall kAllReduce{CollectiveOp::all_reduce, DType::fp16, 1048576, {8, 1, false, 1, 8}};

std::string lines(const std::vector<Sample>& samples) {
  std::string text = to_json_line(environment()) + "\n";
  for (const auto& s : samples) text += to_json_line(s) + "\n";
  return text;
}

SampleFile read(const std::string& text) {
  const std::string path = file_of_test();
  std::ofstream(path, std::ios::binary) << text;
  return read_samples(path);
}

std::string rejection(const std::string& text) {
  try {
    read(text);
  } catch (const InputErrors& errors) {
    const std::string what = errors.what();
    return what.substr(what.find("jsonl:") + 6);
  }
  return "taken";
}

TEST(Samples, EveryFieldComesBack) {
  Sample s = sample(kStoredGemm);
  s.status = Status::rejected, s.code = "above-peak", s.reason = "1000 of 989 TFLOP/s";
  s.host = {2e-4, 0, 2e-4, 2e-4, 3};
  s.rank_min = 1.1e-4, s.rank_max = 1.3e-4, s.repeats = 7, s.warmups = 4;
  s.clock_before_mhz = 1980, s.clock_after_mhz = 1700, s.flags = {"throttled", "graph"};
  s.when = "2026-01-02T03:04:06Z";
  const OverlapCall beside{AttentionCall{DType::bf16, true, {1, 2048, 16, 8, 128, true}}, kAllReduce, 16};
  Sample overlap = sample(beside);
  overlap.alone = 1e-3, overlap.beside = 1.2e-3, overlap.collective_alone = 2e-3,
  overlap.collective_beside = 3e-3;
  std::vector<Sample> samples{s, overlap};
  for (const Work& work :
       {Work(kAllReduce), Work(MemoryCall{DType::fp32, MemoryKernel::rope, {16, 128}}),
        Work(LaunchCall{true}), Work(GemmCall{DType::fp32, GemmRole::weight_gradient, {8, 16, 32, 4}, true}),
        Work(CollectiveCall{CollectiveOp::send_recv, DType::fp32, 8, {4, 2, true, 2, 2}, true})})
    samples.push_back(sample(work));
  const std::string text = lines(samples);
  const SampleFile file = read(text);
  ASSERT_EQ(file.samples.size(), samples.size());
  std::string again = to_json_line(file.environments.begin()->second) + "\n";
  for (size_t i = 0; i < samples.size(); ++i) {
    EXPECT_EQ(file.samples[i].work, samples[i].work) << i;
    EXPECT_EQ(file.samples[i].device.median, samples[i].device.median);
    again += to_json_line(file.samples[i]) + "\n";
  }
  EXPECT_EQ(again, text);
  EXPECT_EQ(file.samples[0].flags, s.flags);
  EXPECT_EQ(file.samples[1].collective_beside, 3e-3);
  EXPECT_EQ(digest_of(file.environments.begin()->second), environment().id);
}

TEST(Samples, TheDigestCoversEveryField) {
  Environment other = environment();
  other.limits.sms = 108;
  EXPECT_NE(digest_of(other), environment().id);
  other = environment();
  other.variables["NCCL_ALGO"] = "Tree";
  EXPECT_NE(digest_of(other), environment().id);
}

TEST(Samples, ATornLastLineIsLeftOutAndCutOff) {
  const std::string whole = lines({sample(kStoredGemm)}), torn = to_json_line(sample(kAllReduce));
  for (size_t length : {size_t{1}, torn.size() / 2, torn.size()}) {
    const std::string path = file_of_test();
    std::ofstream(path, std::ios::binary) << whole << torn.substr(0, length);
    EXPECT_EQ(read_samples(path).samples.size(), 1u) << length;
    SampleWriter writer(path);
    EXPECT_EQ(text_of(path), whole) << length;
    writer.append(torn);
    EXPECT_EQ(text_of(path), whole + torn + "\n");
    EXPECT_EQ(read_samples(path).samples.size(), 2u);
  }
}

TEST(Samples, ATornFirstLineAndALongOneAreCutOff) {
  const std::string path = file_of_test();
  std::ofstream(path, std::ios::binary) << "{\"record\":";
  { SampleWriter writer(path); }
  EXPECT_EQ(text_of(path), "");
  const std::string whole = std::string(5000, 'x') + "\n";
  std::ofstream(path, std::ios::binary) << whole << "{\"record\":\"" << std::string(9000, 'y');
  { SampleWriter writer(path); }
  EXPECT_EQ(text_of(path), whole);
}

TEST(Samples, ASampleIsInTheFileWhenAppendReturns) {
  const std::string path = file_of_test();
  SampleWriter writer(path), beside(path);
  writer.append("a");
  beside.append("b");
  writer.append("c");
  EXPECT_EQ(text_of(path), "a\nb\nc\n");
}

TEST(Samples, CannotBeWrittenInAFolderThatIsNotThere) {
  EXPECT_THROW(SampleWriter(testing::TempDir() + "/none/samples.jsonl"), InputErrors);
}

TEST(Samples, RefusesWithTheLine) {
  const std::string good = lines({sample(kStoredGemm)});
  EXPECT_THAT(rejection(good + "{\"record\": \"sample\",\n"),
              testing::StartsWith("3:21: error: the line is not JSON [E-SAMPLE]"));
  EXPECT_THAT(rejection(good + "\n"), testing::HasSubstr("3:1: error: the line is not JSON"));
  for (const char* line : {"[]", "{}", "{\"record\":5}", "{\"record\":\"other\"}"})
    EXPECT_THAT(rejection(good + line + "\n"), testing::HasSubstr("3:1: error: the line is neither")) << line;
  EXPECT_THAT(
      rejection(good + to_json_line(sample(kStoredGemm)) + "\n"),
      testing::HasSubstr(
          "3:1: error: the point 'gemm bf16 forward m=2048 n=12288 k=6144' stands already in line 2"));
  EXPECT_THAT(rejection(to_json_line(sample(kStoredGemm)) + "\n"),
              testing::HasSubstr("stands nowhere above"));
}

std::string refusal_of(const std::string& from, const std::string& to) {
  std::string text = lines({sample(kStoredGemm)});
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  return rejection(text);
}

TEST(Samples, RefusesWhatASampleCannotBe) {
  EXPECT_THAT(refusal_of("\"m\":2048", "\"m\":2048.5"), testing::HasSubstr("work.m must be a whole number"));
  EXPECT_THAT(refusal_of("\"m\":2048", "\"m\":0"), testing::HasSubstr("work.m must be at least"));
  EXPECT_THAT(refusal_of("\"m\":2048", "\"m\":\"2048\""), testing::HasSubstr("work.m must be a number"));
  EXPECT_THAT(refusal_of("\"m\":2048", "\"mm\":2048"), testing::HasSubstr("work has no 'm'"));
  EXPECT_THAT(refusal_of("\"m\":2048", "\"m\":2048,\"x\":1"),
              testing::HasSubstr("work has an unknown key 'x'"));
  EXPECT_THAT(refusal_of("\"kind\":\"gemm\"", "\"kind\":\"gem\""),
              testing::HasSubstr("work.kind cannot be 'gem'"));
  EXPECT_THAT(refusal_of("\"forward\"", "\"backward\""),
              testing::HasSubstr("work.role cannot be 'backward'"));
  EXPECT_THAT(refusal_of("\"m\":2048", "\"m\":9e15"), testing::HasSubstr("the matrices are too large"));
  EXPECT_THAT(refusal_of("\"status\":\"ok\"", "\"status\":\"fine\""),
              testing::HasSubstr("sample.status cannot be"));
  EXPECT_THAT(refusal_of("\"p10\":0.00012", "\"p10\":1"), testing::HasSubstr("device is out of order"));
  EXPECT_THAT(refusal_of("\"n\":25", "\"n\":0"), testing::HasSubstr("device.n must be at least"));
  EXPECT_THAT(refusal_of("\"ranks\":8", "\"ranks\":0"), testing::HasSubstr("1:1: error: environment.ranks"));
  EXPECT_THAT(refusal_of("\"NCCL_ALGO\":\"Ring\"", "\"NCCL_ALGO\":1"),
              testing::HasSubstr("environment.variables.NCCL_ALGO must be a string"));
}

// Sizes whose products no integer holds.
TEST(Samples, RefusesWhatNoMachineHolds) {
  const auto said = [](const std::string& work) {
    return rejection(to_json_line(environment()) + "\n" + R"({"record":"sample","probe":"p","work":)" + work +
                     R"(,"environment":")" + environment().id + R"(","status":"failed"})" + "\n");
  };
  EXPECT_THAT(said(R"({"kind":"memory","kernel":"embedding","dtype":"fp32","rows":1,"width":9e15})"),
              testing::HasSubstr("the rows are too large"));
  EXPECT_THAT(
      said(R"({"kind":"attention","dtype":"fp32","batch":1,"sequence":9e15,"heads":1,"kv_heads":1024,)"
           R"("head_dim":128})"),
      testing::HasSubstr("queries or keys are too large"));
  EXPECT_THAT(said(R"({"kind":"collective","op":"broadcast","dtype":"fp32","bytes":4,"nodes":1e9,)"
                   R"("per_node":1e9})"),
              testing::HasSubstr("the group is too large"));
  EXPECT_EQ(said(R"({"kind":"memory","kernel":"copy","dtype":"fp32","rows":1,"width":4294967296})"), "taken");
}

}  // namespace
}  // namespace rehearse::calibration
