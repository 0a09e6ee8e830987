#include "calibration/fit/fit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "calibration/fit/compare.hpp"
#include "calibration/fit/constants.hpp"
#include "sim/base/error.hpp"
#include "sim/io/profile.hpp"
#include "sim/spec/bus_factor.hpp"

namespace rehearse::calibration {
namespace {

using testing::Contains;
using testing::HasSubstr;

// A machine whose times follow closed forms.
constexpr double kPeak = 100e9, kBandwidth = 20e9, kLatency = 5e-6, kWire = 4e9;

class Machine {
 public:
  Machine() {
    Environment e;
    e.backend = "host", e.device = "a box", e.ranks = 2, e.ranks_per_node = 2;
    e.limits.peak_flops = {{DType::fp32, kPeak}};
    e.limits.memory_bytes_per_s = kBandwidth, e.limits.memory_bytes = 8 * kGibi, e.limits.sms = 2;
    e.limits.l2_bytes = 1e6;
    e.id = id_ = digest_of(e);
    file.environments[e.id] = e;
  }
  Sample& add(const Work& work, double seconds) {
    Sample s;
    s.probe = "any", s.work = work, s.environment = id_;
    s.device = {seconds, 0, seconds, seconds, 9};
    file.samples.push_back(s);
    return file.samples.back();
  }
  void gemms(std::initializer_list<GemmRole> roles) {
    for (GemmRole role : roles)
      for (double m : {64, 128, 256, 512, 1024})
        for (double n : {128, 256, 512})
          for (double k : {128, 256, 512})
            add(GemmCall{DType::fp32, role, {m, n, k}},
                2 * m * n * k / (0.8 * kPeak) * (role == GemmRole::weight_gradient ? 1.25 : 1) + 1e-6);
  }
  void collectives(int ranks) {
    for (CollectiveOp op : {CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter})
      for (double bytes = 8; bytes <= 1 << 28; bytes *= 2) {
        const double steps = (op == CollectiveOp::all_reduce ? 2 : 1) * (ranks - 1);
        add(CollectiveCall{op, DType::fp32, bytes, {ranks, 1, false, 1, ranks}},
            kLatency + steps * 1e-6 + bytes * bus_factor(op, ranks) / kWire);
      }
  }
  SampleFile file;

