#include "sim/io/file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string_view>

namespace rehearse {

namespace fs = std::filesystem;

[[noreturn]] static void refuse(const std::string& path, const Place& named, const std::string& why,
                                const std::string& hint = {}) {
  InputError error{named, "", "E-FILE-READ", "cannot read '" + shown_path(path) + "': " + why, hint};
  if (error.place.file.empty()) error.place.file = shown_path(path);
  throw InputErrors(std::move(error));
}

// At most limit + 1 bytes, so that the caller sees what is too long.
static std::string slurp(std::istream& in, size_t limit, size_t expected = 0) {
  std::string text;
  text.reserve(std::min(expected, limit) + 1);
  char buffer[1 << 16];
  while (text.size() <= limit && (in.read(buffer, sizeof buffer), in.gcount() > 0))
    text.append(buffer, static_cast<size_t>(in.gcount()));
  return text;
}

std::string read_file(const std::string& path, const Place& named, size_t limit) {
  std::string text;
  if (path == "-") {
    text = slurp(std::cin, limit);
  } else {
    std::error_code error;
    const auto status = fs::status(path, error);
    if (!fs::exists(status)) refuse(path, named, "no such file");
    if (fs::is_directory(status)) refuse(path, named, "it is a directory");
    std::ifstream in(path, std::ios::binary);
    if (!in) refuse(path, named, std::strerror(errno));
    const auto size = fs::file_size(path, error);
    text = slurp(in, limit, error ? 0 : size);
    if (in.bad()) refuse(path, named, "reading failed");
  }
  if (text.starts_with(std::string_view("SQLite format 3\0", 16)))
    refuse(path, named, "it is a store of results, no text",
           "stores are read by rehearse best STUDY --store FILE, rehearse sweep STUDY --store FILE, rehearse "
           "merge FILE... and rehearse report FILE");
  if (text.size() > limit) refuse(path, named, "it is longer than " + std::to_string(limit >> 20) + " MiB");
  return text;
}

std::string shown_path(const std::string& path) { return path == "-" ? "<stdin>" : path; }

}  // namespace rehearse
