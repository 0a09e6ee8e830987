#include <gtest/gtest.h>

#include "calibration/work/rounding.hpp"

namespace rehearse::calibration {
namespace {

TEST(WorkRounding, EveryFp16SurvivesTheTripAndMidwaysGoToEven) {
  for (int i = 0; i < 0x7c00; ++i) {
    const auto bits = uint16_t(i);
    ASSERT_EQ(fp16_bits(from_fp16(bits)), bits);
    ASSERT_EQ(fp16_bits(-from_fp16(bits)), bits | 0x8000);
    if (i + 1 == 0x7c00) break;
    const double midway = (from_fp16(bits) + from_fp16(uint16_t(i + 1))) / 2;
    ASSERT_EQ(fp16_bits(midway), i % 2 ? i + 1 : i);
    ASSERT_EQ(fp16_bits(std::nextafter(midway, HUGE_VAL)), i + 1);
    ASSERT_EQ(fp16_bits(std::nextafter(midway, 0)), i);
  }
  EXPECT_EQ(fp16_bits(65519.9), 0x7bff);
  EXPECT_EQ(fp16_bits(65520), 0x7c00);
  EXPECT_TRUE(std::isnan(from_fp16(fp16_bits(NAN))));
}

TEST(WorkRounding, EveryFp8SurvivesTheTripAndSaturates) {
  for (int i = 0; i < 0x7f; ++i) {
    const auto bits = uint8_t(i);
    ASSERT_EQ(fp8_bits(from_fp8(bits)), bits);
    if (i + 1 == 0x7f) break;
    ASSERT_EQ(fp8_bits((from_fp8(bits) + from_fp8(uint8_t(i + 1))) / 2), i % 2 ? i + 1 : i);
  }
  EXPECT_EQ(from_fp8(0x7e), 448);
  EXPECT_EQ(from_fp8(0x01), 0x1p-9);
  EXPECT_EQ(round_to(DType::fp8, -1e9), -448);
  EXPECT_EQ(fp8_bits(HUGE_VAL), 0x7e);
}

TEST(WorkRounding, Bf16IsTheUpperHalfOfAFloat) {
  for (int i = 0; i < 0x7f80; ++i) {
    const auto bits = uint16_t(i);
    ASSERT_EQ(bf16_bits(from_bf16(bits)), bits);
    ASSERT_EQ(round_to(DType::bf16, from_bf16(bits)), from_bf16(bits));
    if (i + 1 == 0x7f80) break;
    const double midway = (double(from_bf16(bits)) + from_bf16(uint16_t(i + 1))) / 2;
    ASSERT_EQ(bf16_bits(float(midway)), i % 2 ? i + 1 : i);
    ASSERT_EQ(round_to(DType::bf16, midway), from_bf16(uint16_t(i % 2 ? i + 1 : i)));
  }
  EXPECT_TRUE(std::isinf(round_to(DType::bf16, 3.4e38)));
}

TEST(WorkRounding, Tf32KeepsTenBitsOfAFloat) {
  EXPECT_EQ(round_to(DType::tf32, 1 + 0x1p-11), 1);
  EXPECT_EQ(round_to(DType::tf32, 1 + 0x1.8p-10), 1 + 0x1p-9);
  EXPECT_EQ(round_to(DType::tf32, 1 + 0x1p-10), 1 + 0x1p-10);
}

}  // namespace
}  // namespace rehearse::calibration
