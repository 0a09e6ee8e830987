// Every form of the data has a text; each is kept for a small scenario, so that a number that moves is seen.
// REHEARSE_UPDATE_GOLDEN=1 rewrites them.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>

#include "tests/support/program.hpp"

namespace {

// Nine digits of every fraction: the last ones depend on the processor's variant of exp and log.
std::string rounded(const std::string& text) {
  static const std::regex number("[0-9]+\\.[0-9]+(e-?[0-9]+)?");
  std::string result;
  auto at = text.cbegin();
  for (std::sregex_iterator found(text.begin(), text.end(), number), end; found != end; ++found) {
    result.append(at, text.cbegin() + found->position());
    std::array<char, 40> digits{};
    std::snprintf(digits.data(), digits.size(), "%.9g", std::strtod(found->str().c_str(), nullptr));
    result += digits.data();
    at = text.cbegin() + found->position() + found->length();
  }
  return result.append(at, text.cend());
}

std::string output_of(const std::string& words) {
  const auto done = rehearse::test::run_program(words, REHEARSE_SOURCE_DIR);
  EXPECT_EQ(done.status, 0) << done.err;
  std::string text = done.out;
  for (const std::string source = REHEARSE_SOURCE_DIR "/"; text.find(source) != std::string::npos;)
    text.erase(text.find(source), source.size());
  // The one figure that differs from run to run, and the digest, which names the profile and not the step.
  text = std::regex_replace(text, std::regex("\"wall_s\": [0-9.e-]+"), "\"wall_s\": 0");
  return rounded(std::regex_replace(text, std::regex("\"digest\": \"[0-9a-f]+\""), "\"digest\": \"\""));
}

std::string run(const std::string& command, const std::string& options) {
  return output_of(command + " " REHEARSE_SOURCE_DIR "/tests/golden/small.yaml --quiet " + options);
}

struct Form {
  const char *name, *command, *options;
};

class Forms : public ::testing::TestWithParam<Form> {};

TEST_P(Forms, IsAsKept) {
  const auto& [name, command, options] = GetParam();
  const std::string path = std::string(REHEARSE_SOURCE_DIR "/tests/golden/small_") + name;
  const std::string now = run(command, options);
  EXPECT_EQ(now, run(command, options)) << "the same input gives the same bytes";
  if (std::getenv("REHEARSE_UPDATE_GOLDEN")) std::ofstream(path) << now;
  std::ifstream file(path);
  std::stringstream kept;
  kept << file.rdbuf();
  EXPECT_EQ(now, kept.str()) << "if the change is meant: tools/update_golden, and a line in sim/CHANGES.md";
}

INSTANTIATE_TEST_SUITE_P(
    Small, Forms,
    ::testing::Values(Form{"layout.csv", "run", "--stop-after layout"},
                      Form{"schedule.csv", "run", "--stop-after schedule"},
                      Form{"graph.txt", "run", "--stop-after graph"},
                      Form{"timeline.txt", "run", "--stop-after timeline"},
                      Form{"timeline_unfolded.txt", "run", "--stop-after timeline --fold off"},
                      Form{"report.json", "run", "--json -"},
                      Form{"report.txt", "run", "--json /dev/null | grep -v 'ranks simulated\\|^profile'"},
                      Form{"ledger.json", "ledger", "--json -"}, Form{"check.json", "check", "--json -"}),
    [](const auto& row) {
      std::string name = row.param.name;
      for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
      return name;
    });

}  // namespace
