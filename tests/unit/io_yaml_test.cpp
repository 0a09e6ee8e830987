#include <gtest/gtest.h>

#include "sim/io/reader.hpp"
#include "sim/io/yaml.hpp"

using namespace rehearse;

namespace {

// The codes found in a text, with places: "E-YAML-TAG@1:4 ...".
std::string codes(const std::string& text) {
  try {
    parse_yaml(text, "t.yaml");
  } catch (const InputErrors& found) {
    std::string all;
    for (const auto& e : found.errors)
      all += (all.empty() ? "" : " ") + e.code + "@" + std::to_string(e.place.line) + ":" +
             std::to_string(e.place.column);
    return all;
  }
  return "fine";
}

}  // namespace

TEST(Yaml, TreeKeepsOrderPlacesAndQuotes) {
  const auto root = parse_yaml("b: 1\na: {x: \"2\", y: [3, four]}\n", "t.yaml");
  ASSERT_EQ(root.entries.size(), 2U);
  EXPECT_EQ(root.entries[0].key, "b");
  EXPECT_EQ(root.entries[1].mark.line, 2);
  const DocNode* a = root.find("a");
  ASSERT_TRUE(a);
  EXPECT_EQ(a->mark.column, 4);
  EXPECT_FALSE(a->block);
  EXPECT_TRUE(root.block);
  EXPECT_TRUE(a->find("x")->quoted);
  EXPECT_FALSE(a->find("y")->items[1].quoted);
  EXPECT_EQ(a->find("y")->items[1].text, "four");
  EXPECT_EQ(place_of(a->find("y")->items[1].mark).source_line, "a: {x: \"2\", y: [3, four]}");
}

TEST(Yaml, WhatYamlCppLetsThroughIsRefused) {
  EXPECT_EQ(codes("a: 1\na: 2\n"), "E-YAML-DUPLICATE@2:1");
  EXPECT_EQ(codes("a: {b: 1, b: 2}\n"), "E-YAML-DUPLICATE@1:11");
  EXPECT_EQ(codes("a: 1\n\"a\": 2\n"), "E-YAML-DUPLICATE@2:1");
  EXPECT_EQ(codes("a: &x 1\n"), "E-YAML-ANCHOR@1:4");
  EXPECT_EQ(codes("a: &x 1\nb: *x\n"), "E-YAML-ANCHOR@1:4 E-YAML-ALIAS@2:4");
  EXPECT_EQ(codes("a: &x [*x]\n"), "E-YAML-ANCHOR@1:4 E-YAML-ALIAS@1:8");
  EXPECT_EQ(codes("a: &x\nb: 1\n"), "E-YAML-ANCHOR@1:4");
  EXPECT_EQ(codes("<<: {a: 1}\n"), "E-YAML-MERGE@1:1");
  EXPECT_EQ(codes("a: !!int 1\n"), "E-YAML-TAG@1:4");
  EXPECT_EQ(codes("a: ! 1\n"), "E-YAML-TAG@1:4");
  EXPECT_EQ(codes("a: !t {b: 1}\n"), "E-YAML-TAG@1:4");
  EXPECT_EQ(codes("a: 1\n---\nb: 2\n"), "E-YAML-DOCUMENTS@2:1");
  EXPECT_EQ(codes("[a, b]: 1\n"), "E-YAML-KEY@1:1");
  EXPECT_EQ(codes("? {a: 1}\n: 1\n"), "E-YAML-KEY@1:3");
  EXPECT_EQ(codes("~: 1\n"), "E-YAML-KEY@1:1");
  EXPECT_EQ(codes("%TAG ! x\n---\na: 1\n"), "E-YAML-DIRECTIVE@1:1");
  EXPECT_EQ(codes("a: 1\n%x\n"), "E-YAML-DIRECTIVE@2:1");
}

TEST(Yaml, TextThatIsNoTextIsRefused) {
  EXPECT_EQ(codes("a: \xFF\n"), "E-YAML-ENCODING@1:4");
  EXPECT_EQ(codes(std::string("a: \0b\n", 6)), "E-YAML-ENCODING@1:4");
  EXPECT_EQ(codes("a: 1\rb: 2\n"), "E-YAML-ENCODING@1:5");
  EXPECT_EQ(codes(std::string("\xFF\xFE"
                              "a\0:\0",
                              6)),
            "E-YAML-ENCODING@1:1");
  EXPECT_EQ(codes("\xEF\xBB\xBF"
                  "a: 1\r\n"),
            "fine");
  EXPECT_EQ(codes(""), "E-YAML-EMPTY@1:1");
  EXPECT_EQ(codes("# only a comment\n"), "E-YAML-EMPTY@1:1");
  EXPECT_EQ(codes("---\n"), "E-YAML-EMPTY@1:1");
}

