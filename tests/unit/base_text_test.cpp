#include <gtest/gtest.h>

#include <cmath>

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

using namespace rehearse;

TEST(Numbers, DecimalIntegersOnly) {
  EXPECT_EQ(parse_int("0").value, 0);
  EXPECT_EQ(parse_int("-17").value, -17);
  EXPECT_EQ(parse_int("9223372036854775807").value, INT64_MAX);
  for (const char* bad : {"", "-", "010", "-01", "0x10", "0o17", "1_000", "1,000", "+1", "1.0", "1e3", " 1",
                          "1 ", ".nan", ".inf", "9223372036854775808", "true", "~", "\xD9\xA1"})
    EXPECT_FALSE(parse_int(bad).value) << bad;
  EXPECT_EQ(parse_int("010").hint, "leave out leading zeros");
  EXPECT_EQ(parse_int("0x10").hint, "write it in decimal");
  EXPECT_EQ(parse_int("1_000").hint, "write the digits without separators");
}

TEST(Numbers, DecimalFractionsOnly) {
  EXPECT_EQ(parse_number("0.1").value, 0.1);
  EXPECT_EQ(parse_number("-2.5e-3").value, -2.5e-3);
  EXPECT_EQ(parse_number("1E+6").value, 1e6);
  EXPECT_FALSE(std::signbit(*parse_number("-0").value));
  for (const char* bad : {"", ".5", "5.", "1e", "1e+", "00.5", ".nan", "nan", ".inf", "inf", "-inf", "1e400",
                          "-1e400", "1e-400", "0x1p3", "1_0.5", "1.5 ", "1..5"})
    EXPECT_FALSE(parse_number(bad).value) << bad;
}

TEST(Quantities, SiAndBinaryPrefixesBitsAndBytes) {
  const auto bytes = [](const char* t) { return parse_quantity(t, Dimension::bytes).value; };
  const auto rate = [](const char* t) { return parse_quantity(t, Dimension::bytes_per_s).value; };
  EXPECT_EQ(rate("400 Gb/s"), 50e9);
  EXPECT_EQ(rate("50 GB/s"), 50e9);
  EXPECT_EQ(rate("1 GiB/s"), 1073741824.0);
  EXPECT_EQ(bytes("80 GiB"), 80 * 1073741824.0);
  EXPECT_EQ(bytes("80GiB"), 80 * 1073741824.0);
  EXPECT_EQ(bytes("160 MB"), 160e6);
  EXPECT_EQ(bytes("3 b"), 0.375);
  EXPECT_EQ(parse_quantity("2 us", Dimension::seconds).value, 2e-6);
  EXPECT_EQ(parse_quantity("1.3 ns", Dimension::seconds).value, 1.3e-9);
  EXPECT_EQ(parse_quantity("312 TFLOP/s", Dimension::flop_per_s).value, 312e12);
  EXPECT_EQ(parse_quantity("2 GFLOP", Dimension::flop).value, 2e9);
}

TEST(Quantities, RefusalsSayWhatToWrite) {
  const auto bare = parse_quantity("400", Dimension::bytes_per_s);
  EXPECT_EQ(bare.problem, "'400' has no unit");
  EXPECT_EQ(bare.hint, "write a number and a unit, such as '400 Gb/s' or '50 GB/s'");
  const auto cased = parse_quantity("400 gb/s", Dimension::bytes_per_s);
  EXPECT_EQ(cased.problem, "'gb/s' is not a unit of bandwidth");
  EXPECT_TRUE(cased.hint.starts_with("did you mean")) << cased.hint;
  for (const char* bad : {"", "GB", "0x10 GB", "010 GB", "1_0 GB", ".inf GB", "1 GB/s", "1 s", "1 GB B",
                          "1\tGB", "1e400 GB", "1e308 TiB"})
    EXPECT_FALSE(parse_quantity(bad, Dimension::bytes).value) << bad;
}

TEST(Quantities, EveryUnitReadsInItsOwnDimensionAlone) {
  const Dimension all[] = {Dimension::bytes, Dimension::seconds, Dimension::bytes_per_s, Dimension::flop,
                           Dimension::flop_per_s};
  for (const auto of : all)
    for (const auto unit : units_of(of))
      for (const auto as : all)
        EXPECT_EQ(parse_quantity("1 " + std::string(unit), as).value.has_value(), as == of) << unit;
}

TEST(Utf8, IllFormedBytesAreFound) {
  EXPECT_FALSE(find_bad_utf8("plain, \xC3\xA9, \xE2\x82\xAC, \xF0\x9F\x98\x80"));
  EXPECT_EQ(find_bad_utf8("ab\xFF"), 2U);
  for (const char* bad : {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
                          "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE2\x82", "\xC3"})
    EXPECT_EQ(find_bad_utf8(bad), 0U);
}

TEST(Utf8, QuotesStayWellFormed) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "\xE2\x82\xAC";
  EXPECT_FALSE(find_bad_utf8(quote(text)));
  EXPECT_LT(quote(text).size(), 70U);
  EXPECT_EQ(quote("a\nb"), "'a?b'");
}

TEST(ErrorText, CaretStandsUnderTheCharacter) {
  const Place place{"f.yaml", 2, 8, "n\xC3\xA9: \tx"};  // column 8 counts bytes
  EXPECT_EQ(InputErrors::format({{place, "", "E-X", "bad", "mend it"}}),
            "f.yaml:2:8: error: bad [E-X]\n  n\xC3\xA9: \tx\n      \t ^\n  hint: mend it\n");
}

TEST(ErrorText, LongLinesAreCutAroundTheColumn) {
  const Place place{"f.yaml", 1, 500, std::string(499, 'a') + "X" + std::string(499, 'b')};
  const std::string text = InputErrors::format({{place, "", "E-X", "bad", ""}});
  EXPECT_LT(text.size(), 400U);
  const auto lines = split(text, '\n');
  ASSERT_GE(lines.size(), 3U);
  EXPECT_EQ(lines[1][lines[2].find('^')], 'X');
}

TEST(ErrorText, IsUtf8WhateverTheInputWas) {
  const Place place{"f\xFF.yaml", 1, 3, "a\xC3\x28\x01\tb"};
  const std::string text = InputErrors::format({{place, "", "E-X", "bad \xE2\x82", "no \x80"}});
  EXPECT_FALSE(find_bad_utf8(text));
  EXPECT_EQ(text, "f?.yaml:1:3: error: bad ?? [E-X]\n  a?(?\tb\n    ^\n  hint: no ?\n");
}
