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
#include "tests/support/program.hpp"

namespace fs = std::filesystem;

namespace {

const fs::path kFolder = fs::path(REHEARSE_SOURCE_DIR) / "tests" / "input";

using rehearse::testing::text_of;

std::vector<std::string> study_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kFolder / "studies"))
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string complaint(const std::string& name) {
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
  const std::string said = complaint(GetParam());
  if (std::getenv("REHEARSE_UPDATE_GOLDEN")) std::ofstream(expected, std::ios::binary) << said;
  EXPECT_NE(said, "accepted\n");
  EXPECT_EQ(said, text_of(expected));
}

std::string test_name(const testing::TestParamInfo<std::string>& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Studies, BadStudy, testing::ValuesIn(study_names()), test_name);

}  // namespace
