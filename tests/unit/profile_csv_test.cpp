#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>
#include <random>

#include "sim/io/csv.hpp"

namespace rehearse {
namespace {

constexpr CsvColumn kColumns[] = {{"a"}, {"flag", true}, {"b"}};

struct Table {
  std::vector<double> values;
  std::string problem;
};

Table parse(std::string_view text) {
  Table table;
  Problems problems;
  parse_csv(text, "t.csv", kColumns, 1, problems,
            [&](const double* v) { table.values.insert(table.values.end(), v, v + 3); });
  try {
    problems.raise();
  } catch (const InputErrors& errors) {
    table.problem = errors.errors.front().message;
  }
  return table;
}

TEST(ProfileCsv, ReadsNumbersAsTheStandardLibraryDoes) {
  for (const char* text :
       {"1", "0.1", "2.8", "3.4471", "1e-7", "123456789012345", "123456789012345678", "0.000123456789",
        "17.746", "9007199254740993", "0.9999999999999999e18", "1.0000000000000002e-18", "0.3", "65536.0"}) {
    double expected = 0;
    std::from_chars(text, text + std::string_view(text).size(), expected);
    const auto table = parse("a,flag,b\n1,0," + std::string(text) + "\n");
    ASSERT_EQ(table.problem, "") << text;
    EXPECT_EQ(table.values, (std::vector<double>{1, 0, expected})) << text;
  }
}

TEST(ProfileCsv, TakesALastLineWithoutItsEnd) {
  EXPECT_EQ(parse("a,flag,b\n1,0,2\n3,1,4").values, (std::vector<double>{1, 0, 2, 3, 1, 4}));
}

TEST(ProfileCsv, RefusesWhatIsNotANumber) {
  for (const char* text :
       {"",    " 1",    "1 ",    "+1", "-1",  "1..2", "1.2.3", "0x10",  "1e",    "inf",     "nan",
        "1\r", "\"1\"", "1_000", "0",  "0.0", "\xff", "1e19",  "1e-19", "1e308", "4.9e-324"})
    EXPECT_THAT(parse("a,flag,b\n1,0," + std::string(text) + "\n").problem,
                testing::StartsWith(*text ? "b must be" : "column b"))
        << text;
}

TEST(ProfileCsv, SpoiltTablesAreTakenOrRefusedWhole) {
  const std::string sound = "a,flag,b\n1,0,2.5\n20,1,1e3\n300,1,0.125\n";
  std::mt19937 random(7);
  const std::string bytes = "0123456789.,\n-+eEx \r\t\xff";
  int taken = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string text = sound;
    for (unsigned n = 1 + random() % 3; n > 0; --n) {
      const size_t at = random() % text.size();
      if (random() % 3 == 0)
        text.erase(at, 1 + random() % 4);
      else
        text[at] = bytes[random() % bytes.size()];
    }
    const auto table = parse(text);
    EXPECT_EQ(table.values.size() % 3, 0u);
    for (const double v : table.values) EXPECT_TRUE(v >= 0 && v < 1e308);
    taken += table.problem.empty();
  }
  EXPECT_GT(taken, 100);
  EXPECT_LT(taken, 4000);
}

}  // namespace
}  // namespace rehearse
