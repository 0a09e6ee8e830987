// Conditions: what binds how, what compares with what, and what is refused where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/study/condition.hpp"

using testing::ElementsAre;
using testing::HasSubstr;

namespace rehearse {
namespace {

DocNode scalar(const std::string& text) {
  DocNode node;
  node.kind = NodeKind::scalar;
  node.text = text;
  auto source = std::make_shared<SourceText>();
  source->file = "study.yaml";
  source->lines = {text};
  node.mark = {source, 1, 1};
  return node;
}

Condition condition(const std::string& text) {
  Problems problems;
  auto read = Condition::read(scalar(text), "when", problems);
  problems.raise();
  return read.value();
}

bool holds(const std::string& text, const std::vector<std::string_view>& values = {}) {
  return condition(text).holds(values);
}

std::string objection(const std::string& text, const std::vector<std::string_view>& values = {}) {
  try {
    holds(text, values);
  } catch (const InputErrors& found) {
    return found.what();
  }
  return "accepted";
}

TEST(StudyCondition, BindsAsInArithmetic) {
  EXPECT_TRUE(holds("2 + 3 * 4 == 14"));
  EXPECT_TRUE(holds("(2 + 3) * 4 == 20"));
  EXPECT_TRUE(holds("10 - 4 - 3 == 3"));
  EXPECT_TRUE(holds("100 / 10 / 5 == 2"));
  EXPECT_TRUE(holds("17 % 5 == 2"));
  EXPECT_TRUE(holds("3 / 2 == 1.5"));
  EXPECT_TRUE(holds("1 - -1 == 2"));
  EXPECT_TRUE(holds("1 < 2 and 2 <= 2 and 3 > 2 and 2 >= 2 and 1 != 2"));
}

TEST(StudyCondition, AndBindsMoreThanOrAndNotMost) {
  EXPECT_TRUE(holds("true or true and false"));
  EXPECT_FALSE(holds("(true or true) and false"));
  EXPECT_TRUE(holds("not false and true"));
  EXPECT_FALSE(holds("not (false or true)"));
  EXPECT_TRUE(holds("not not true"));
}

TEST(StudyCondition, NamesStandForTheirValues) {
  const Condition c = condition("layout.tp * layout.pp <= 64 and layout.tp > order and notes == 'x'");
  EXPECT_THAT(c.names(), ElementsAre("layout.tp", "layout.pp", "order", "notes"));
  EXPECT_TRUE(c.holds({"8", "8", "1", "x"}));
  EXPECT_FALSE(c.holds({"8", "16", "1", "x"}));
  EXPECT_FALSE(c.holds({"8", "8", "8", "x"}));
  EXPECT_FALSE(c.holds({"8", "8", "1", "y"}));
}

TEST(StudyCondition, WordsAndTruthsCompareByEquality) {
  EXPECT_TRUE(holds("schedule == 'zb-v' or schedule != \"1f1b\"", {"zb-v"}));
  EXPECT_TRUE(holds("sequence == true", {"true"}));
  EXPECT_TRUE(holds("sequence", {"true"}));
  EXPECT_THAT(objection("a < 'x'", {"y"}), HasSubstr("'<' takes numbers, not a word"));
  EXPECT_THAT(objection("a == 1", {"y"}), HasSubstr("a word and a number are never the same"));
  EXPECT_THAT(objection("1 and true"), HasSubstr("'and' takes what is true or false, not a number"));
  EXPECT_THAT(objection("not 1"), HasSubstr("'not' takes what is true or false, not a number"));
  EXPECT_THAT(objection("1 + 1"), HasSubstr("a condition is true or false, and this is a number"));
  EXPECT_THAT(objection("1 % a == 0", {"0"}),
              HasSubstr("study.yaml:1:3: error: this divides by 0 [E-STUDY-WHEN]"));
}

TEST(StudyCondition, SaysWhereItCannotBeRead) {
  EXPECT_THAT(objection("1 +"), HasSubstr(":1:4: error: something is missing at the end"));
  EXPECT_THAT(objection("(1 < 2"), HasSubstr("a ')' is missing"));
  EXPECT_THAT(objection("1 < 2 3"), HasSubstr(":1:7: error: nothing can follow here but an operator"));
  EXPECT_THAT(objection("1 < 2 < 3"), HasSubstr(":1:7: error: nothing can follow"));
  EXPECT_THAT(objection("a = 1", {"1"}), HasSubstr("nothing can follow here but an operator"));
  EXPECT_THAT(objection("'a == 1"), HasSubstr("the quote is not closed"));
  EXPECT_THAT(objection("010 == 8"), HasSubstr(":1:1: error: '010'"));
  EXPECT_THAT(objection("& 1"), HasSubstr("this is neither a key, a number nor a word in quotes"));
  EXPECT_THAT(objection(std::string(200, '(')), HasSubstr("nested too deeply"));
}

}  // namespace
}  // namespace rehearse