TEST(Yaml, NestingIsBounded) {
  const auto nested = [](int n) { return "a: " + std::string(n, '[') + std::string(n, ']') + "\n"; };
  EXPECT_EQ(codes(nested(63)), "fine");
  EXPECT_EQ(codes(nested(64)), "E-YAML-DEPTH@1:67");
  EXPECT_EQ(codes(nested(100000)), "E-YAML-DEPTH@1:67");
  std::string maps;
  for (int i = 0; i < 3000; ++i) maps += std::string(size_t(i), ' ') + "a:\n";
  EXPECT_EQ(codes(maps), "E-YAML-DEPTH@65:65");
}

TEST(Yaml, SyntaxErrorsHaveAPlace) {
  EXPECT_EQ(codes("a: b: c\n"), "E-YAML-SYNTAX@1:5");
  EXPECT_EQ(codes("a: [1, 2\n"), "E-YAML-SYNTAX@2:1");
  EXPECT_EQ(codes("a: 1\na: 2\nb: {\n"), "E-YAML-DUPLICATE@2:1 E-YAML-SYNTAX@4:1");
}

TEST(Reader, EveryProblemIsNotedInOrderOfTheText) {
  const auto root =
      parse_yaml("tp: 010\nfast: yes\nkind: fulll\nnic: 400\nnot_a_key: 1\nlist: [1, x]\n", "t.yaml");
  Problems problems;
  MapReader reader(root, "", problems);
  static constexpr Named<int> kinds[] = {{"none", "", 0}, {"full", "", 1}};
  int tp = 7, kind = 5, absent = 3;
  bool fast = false;
  BytesPerSec nic;
  std::vector<int> list;
  EXPECT_FALSE(reader.optional("list", list));
  EXPECT_FALSE(reader.required("tp", tp, IntRange{1, 8}));
  EXPECT_FALSE(reader.required("missing", absent));
  EXPECT_FALSE(reader.optional("absent", absent));
  EXPECT_FALSE(reader.optional("fast", fast));
  EXPECT_FALSE(reader.optional("kind", kind, kinds));
  EXPECT_FALSE(reader.optional("nic", nic));
  reader.finish();
  EXPECT_EQ(tp, 7);
  EXPECT_EQ(kind, 5);
  EXPECT_EQ(absent, 3);
  try {
    problems.raise();
    FAIL();
  } catch (const InputErrors& found) {
    std::vector<std::string> seen;
    for (const auto& e : found.errors) seen.push_back(e.key_path + " " + e.code);
    EXPECT_EQ(seen, (std::vector<std::string>{"missing E-KEY-MISSING", "tp E-NUMBER", "fast E-TYPE",
                                              "kind E-CHOICE", "nic E-UNIT", "not_a_key E-KEY-UNKNOWN",
                                              "list[1] E-NUMBER"}));
    EXPECT_EQ(found.errors[3].hint, "did you mean 'full'? valid: none, full");
  }
}

TEST(Reader, ReadsWhatIsThere) {
  const auto root =
      parse_yaml("n: 3\nx: 1.5\nyes: true\nword: 'a b'\nsize: 80 GiB\nt: 2 us\nlist: [4, 5]\n", "t.yaml");
  Problems problems;
  MapReader reader(root, "", problems);
  int n = 0;
  double x = 0;
  bool yes = false;
  std::string word;
  Bytes size;
  Seconds t;
  std::vector<int> list;
  EXPECT_TRUE(reader.required("n", n, IntRange{3, 3}));
  EXPECT_TRUE(reader.required("x", x, kPositive));
  EXPECT_TRUE(reader.required("yes", yes));
  EXPECT_TRUE(reader.required("word", word));
  EXPECT_TRUE(reader.required("size", size));
  EXPECT_TRUE(reader.required("t", t));
  EXPECT_TRUE(reader.required("list", list, IntRange{1, 5}));
  reader.finish();
  EXPECT_NO_THROW(problems.raise());
  EXPECT_EQ(n, 3);
  EXPECT_EQ(x, 1.5);
  EXPECT_TRUE(yes);
  EXPECT_EQ(word, "a b");
  EXPECT_EQ(size, Bytes(80 * kGibi));
  EXPECT_EQ(t, Seconds(2e-6));
  EXPECT_EQ(list, (std::vector<int>{4, 5}));
}

TEST(Reader, QuotedNumbersAndEmptyValuesAreRefused) {
  const auto root = parse_yaml("n: '3'\nx:\ny: ~\nb: 'true'\n", "t.yaml");
  Problems problems;
  MapReader reader(root, "", problems);
  int n = 0;
  double x = 0;
  bool b = false;
  EXPECT_FALSE(reader.required("n", n));
  EXPECT_FALSE(reader.required("x", x));
  EXPECT_FALSE(reader.optional("y", x));
  EXPECT_FALSE(reader.optional("b", b));
  try {
    problems.raise();
    FAIL();
  } catch (const InputErrors& found) {
    EXPECT_EQ(found.errors.size(), 4U);
    for (const auto& e : found.errors) EXPECT_EQ(e.code, "E-TYPE");
  }
}
