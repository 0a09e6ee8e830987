// What tests say that cannot run here: lines that tools/list_skipped collects.
#pragma once
#include <string>

namespace rehearse::test {

inline std::string skip_line(const std::string& reason, const std::string& how_to_enable) {
  return "skipped: " + reason + "; enable: " + how_to_enable;
}

inline std::string no_page() {
  return skip_line("this build has no page",
                   "node and npm (tools/setup), and npm's registry in reach when CMake configures");
}

}  // namespace rehearse::test
