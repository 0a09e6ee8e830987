// Bad inputs and the exact text of what is said about them: cases/NAME.yaml and NAME.expected. The first line
// of a case may hold settings: "# --set a.b=1 ; --set c=2". REHEARSE_UPDATE_GOLDEN=1 writes the expected
// texts anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sim/io/scenario.hpp"
#include "sim/step/plan.hpp"
#include "tests/input/files.hpp"
#include "tests/support/program.hpp"

namespace fs = std::filesystem;

namespace {

using rehearse::test::kFolder;
using rehearse::test::names_in;
using rehearse::test::test_name;
using rehearse::test::text_of;

std::vector<std::string> settings_of(const std::string& text) {
  std::vector<std::string> sets;
  std::string line = text.substr(0, text.find('\n'));
  const std::string option = "--set ", between = " ; ";
  for (size_t at = line.find(option); at != std::string::npos; at = line.find(option, at)) {
    at += option.size();
    const size_t end = line.find(between, at);
    sets.push_back(line.substr(at, end == std::string::npos ? end : end - at));
  }
  return sets;
}

// What is said, with the folder of the test data left out.
std::string complaint(const std::string& name) {
  const rehearse::DataRoots roots{{(kFolder / "data").string()}};
  std::string said = "accepted\n";
  try {
    const std::string file = "cases/" + name + ".yaml";
    rehearse::resolve(rehearse::read_job(file, settings_of(text_of(file)), roots));
  } catch (const rehearse::InputErrors& found) {
    said = found.what();
  }
  const std::string folder = (kFolder / "data").string();
  for (size_t at = said.find(folder); at != std::string::npos; at = said.find(folder))
    said.replace(at, folder.size(), "DATA");
  return said;
}

class BadInput : public testing::TestWithParam<std::string> {};

TEST_P(BadInput, IsRefusedInTheseWords) {
  fs::current_path(kFolder);
  const fs::path expected = kFolder / "cases" / (GetParam() + ".expected");
  const std::string said = complaint(GetParam());
  if (std::getenv("REHEARSE_UPDATE_GOLDEN")) std::ofstream(expected, std::ios::binary) << said;
  EXPECT_NE(said, "accepted\n");
  EXPECT_EQ(said, text_of(expected));
}

INSTANTIATE_TEST_SUITE_P(Cases, BadInput, testing::ValuesIn(names_in("cases")), test_name);

TEST(BadInputs, AreManyAndHaveNoStrayTexts) {
  const auto names = names_in("cases");
  EXPECT_GE(names.size(), 30U);
  for (const auto& entry : fs::directory_iterator(kFolder / "cases"))
    EXPECT_TRUE(fs::exists(fs::path(entry.path()).replace_extension(".yaml"))) << entry.path();
}

}  // namespace
