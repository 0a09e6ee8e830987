// The program as a shell runs it.
#pragma once
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/folder.hpp"

namespace rehearse::test {

struct ProgramRun {
  int status = -1;  // of the exit; -1 where a signal ended it
  std::string out, err;
};

inline std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// `rehearse WORDS` in `folder`; `before` stands before it on the line: variables.
inline ProgramRun run_program(const std::string& words, const std::string& folder,
                              const std::string& before = "") {
  const TemporaryFolder made;
  const std::string out = made.file("out"), err = made.file("err");
  const std::string command =
      "cd " + folder + " && " + before + " " REHEARSE_BINARY " " + words + " >" + out + " 2>" + err;
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text_of(out), text_of(err)};
}

}  // namespace rehearse::test
