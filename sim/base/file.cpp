#include "sim/base/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "sim/base/text.hpp"

namespace rehearse {

namespace fs = std::filesystem;

namespace {

// A file under whatever name: by its number where it is there, else by where it would be.
struct FileId {
  std::string place;
  dev_t device = 0;
  ino_t number = 0;

  bool operator==(const FileId& other) const {
    if (number != 0 && other.number != 0) return device == other.device && number == other.number;
    return !place.empty() && place == other.place;
  }
};

struct Claim {
  std::string option;
  FileId id;
  bool kept = false;
};

struct Read {
  std::string path;
  FileId id;
};

// Of this process, as the files are: a reader anywhere in it counts.
struct Books {
  std::vector<Read> reads;
  std::vector<Claim> claims;
  std::string stream;  // what standard input holds, where the command reads it
};
Books& books() {
  static Books all;
  return all;
}

// Where a file is or would be, also behind links to what is not there yet.
std::string behind_links(const std::string& path) {
  std::error_code failed;
  fs::path at = fs::absolute(path, failed);
  for (int hops = 0; !failed && hops < 40 && fs::is_symlink(at, failed); ++hops)
    at = at.parent_path() / fs::read_symlink(at, failed);
  if (failed && failed != std::errc::no_such_file_or_directory) return path;
  const fs::path found = fs::weakly_canonical(at, failed);
  return failed ? path : found.string();
}

// Nothing for devices and pipes, which keep nothing that could be lost.
FileId id_of(const std::string& path, const struct stat* known = nullptr) {
  struct stat there {};
  const bool found = known || stat(path.c_str(), &there) == 0;
  if (known) there = *known;
  if (found && !S_ISREG(there.st_mode)) return {};
  return {path == "-" ? "" : behind_links(path), there.st_dev, found ? there.st_ino : 0};
}

[[noreturn]] void clash(const std::string& message) {
  throw InputErrors(InputError{{}, "", "E-CLI", message, "name another file"});
}

void note(const std::string& path, const FileId& id) {
  for (const Claim& claim : books().claims)
    if (!claim.kept && claim.id == id) clash(claim.option + " would overwrite " + quote(shown_path(path)));
  const auto same = [&](const Read& read) { return read.id == id; };
  auto& reads = books().reads;
  if (std::none_of(reads.begin(), reads.end(), same)) reads.push_back({path, id});
}

void refuse_what_was_read(const std::string& option, const FileId& id) {
  for (const Read& read : books().reads)
    if (read.id == id) clash(option + " would overwrite " + quote(shown_path(read.path)));
}

bool is_standard_output(const std::string& path) {
  return path == "-" || path == "/dev/stdout" || path == "/dev/fd/1" || path == "/proc/self/fd/1";
}

void share_nothing(const std::vector<std::pair<std::string, std::string>>& outputs) {
  const std::pair<std::string, std::string>* first = nullptr;
  for (const auto& output : outputs) {
    if (!is_standard_output(output.second)) continue;
    if (first != nullptr)
      throw InputErrors(InputError{{},
                                   "",
                                   "E-CLI",
                                   std::string(first->first)
                                       .append(" ")
                                       .append(first->second)
                                       .append(" and ")
                                       .append(output.first)
                                       .append(" ")
                                       .append(output.second)
                                       .append(" cannot share standard output"),
                                   "name a file for one of them"});
    first = &output;
  }
}

void claim(const std::string& option, const std::string& path, bool kept) {
  if (path.empty() || path == "-") return;
  const FileId id = id_of(path);
  refuse_what_was_read(option, id);
  for (const Claim& other : books().claims) {
    if (!(other.id == id)) continue;
    if (other.option == option) return;
    clash(other.option + " and " + option + " name one file");
  }
  books().claims.push_back({option, id, kept});
}

[[noreturn]] void refuse_read(const std::string& path, const Place& named, const std::string& why,
                              const std::string& hint = {}) {
  InputError error{named, "", "E-FILE-READ", "cannot read '" + shown_path(path) + "': " + why, hint};
  if (error.place.file.empty()) error.place.file = shown_path(path);
  throw InputErrors(std::move(error));
}

void refuse_own_stream(const std::string& path, const Place& named, const struct stat& status) {
  struct stat own {};
  if (books().stream.empty() || fstat(STDIN_FILENO, &own) != 0) return;
  if (own.st_dev == status.st_dev && own.st_ino == status.st_ino)
    refuse_read(path, named, books().stream, "name a file, or give its text");
}

// What starts as no text does.
void refuse_encoded(const std::string& path, const Place& named, std::string_view text) {
  if (text.starts_with("\x1f\x8b")) refuse_read(path, named, "it is compressed", "gunzip it first");
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    refuse_read(path, named, "it is UTF-16 text", "save it as UTF-8: iconv -f UTF-16 -t UTF-8 FILE >NEW");
}

struct Descriptor {
  int number;
  bool owned;
  ~Descriptor() {
    if (owned && number >= 0) close(number);
  }
};

// At most limit + 1 bytes, so that the caller sees what is too long. False with errno where reading failed.
bool slurp(int file, size_t limit, size_t expected, std::string& text) {
  text.reserve(std::min(expected, limit) + 1);
  char buffer[1 << 16];
  while (text.size() <= limit) {
    const ssize_t n = read(file, buffer, std::min(sizeof buffer, limit + 1 - text.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    if (n == 0) break;
    text.append(buffer, static_cast<size_t>(n));
  }
  return true;
}

mode_t usual_mode() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

std::string of_descriptor(int number) { return "/proc/self/fd/" + std::to_string(number); }

// A file that nothing names; negative where the file system has none, or none could be named later.
int open_nameless(const std::string& folder) {
  const int made = open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (made < 0 || access(of_descriptor(made).c_str(), F_OK) == 0) return made;
  close(made);
  return -1;
}

// Names of this process's own descriptors: a file that stands behind one is written on, not replaced.
bool names_descriptor(const std::string& path) {
  return path.starts_with("/dev/") || path.starts_with("/proc/");
}

}  // namespace

std::string read_file(const std::string& path, const Place& named, size_t limit) {
  if (path.find('\0') != std::string::npos) refuse_read(printable(path), named, "a NUL byte is in its name");
  const bool standard = path == "-";
  const Descriptor file{standard ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY),
                        !standard};
  if (file.number < 0) refuse_read(path, named, errno == ENOENT ? "no such file" : std::strerror(errno));
  struct stat status {};
  if (fstat(file.number, &status) != 0) refuse_read(path, named, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) refuse_read(path, named, "it is a directory");
  if (S_ISBLK(status.st_mode)) refuse_read(path, named, "it is a disk");
  refuse_own_stream(path, named, status);
  note(path, id_of(path, &status));
  std::string text;
  if (!slurp(file.number, limit, S_ISREG(status.st_mode) ? static_cast<size_t>(status.st_size) : 0, text))
    refuse_read(path, named, std::strerror(errno));
  if (text.starts_with(std::string_view("SQLite format 3\0", 16)))
    refuse_read(path, named, "it is a store of results, no text",
                "stores are read by rehearse best STUDY --store FILE, rehearse sweep STUDY --store FILE, "
                "rehearse merge FILE... and rehearse report FILE");
  refuse_encoded(path, named, text);
  if (text.size() > limit)
    refuse_read(path, named, "it is longer than " + std::to_string(limit >> 20) + " MiB");
  return text;
}

void note_read(const std::string& path) {
  if (!path.empty() && path != "-") note(path, id_of(path));
}

void claim_outputs(const std::vector<std::pair<std::string, std::string>>& outputs) {
  share_nothing(outputs);
  for (const auto& [option, path] : outputs) claim(option, path, false);
}

void claim_kept(const std::string& option, const std::string& path) { claim(option, path, true); }

void claim_standard_input(const std::string& why) { books().stream = why; }

void forget_files() { books() = {}; }

std::string shown_path(const std::string& path) { return path == "-" ? "<stdin>" : path; }

OutputFile::OutputFile(const std::string& path) : path_(path), target_(behind_links(path)) {
  if (path.find('\0') != std::string::npos) fail(EINVAL);
  const FileId id = id_of(path);
  refuse_what_was_read("an output", id);
  struct stat old {};
  const bool there = stat(path.c_str(), &old) == 0;
  if (there && access(path.c_str(), W_OK) != 0) fail(errno);
  if ((!there || S_ISREG(old.st_mode)) && !names_descriptor(path)) {
    const fs::path folder = fs::path(target_).parent_path();
    draft_ = (folder / ".rehearse-XXXXXX").string();
    descriptor_ = open_nameless(folder.string());
    nameless_ = descriptor_ >= 0;
    if (!nameless_) descriptor_ = mkostemp(draft_.data(), O_CLOEXEC);
  }
  if (descriptor_ >= 0) {
    // Best effort: who is not root cannot give files away.
    if (there && (old.st_uid != geteuid() || old.st_gid != getegid()))
      static_cast<void>(!fchown(descriptor_, old.st_uid, old.st_gid));
    fchmod(descriptor_, there ? old.st_mode & 07777 : usual_mode());
    return;
  }
  if (!draft_.empty() && !there) fail(errno);
  draft_.clear();
  descriptor_ = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
  if (descriptor_ < 0) fail(errno);
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!draft_.empty() && !nameless_) unlink(draft_.c_str());
}

void OutputFile::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(descriptor_, text.data(), text.size());
    if (n < 0 && errno != EINTR) fail(errno);
    if (n > 0) text.remove_prefix(static_cast<size_t>(n));
  }
}

