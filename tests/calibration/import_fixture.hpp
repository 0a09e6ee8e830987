// What the tests of the import share.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibration/import/import.hpp"
#include "sim/base/error.hpp"

namespace rehearse::calibration::test {

inline Imported take(const std::string& text, const std::string& file = "log.txt",
                     const ImportOptions& options = {}) {
  return import_text(text, file, options);
}

inline std::string refusal(const std::string& text, const std::string& file = "log.txt",
                           const ImportOptions& options = {}) {
  try {
    import_text(text, file, options);
  } catch (const InputErrors& errors) {
    return errors.what();
  }
  return "taken";
}

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

inline const CollectiveCall& call_of(const Sample& s) { return std::get<CollectiveCall>(s.work); }

}  // namespace rehearse::calibration::test
