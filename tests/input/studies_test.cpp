// Bad studies and the exact text of what is said about them: studies/NAME.yaml and NAME.expected.
// REHEARSE_UPDATE_GOLDEN=1 writes the expected texts anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sim/study/study.hpp"
#include "tests/input/files.hpp"
#include "tests/support/program.hpp"

namespace fs = std::filesystem;

namespace {

using rehearse::test::kFolder;
using rehearse::test::names_in;
using rehearse::test::test_name;
using rehearse::test::text_of;

std::string study_complaint(const std::string& name) {
  const rehearse::DataRoots roots{{(kFolder / "data").string()}};
  try {
    rehearse::read_study("studies/" + name + ".yaml", {}, roots);
  } catch (const rehearse::InputErrors& found) {
    return found.what();
  }
  return "accepted\n";
}

class BadStudy : public testing::TestWithParam<std::string> {};

TEST_P(BadStudy, IsRefusedInTheseWords) {
  fs::current_path(kFolder);
  const fs::path expected = kFolder / "studies" / (GetParam() + ".expected");
  const std::string said = study_complaint(GetParam());
  if (std::getenv("REHEARSE_UPDATE_GOLDEN")) std::ofstream(expected, std::ios::binary) << said;
  EXPECT_NE(said, "accepted\n");
  EXPECT_EQ(said, text_of(expected));
}

INSTANTIATE_TEST_SUITE_P(Studies, BadStudy, testing::ValuesIn(names_in("studies")), test_name);

}  // namespace
