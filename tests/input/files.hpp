// Bad files beside what is said about them, as parameters of tests.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace rehearse::test {

inline const std::filesystem::path kFolder = std::filesystem::path(REHEARSE_SOURCE_DIR) / "tests" / "input";

// NAME of each NAME.yaml in a folder.
inline std::vector<std::string> names_in(const char* folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder / folder))
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

inline std::string test_name(const ::testing::TestParamInfo<std::string>& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace rehearse::test
