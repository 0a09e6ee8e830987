#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "sim/base/codes.hpp"

namespace fs = std::filesystem;

namespace {

std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Codes in quotes in the sources of a folder.
std::set<std::string> codes_in(const fs::path& folder) {
  static const std::regex code("\"([EW]-[A-Z0-9-]+)\"");
  std::set<std::string> found;
  if (!fs::exists(folder)) return found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp") continue;
    if (entry.path().filename() == "codes.hpp") continue;
    const std::string text = text_of(entry.path());
    for (auto it = std::sregex_iterator(text.begin(), text.end(), code); it != std::sregex_iterator(); ++it)
      found.insert((*it)[1]);
  }
  return found;
}

}  // namespace

TEST(Codes, TheSourcesAndTheListAgree) {
  const fs::path root = REHEARSE_SOURCE_DIR;
  auto used = codes_in(root / "sim");
  used.merge(codes_in(root / "calibration"));
  ASSERT_GT(used.size(), 40U);
  std::set<std::string> listed;
  for (const auto& row : rehearse::kCodes)
    EXPECT_TRUE(listed.emplace(row.code).second) << row.code << " is listed twice";
  for (const auto& code : used) EXPECT_TRUE(listed.count(code)) << code << " is not in sim/base/codes.hpp";
  for (const auto& code : listed) EXPECT_TRUE(used.count(code)) << code << " is listed, and nothing gives it";
}

TEST(Codes, EveryRowHasAMeaning) {
  for (const auto& row : rehearse::kCodes) {
    EXPECT_FALSE(row.meaning.empty()) << row.code;
    EXPECT_NE(row.meaning.back(), '.') << row.code;
  }
}
