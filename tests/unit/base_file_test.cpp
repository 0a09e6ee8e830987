// A file that comes into being whole, or not at all, however the process ends.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "sim/base/file.hpp"
#include "tests/support/program.hpp"
#include "tests/support/skip.hpp"

namespace rehearse {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

bool has_nameless_files(const std::string& folder) {
  const int made = open(folder.c_str(), O_TMPFILE | O_WRONLY, 0600);
  if (made >= 0) close(made);
  return made >= 0;
}

TEST(OutputFiles, OfAKilledProcessLeaveNothing) {
  const test::TemporaryFolder folder;
  if (!has_nameless_files(folder.file("")))
    GTEST_SKIP() << test::skip_line("files here have names from the first on",
                                    "a TMPDIR on ext4, xfs or tmpfs");
  std::ofstream(folder.file("old")) << "older";
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGKILL}) {
    const pid_t child = fork();
    if (child == 0) {
      OutputFile old(folder.file("old")), fresh(folder.file("fresh"));
      old.write("half");
      fresh.write("half");
      ::signal(number, SIG_DFL);
      raise(number);
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_THAT(names_in(folder.file("")), ElementsAre("old"));
    EXPECT_EQ(test::text_of(folder.file("old")), "older");
  }
}

TEST(OutputFiles, GoAroundWhatStandsInTheirWay) {
  const test::TemporaryFolder folder;
  const std::string taken = ".rehearse-" + std::to_string(getpid()) + "-0";
  std::ofstream(folder.file(taken)) << "of another";
  std::ofstream(folder.file("old")) << "older";
  for (const char* name : {"old", "fresh"}) {
    OutputFile file(folder.file(name));
    file.write("new");
    file.commit();
    EXPECT_EQ(test::text_of(folder.file(name)), "new");
  }
  EXPECT_EQ(test::text_of(folder.file(taken)), "of another");
  EXPECT_THAT(names_in(folder.file("")), ElementsAre(taken, "fresh", "old"));
}

}  // namespace
}  // namespace rehearse
