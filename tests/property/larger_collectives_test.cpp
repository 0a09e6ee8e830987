// A collective of more bytes never takes less time on an idle machine.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/property/asked_collectives.hpp"

namespace rehearse {
namespace {

class LargerCollectives : public ::testing::TestWithParam<const char*> {};

TEST_P(LargerCollectives, NoneIsFasterThanASmallerOne) {
  const auto profile = test::profile_named(GetParam());
  std::mt19937 random(7);
  for (int i = 0; i < 100; ++i) {
    test::Asked asked = test::drawn_collective(random, profile);
    std::vector<double> sizes;
    for (int power = 2; power < 34; ++power) sizes.push_back(std::ldexp(1, power));
    for (int k = 0; k < 16; ++k)
      sizes.push_back(std::exp2(std::uniform_real_distribution<double>(2, 33)(random)));
    std::sort(sizes.begin(), sizes.end());
    double before = 0;
    for (const double bytes : sizes) {
      asked.bytes = Bytes(bytes);
      const double now = test::seconds(asked);
      EXPECT_GE(now, before * (1 - 1e-12)) << asked;
      before = now;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Profiles, LargerCollectives,
                         ::testing::Values("plain", "host-2core", "a100-sxm4-80gb", "h100-sxm5-80gb",
                                           "h200-sxm-141gb", "b200-sxm-180gb", "v100-sxm2-32gb"));

}  // namespace
}  // namespace rehearse
