// The door to files. What a command read, it does not write over, under whatever name.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/error.hpp"

namespace rehearse {

// The bytes of a file, pipe or device, or of standard input for "-". Throws InputErrors (E-FILE-READ) at
// `named`, the place that names the file, where it is not readable, a store of results or longer than
// `limit`; E-CLI where an output was claimed over it.
std::string read_file(const std::string& path, const Place& named = {}, size_t limit = 64u << 20);

// Standard input is a stream that the command itself reads: read_file() refuses it from here on, under
// whatever name. `why` says what it holds.
void claim_standard_input(const std::string& why);

// A file that is read later or by a library counts as read from here on. Throws InputErrors (E-CLI) as above.
void note_read(const std::string& path);

// What the command will write, {option, path}; "-", devices and empty paths are no files. Throws InputErrors
// (E-CLI) where it is a file that was read, or another output; two of them cannot be standard output.
void claim_outputs(const std::vector<std::pair<std::string, std::string>>& outputs);

// One that the command also reads, to go on with it.
void claim_kept(const std::string& option, const std::string& path);

// A command begins: what another one read and claimed in this process is forgotten.
void forget_files();

// A file that comes into being whole: until commit() an older one stays as it was. What is no regular file,
// or stands where no other can be made, is written in place.
class OutputFile {
 public:
  // Throws InputErrors: E-FILE-WRITE, E-CLI where the file was read.
  explicit OutputFile(const std::string& path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  int descriptor() const { return descriptor_; }
  void write(std::string_view text);
  void commit();
  [[noreturn]] void fail(int error) const;  // with the system's number

 private:
  void name_draft();

  std::string path_, target_, draft_;  // as named, behind links, beside it; no draft: written in place
  int descriptor_ = -1;
  bool nameless_ = false;  // the draft has no name yet: it goes with the process, however that ends
};

// "-" is shown as "<stdin>" in messages.
std::string shown_path(const std::string& path);

}  // namespace rehearse
