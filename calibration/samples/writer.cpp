#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "calibration/samples/sample.hpp"
#include "sim/base/error.hpp"

namespace rehearse::calibration {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw InputErrors({{path, 0, 0, ""}, "", "E-FILE-WRITE", what + ": " + std::strerror(errno), ""});
}

// Bytes up to and with the last line break.
off_t whole_lines(int fd, off_t size) {
  char block[4096];
  while (size > 0) {
    const off_t from = size > off_t(sizeof block) ? size - off_t(sizeof block) : 0;
    const ssize_t got = pread(fd, block, static_cast<size_t>(size - from), from);
    if (got <= 0) return size;
    for (ssize_t i = got; i > 0; --i)
      if (block[i - 1] == '\n') return from + i;
    size = from;
  }
  return 0;
}

// Whether what begins at `from` may be a record of which the end was not written.
bool is_torn_record(int fd, off_t from) {
  constexpr std::string_view kBegin = "{\"record\":\"";
  char begin[kBegin.size()];
  const ssize_t got = pread(fd, begin, sizeof begin, from);
  return got > 0 && kBegin.starts_with(std::string_view(begin, static_cast<size_t>(got)));
}

}  // namespace

SampleWriter::SampleWriter(const std::string& path) : path_(path) {
  fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd_ < 0) refuse(path, "cannot write samples");
  struct stat facts {};
  if (fstat(fd_, &facts) != 0) refuse(path, "cannot look at the file");
  if (!S_ISREG(facts.st_mode)) return;
  const off_t whole = whole_lines(fd_, facts.st_size);
  if (whole != facts.st_size && !is_torn_record(fd_, whole)) {
    errno = EINVAL;
    refuse(path, "the last line, which no line break ends, is of no sample");
  }
  if (whole != facts.st_size && ftruncate(fd_, whole) != 0) refuse(path, "cannot cut off the torn last line");
}

SampleWriter::~SampleWriter() {
  if (fd_ >= 0) close(fd_);
}

void SampleWriter::append(const std::string& json_line) {
  const std::string line = json_line + "\n";
  ssize_t wrote = 0;
  do wrote = ::write(fd_, line.data(), line.size());
  while (wrote < 0 && errno == EINTR);
  if (wrote != static_cast<ssize_t>(line.size())) refuse(path_, "cannot write a sample");
}

}  // namespace rehearse::calibration