// Renaming needs a name, and a link takes no other file's place. The number of the process keeps names apart.
void OutputFile::name_draft() {
  const std::string beside = draft_.substr(0, draft_.size() - std::strlen("XXXXXX"));
  const std::string from = of_descriptor(descriptor_);
  int named = -1;
  for (int n = 0; named != 0; ++n) {
    draft_ = beside + std::to_string(getpid()) + "-" + std::to_string(n);
    named = linkat(AT_FDCWD, from.c_str(), AT_FDCWD, draft_.c_str(), AT_SYMLINK_FOLLOW);
    if (named != 0 && errno != EEXIST) fail(errno);
  }
  nameless_ = false;
}

void OutputFile::commit() {
  if (nameless_) name_draft();
  const int file = std::exchange(descriptor_, -1);
  if (close(file) != 0 && errno != EINTR) fail(errno);
  if (!draft_.empty() && rename(draft_.c_str(), target_.c_str()) != 0) fail(errno);
  draft_.clear();
  const FileId id = id_of(target_);
  std::erase_if(books().claims,
                [&](const Claim& claim) { return claim.id == id || claim.id.place == id.place; });
}

void OutputFile::fail(int error) const {
  throw InputErrors(
      InputError{{}, "", "E-FILE-WRITE", "cannot write " + quote(path_) + ": " + std::strerror(error), ""});
}

}  // namespace rehearse