 private:
  std::string id_;
};

Machine whole_machine() {
  Machine m;
  m.gemms({GemmRole::forward, GemmRole::input_gradient, GemmRole::weight_gradient});
  for (double s : {128, 256, 512})
    for (bool backward : {false, true}) {
      const AttentionCall call{DType::fp32, backward, {1, s, 4, 4, 64, true}};
      m.add(call, flops_of(call) / (0.5 * kPeak));
    }
  for (double rows : {64, 1024, 16384})
    m.add(MemoryCall{DType::fp32, MemoryKernel::copy, {rows, 1024}}, rows * 8192 / (0.75 * kBandwidth));
  m.add(LaunchCall{true}, 2e-7);
  m.add(LaunchCall{false}, 3e-7).host = {4e-7, 0, 4e-7, 4e-7, 9};
  m.collectives(2);
  for (double bytes = 8; bytes <= 1 << 24; bytes *= 2)
    m.add(CollectiveCall{CollectiveOp::send_recv, DType::fp32, bytes, {2, 1, false, 1, 2}},
          3e-6 + bytes / kWire);
  return m;
}

Fit fit_of(const Machine& m, const FitOptions& options = {"box", "", "", 0}) {
  return fit_profile({{m.file, false}}, options);
}

const NamedConstant* find(const std::vector<NamedConstant>& all, const std::string& path) {
  for (const auto& c : all)
    if (c.path == path) return &c;
  return nullptr;
}

std::shared_ptr<const DeviceProfile> load(const Fit& fit, const std::string& name = "box") {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const auto folder = std::filesystem::path(testing::TempDir()) / (std::string("fit_") + test->name());
  std::filesystem::create_directories(folder / name);
  std::ofstream(folder / (name + ".yaml"), std::ios::binary) << fit.yaml;
  for (const auto& [file, text] : fit.tables) std::ofstream(folder / name / file, std::ios::binary) << text;
  return load_profile((folder / (name + ".yaml")).string());
}

TEST(Fit, AMachineOfClosedFormsBecomesAWholeProfile) {
  const Fit fit = fit_of(whole_machine());
  const auto p = load(fit);
  ASSERT_EQ(p->gemm.size(), 3u);
  EXPECT_EQ(p->gemm[2].role, GemmRole::weight_gradient);
  EXPECT_EQ(p->gemm[0].rows.size(), 45u);
  EXPECT_EQ(p->gemm[0].dtype, DType::fp32);
  ASSERT_EQ(p->attention.size(), 2u);
  EXPECT_TRUE(p->attention[1].backward);
  ASSERT_EQ(p->memory.size(), 1u);
  EXPECT_EQ(p->collectives.size(), 4u);
  EXPECT_EQ(p->peak(DType::fp32)->value, kPeak);
  EXPECT_EQ(p->hbm_bytes_per_s.value, kBandwidth);
  EXPECT_EQ(p->memory_bytes.value, 8 * kGibi);
  EXPECT_EQ(p->sms.value, 2);
  EXPECT_NEAR(p->attention_backward.value, 2.5, 1e-9);
  const Stack& s = *p->stack("measured");
  EXPECT_NEAR(s.memory_efficiency.value, 0.75, 1e-9);
  EXPECT_NEAR(s.kernel_floor_s.value, 2e-7, 1e-12);
  EXPECT_NEAR(s.host_per_kernel_s.value, 4e-7, 1e-12);
  EXPECT_EQ(s.kernel_floor_s.basis, Basis::measured);
  EXPECT_NEAR(s.wgrad_scale.value, 1.2, 0.05);
  EXPECT_EQ(s.overlap_slowdown.basis, Basis::guess);  // no sample says it
  EXPECT_TRUE(find(fit.guessed, "stacks.overlap_slowdown"));
  EXPECT_FALSE(find(fit.guessed, "stacks.memory_efficiency"));
}

TEST(Fit, LatencyAndRateOfCollectives) {
  Machine m = whole_machine();
  m.collectives(4);
  const auto p = load(fit_of(m));
  EXPECT_EQ(p->algorithms[0].name, "ring-ll");
  EXPECT_NEAR(p->algorithms[0].base_s.value, kLatency, 0.4e-6);
  EXPECT_NEAR(p->algorithms[0].hop_nvlink_s.value, 1e-6, 0.1e-6);
  EXPECT_NEAR(p->p2p_nvlink_latency_s.value, 2.4e-6, 0.1e-6);
  // The link's rate was not stated: the best bus bandwidth stands for it, of which all_gather has nearly all.
  EXPECT_NEAR(p->nvlink_bytes_per_s.value, kWire, 0.02 * kWire);
  EXPECT_NEAR(p->nvlink_efficiency.value, 1, 0.02);
  EXPECT_EQ(p->nvlink_efficiency.basis, Basis::guess);
}

// A log of one operation says nothing of others, nor of kernels: what stands for them is marked.
TEST(Fit, OneOperationSpeaksForItselfAlone) {
  Machine m;
  m.file.environments.begin()->second.limits = {};
  for (double bytes = 1 << 20; bytes <= 1 << 28; bytes *= 2)
    m.add(CollectiveCall{CollectiveOp::all_reduce, DType::fp32, bytes, {4, 1, false, 1, 4}}, bytes / kWire);
  const Fit fit = fit_of(m);
  const auto p = load(fit);
  EXPECT_EQ(p->nvlink_efficiency.basis, Basis::guess);
  EXPECT_THAT(fit.yaml,
              HasSubstr("best bus bandwidth of all_reduce alone, which stands for the links'' rate too"));
  EXPECT_EQ(p->peak(DType::bf16)->basis, Basis::guess);
  EXPECT_TRUE(find(fit.guessed, "device.peak.bf16"));
}

TEST(Fit, CollectivesOfAnUnnamedNetworkAreSaidOrRefused) {
  Machine m;
  Environment& e = m.file.environments.begin()->second;
  e.backend = "import";
  const auto far = [&](CollectiveOp op) {
    m.add(CollectiveCall{op, DType::fp32, 1 << 20, {16, 1, false, 2, 8}}, 1e-3);
  };
  far(CollectiveOp::all_reduce), far(CollectiveOp::all_gather);
  m.gemms({GemmRole::forward});
  try {
    fit_of(m);
    ADD_FAILURE() << "no collective is left";
  } catch (const InputErrors& found) {
    EXPECT_EQ(found.errors.at(0).code, "E-FIT-EMPTY");
    EXPECT_THAT(found.errors.at(0).message,
                HasSubstr("1 all_gather over 2 nodes, whose network is not named; 1 all_reduce"));
    EXPECT_THAT(found.errors.at(0).hint, HasSubstr("--network"));
  }
  m.collectives(2);
  EXPECT_THAT(fit_of(m).without_table, Contains(std::pair<std::string, int>(
                                           "all_gather over 2 nodes, whose network is not named", 1)));
}

TEST(Fit, HowOneLatencyIsSharedIsAGuess) {
  Machine m;
  m.add(CollectiveCall{CollectiveOp::all_gather, DType::fp32, 64, {2, 1, false, 1, 2}}, 10e-6);
  const Fit fit = fit_of(m);
  const auto p = load(fit);
  EXPECT_NEAR(p->algorithms[0].base_s.value, 7e-6, 1e-12);
  EXPECT_NEAR(p->algorithms[0].hop_nvlink_s.value, 3e-6, 1e-12);
  EXPECT_EQ(p->algorithms[0].base_s.basis, Basis::guess);
  EXPECT_EQ(load(fit_of(whole_machine()))->algorithms[0].base_s.basis, Basis::fitted);
}

TEST(Fit, ATableIsNamedAfterItsFileWithoutWhatYamlReads) {
  Machine m;
  m.add(GemmCall{DType::bf16, GemmRole::forward, {128, 128, 512}}, 1e-3);
  auto& [id, environment] = *m.file.environments.begin();
  environment.command = "import my log: <#1>.csv";
  const auto p = load(fit_of(m));
  EXPECT_EQ(p->gemm.at(0).file, "my_log____1_.csv");
}

TEST(Fit, SaysHowWellItDoesOnWhatWasKeptOut) {
  const Fit fit = fit_of(whole_machine());
  ASSERT_FALSE(fit.fits.empty());
  for (const auto& table : fit.fits) {
    EXPECT_EQ(table.points.size(), static_cast<size_t>(table.held_out.n)) << table.file;
    if (table.label.starts_with("gemm ")) {
      EXPECT_EQ(table.held_out.n, 45);
      EXPECT_LT(table.held_out.median, 0.15);  // a coarse grid: the margin of planes bounds what is beyond it
      EXPECT_GT(table.held_out.median, 1e-4);  // a row that was kept out is not just read back
    }
    if (table.label == "all_reduce 1x2") {
      EXPECT_EQ(table.held_out.n, 24);  // both ends stay
      EXPECT_LT(table.held_out.median, 0.03);
    }
  }
  EXPECT_THAT(fit.yaml, HasSubstr("error of 45 rows, each kept out once: median"));
  EXPECT_EQ(fit_of(whole_machine()).yaml, fit.yaml);
}

TEST(Fit, WhatWasNotBelievedTakesNoPart) {
  Machine m = whole_machine();
  const size_t before = m.file.samples.size();
  m.add(GemmCall{DType::fp32, GemmRole::forward, {4096, 4096, 4096}}, 1e-9).status = Status::rejected;
  m.file.samples.back().code = "above-peak";
  m.add(CollectiveCall{CollectiveOp::all_reduce, DType::fp32, 64, {1, 1, false, 1, 1}}, 1e-6).status =
      Status::unfit;
  m.add(GemmCall{DType::fp32, GemmRole::forward, {4096, 4096, 8192}}, 1).flags = {"throttled"};
  m.add(GemmCall{DType::fp32, GemmRole::forward, {4096, 8192, 8192}}, 1).device.n = 0;
  const Fit fit = fit_of(m);
  EXPECT_EQ(fit.samples, before);
  EXPECT_THAT(fit.left_out, Contains(std::pair<std::string, int>("no time", 1)));
  EXPECT_THAT(fit.left_out, Contains(std::pair<std::string, int>("rejected: above-peak", 1)));
  EXPECT_THAT(fit.left_out, Contains(std::pair<std::string, int>("throttled", 1)));
  EXPECT_EQ(load(fit)->gemm[0].rows.size(), 45u);
  for (auto& s : m.file.samples) s.status = Status::rejected;
  EXPECT_THROW(fit_of(m), InputErrors);
}

TEST(Fit, ListsRowsThatTheirNeighboursContradict) {
  Machine m = whole_machine();
  EXPECT_TRUE(fit_of(m).outliers.empty());
  for (auto& s : m.file.samples)
    if (point_of(s.work) == "all_gather fp32 bytes=65536 ranks=2 nodes=1x2") s.device.median *= 5;
  const Fit fit = fit_of(m);
  ASSERT_FALSE(fit.outliers.empty());
  EXPECT_EQ(point_of(fit.outliers[0].point.work), "all_gather fp32 bytes=65536 ranks=2 nodes=1x2");
}

TEST(Fit, AFileOfConstantsStandsAndIsContradicted) {
  FitOptions options{"box",
                     "default_stack: mine\ndevice:\n  hbm: {value: 10 GB/s, basis: datasheet, source: a "
                     "sheet}\nstacks:\n  mine:\n    help: 'mine'\n",
                     "c.yaml", 0};
  const Fit fit = fit_of(whole_machine(), options);
  const auto p = load(fit);
  EXPECT_EQ(p->hbm_bytes_per_s.value, 10e9);
  EXPECT_EQ(p->hbm_bytes_per_s.source, "a sheet");
  EXPECT_EQ(p->default_stack, "mine");
  EXPECT_NEAR(p->stack("mine")->memory_efficiency.value, 1, 1e-9);
  EXPECT_THAT(fit.overruled, Contains("device.hbm: 10 GB/s stated, 20 GB/s by the samples"));
}

TEST(Fit, AWrongConstantIsRefused) {
  FitOptions options{"box", "device:\n  hbm: {value: 40 GB, basis: datasheet, source: a sheet}\n", "c.yaml",
                     0};
  try {
    fit_of(whole_machine(), options);
    FAIL();
  } catch (const InputErrors& errors) {
    EXPECT_THAT(errors.what(), HasSubstr("device.hbm.value"));
  }
}

TEST(Fit, ConstantsThatAreLikeEachOtherInARingAreRefused) {
  FitOptions options{"box", "default_stack: a\nstacks:\n  a: {help: a, like: b}\n  b: {help: b, like: a}\n",
                     "c.yaml", 0};
  try {
    fit_of(whole_machine(), options);
    FAIL();
  } catch (const InputErrors& errors) {
    EXPECT_THAT(errors.what(), HasSubstr("names no set of constants above it: 'b' [E-PROFILE-STACK]"));
  }
}

TEST(Fit, BorrowedTablesAreGuesses) {
  Machine own, other;
  own.collectives(2);
  other.gemms({GemmRole::forward});
  const auto p = load(fit_profile({{own.file, false}, {other.file, true}}, {"box", "", "", 0}));
  ASSERT_EQ(p->gemm.size(), 1u);
  EXPECT_FALSE(p->gemm[0].role);  // of one layout: serves all
  EXPECT_EQ(p->gemm[0].basis, Basis::guess);
  EXPECT_THAT(p->gemm[0].caveats, HasSubstr("of another device: a box"));
  EXPECT_EQ(p->collectives[0].basis, Basis::measured);
}

TEST(Fit, ThinningKeepsWhatTheOthersDoNotTell) {
  Machine m;
  m.gemms({GemmRole::forward});
  const Fit whole = fit_of(m), thinned = fit_of(m, {"box", "", "", 0.1});
  EXPECT_LT(thinned.fits[0].rows, whole.fits[0].rows);
  EXPECT_EQ(thinned.fits[0].rows + thinned.fits[0].thinned, whole.fits[0].rows);
  EXPECT_THAT(thinned.yaml, HasSubstr("more rows left out that these predict"));
  EXPECT_EQ(fit_of(m, {"box", "", "", 1e-12}).fits[0].rows, whole.fits[0].rows);
}

TEST(Fit, TablesGiveTimesAsTheyWereRead) {
  Machine m;
  m.add(GemmCall{DType::bf16, GemmRole::forward, {128, 256, 512}}, 17.746 * 1e-6);
  m.add(GemmCall{DType::bf16, GemmRole::forward, {128, 128, 512}}, 1234567 * 1e-6);
  EXPECT_EQ(fit_of(m).tables.at("gemm_bf16.csv"), "m,n,k,time_us\n128,128,512,1234567\n128,256,512,17.746\n");
}

TEST(Fit, DrawsEveryTable) {
  const Fit fit = fit_of(whole_machine());
  for (const auto& table : fit.fits) {
    const std::string svg = svg_of(table);
    size_t points = 0;
    for (size_t at = 0; (at = svg.find("<circle", at)) != std::string::npos; ++at) ++points;
    EXPECT_EQ(points, table.points.size());
    EXPECT_EQ(svg.find("nan"), std::string::npos) << table.file;
    EXPECT_TRUE(svg.ends_with("</svg>\n"));
  }
}

TEST(Compare, TellsWhatDiffers) {
  Machine a, b;
  a.gemms({GemmRole::forward});
  b.gemms({GemmRole::forward});
  for (auto& s : b.file.samples) s.device.median *= 1.1;
  b.file.samples[3].device.median *= 2;
  a.add(LaunchCall{true}, 1e-6);
  const Comparison c = compare(points_of(a.file), points_of(b.file));
  ASSERT_EQ(c.groups.size(), 1u);
  EXPECT_EQ(c.groups[0].both, 45);
  EXPECT_NEAR(c.groups[0].median, 1.1, 1e-12);
  EXPECT_EQ(c.only_first, 1u);
  EXPECT_EQ(c.only_second, 0u);
  EXPECT_EQ(c.largest.size(), 20u);
  EXPECT_EQ(c.largest[0].point, point_of(b.file.samples[3].work));
  EXPECT_NEAR(c.largest[0].second / c.largest[0].first, 2.2, 1e-12);
}

TEST(Compare, ReadsTheTablesOfAProfile) {
  const Machine m = whole_machine();
  const auto p = load(fit_of(m));
  const Comparison c = compare(points_of(*p), points_of(m.file));
  EXPECT_EQ(c.only_first, 0u);
  EXPECT_EQ(c.only_second, 2u);  // launches are constants
  for (const auto& r : c.largest) EXPECT_NEAR(r.second / r.first, 1, 1e-6) << r.point;
}

}  // namespace
}  // namespace rehearse::calibration
