// Replays the kept corpus, and every prefix and a row of fixed mutations of each seed, without a fuzzer.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/targets.hpp"

namespace fs = std::filesystem;
using rehearse::fuzz::kTargets;

namespace {

std::vector<std::string> seeds_of(const std::string& target) {
  std::vector<fs::path> paths;
  for (const auto& entry :
       fs::directory_iterator(fs::path(REHEARSE_SOURCE_DIR) / "tests/fuzz/corpus" / target))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> seeds;
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return seeds;
}

class Replay : public testing::TestWithParam<size_t> {
 protected:
  void feed(const std::string& text) const {
    kTargets[GetParam()].run(reinterpret_cast<const uint8_t*>(text.data()), text.size(), ground_);
  }
  void SetUp() override { ground_ = rehearse::fuzz::make_ground(); }
  void TearDown() override { fs::remove_all(ground_.scratch); }
  rehearse::fuzz::Ground ground_;
};

TEST_P(Replay, CorpusIsReadOrRefused) {
  const auto seeds = seeds_of(kTargets[GetParam()].name);
  ASSERT_FALSE(seeds.empty());
  for (const auto& seed : seeds) EXPECT_NO_THROW(feed(seed)) << seed;
}

TEST_P(Replay, CutAndBentSeedsAreReadOrRefused) {
  const std::string odd = std::string("\0\xFF\t\n{}[]:&*!%|>'\"#-0x", 21);
  for (const auto& seed : seeds_of(kTargets[GetParam()].name)) {
    const size_t step = std::max<size_t>(1, seed.size() / 40);
    for (size_t at = 0; at < seed.size(); at += step) {
      EXPECT_NO_THROW(feed(seed.substr(0, at)));
      std::string bent = seed;
      bent[at] = odd[at / step % odd.size()];
      EXPECT_NO_THROW(feed(bent)) << bent;
      EXPECT_NO_THROW(feed(seed.substr(0, at) + seed.substr(std::min(seed.size(), at + step))));
    }
  }
}

std::string target_name(const testing::TestParamInfo<size_t>& test) { return kTargets[test.param].name; }
INSTANTIATE_TEST_SUITE_P(Targets, Replay, testing::Range<size_t>(0, std::size(kTargets)), target_name);

}  // namespace
