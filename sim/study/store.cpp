#include "sim/study/store.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>
#include <thread>

#include "sim/base/file.hpp"
#include "sim/base/text.hpp"
#include "sim/study/code_version.hpp"
#include "sim/study/store_rows.hpp"

namespace rehearse {

namespace fs = std::filesystem;
using sqlite::Database;
using sqlite::Statement;

namespace {

[[noreturn]] void refuse_store(const std::string& file, const std::string& message, const std::string& hint) {
  sqlite::refuse(file, "E-STORE-FILE", message, hint);
}

// Whether the file at `path` is the one of this number.
bool is_named(const std::string& path, const struct stat& file) {
  struct stat named {};
  return stat(path.c_str(), &named) == 0 && named.st_ino == file.st_ino && named.st_dev == file.st_dev;
}

constexpr std::string_view kLockText = "the lock of a store of rehearse sweep\n";

// Keeps other writers out for as long as this process lives: a lock of the kernel's on a file beside the
// store. One that no sweep made is left alone.
class WriterLock {
 public:
  explicit WriterLock(const std::string& store) : path_(store + "-lock") {
    for (int tries = 0; !take(store); ++tries) {
      // A sweep that was killed a moment ago may still have processes that end.
      if (tries == 10)
        sqlite::refuse(store, "E-STORE-BUSY", "another sweep writes to the store",
                       "wait for it, or name another store and merge them later");
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;
  ~WriterLock() {
    if (ours_) unlink(path_.c_str());  // before it is let go: another writer takes no file that is gone
    close(file_);
  }

 private:
  bool take(const std::string& store) {
    file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    const bool made = file_ >= 0;
    if (!made && errno == EEXIST) file_ = open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (file_ < 0)
      refuse_store(store, std::string("the store cannot be written: its lock: ") + std::strerror(errno), "");
    struct stat held {};
    const bool locked = flock(file_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;  // or knows no locks
    if (!locked || fstat(file_, &held) != 0 || !is_named(path_, held)) {
      close(file_);
      return false;
    }
    char text[kLockText.size()] = {};
    const ssize_t n =
        made ? write(file_, kLockText.data(), kLockText.size()) : read(file_, text, sizeof text);
    ours_ = made || (n == ssize_t(sizeof text) && std::string_view(text, sizeof text) == kLockText);
    if (!ours_ && (!S_ISREG(held.st_mode) || held.st_size > 0)) {
      close(file_);
      refuse_store(store, quote(path_) + " is where the store's lock would be, and is none", "move it away");
    }
    return true;
  }
  std::string path_;
  int file_ = -1;
  bool ours_ = false;  // an empty one may be anybody's
};

// SQLite takes files of these names for its own, and writes or removes them.
void check_beside(const std::string& store, bool there) {
  const auto refuse = [&](const std::string& path) {
    refuse_store(store, quote(path) + " is where SQLite keeps a file of its own, and is none of this store",
                 "move it away");
  };
  const auto status = [](const std::string& path, struct stat& of) { return lstat(path.c_str(), &of) == 0; };
  struct stat of {};
  if (status(store + "-journal", of)) refuse(store + "-journal");  // ours are in WAL mode
  if (status(store + "-wal", of)) {
    if (!there)
      refuse_store(store, "a store of this name is gone, and its -wal file is not",
                   "move " + quote(store + "-wal") + " away, or bring the store back");
    unsigned char head[4] = {0x37, 0x7f, 0x06, 0x82};
    std::ifstream(store + "-wal", std::ios::binary).read(reinterpret_cast<char*>(head), sizeof head);
    const bool magic = head[0] == 0x37 && head[1] == 0x7f && head[2] == 0x06 && (head[3] & 0xfe) == 0x82;
    if (!S_ISREG(of.st_mode) || !magic) refuse(store + "-wal");
  }
  constexpr off_t kIndexBlock = 32768;
  if (status(store + "-shm", of) && (!there || !S_ISREG(of.st_mode) || of.st_size % kIndexBlock != 0))
    refuse(store + "-shm");
}

bool has_bytes(const std::string& path) {
  std::error_code failed;
  const auto size = fs::file_size(path, failed);
  return !failed && size > 0;
}

// Without SQLite, which would make a database of an empty file.
void check_head(const std::string& path) {
  const char* hint = "name a file that rehearse sweep made, or one that is not there yet";
  std::error_code failed;
  if (!fs::is_regular_file(path, failed)) refuse_store(path, "this is no file", hint);
  std::ifstream file(path, std::ios::binary);
  unsigned char head[100] = {};
  file.read(reinterpret_cast<char*>(head), sizeof head);
  const uint32_t id =
      uint32_t(head[68]) << 24 | uint32_t(head[69]) << 16 | uint32_t(head[70]) << 8 | head[71];
  if (file.bad() || (!file && file.gcount() == 0 && has_bytes(path)))
    refuse_store(path, "the store cannot be read", "");
  if (!file || std::memcmp(head, "SQLite format 3", 16) != 0 || id != kStoreId)
    refuse_store(path, "this is no store of results", hint);
}

void check_database(const Database& database) {
  Statement check(database, "PRAGMA quick_check(1)");
  if (!check.step() || check.text(0) != "ok")
    refuse_store(database.file, "the store is damaged: " + printable(check.text(0)),
                 "name another file; sqlite3 can show what is left of this one");
  Statement about(database, "SELECT value FROM about WHERE key = 'code'");
  const std::string code = about.step() ? about.text(0) : "";
  if (code != code_version())
    sqlite::refuse(
        database.file, "E-STORE-VERSION",
        "the store is of rehearse " + printable(code) + ", and this is " + std::string(code_version()),
        "results of two versions are not mixed: name another store");
  Statement more(database, "SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'view')");
  if (more.step())
    refuse_store(database.file,
                 "the store holds the " + more.text(0) + " " + quote(more.text(1)) +
                     ", which would change what is written",
                 "name another file");
  read_points(database);
  read_studies(database);
}

std::string escaped(const std::string& path) {  // for a URI
  std::string text = "file:";
  for (const char c : fs::absolute(path).string())
    if (c == '%' || c == '?' || c == '#')
      text += c == '%' ? "%25" : c == '?' ? "%3f" : "%23";
    else
      text += c;
  return text;
}

Database open_database(const std::string& path, Store::Mode mode) {
  // A folder that takes no files, and nobody who writes: SQLite needs to be told that its own are not needed.
  const bool fixed = mode == Store::Mode::read && !has_bytes(path + "-wal") &&
                     faccessat(AT_FDCWD, fs::absolute(path).parent_path().c_str(), W_OK, AT_EACCESS) != 0;
  Database database(path, escaped(path) + (fixed ? "?immutable=1" : ""),
                    fixed ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE);
  if (mode == Store::Mode::write && sqlite3_db_readonly(database.handle.get(), "main") != 0)
    refuse_store(path, "the store cannot be written", "");
  return database;
}

// What a killed sweep left in the -wal is not brought into the file before it is known to be ours.
Database open_checked(const std::string& path, Store::Mode mode) {
  check_head(path);
  check_beside(path, true);
  const bool left = has_bytes(path + "-wal");
  Database database = open_database(path, mode);
  sqlite3_db_config(database.handle.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, int(left), nullptr);
  check_database(database);
  sqlite3_db_config(database.handle.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
  database.run("PRAGMA synchronous=NORMAL");
  return database;
}

void create(const std::string& path, const std::vector<StoredStudy>& studies,
            const std::vector<StoredPoint>& points) {
  check_beside(path, false);
  std::error_code failed;
  std::string draft = (fs::path(path).parent_path() / ".rehearse-XXXXXX").string();
  const int made = mkostemp(draft.data(), O_CLOEXEC);
  if (made < 0)
    refuse_store(
        path, std::string("the store cannot be made: its folder takes no file: ") + std::strerror(errno), "");
  close(made);
  chmod(draft.c_str(), 0644);
  const struct Removed {
    std::string draft;
    ~Removed() {
      std::error_code ignored;
      for (const char* end : {"", "-journal", "-wal", "-shm"}) fs::remove(draft + end, ignored);
    }
  } removed{draft};
  {
    const Database database(path, escaped(draft), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    database.run("BEGIN");
    create_tables(database);
    for (const auto& study : studies) insert(database, study);
    insert(database, points);
    database.run("COMMIT");
    database.run("PRAGMA journal_mode=WAL");
  }
  // It comes into being whole, and over nothing; where the file system links no files, nearly so.
  const bool done = link(draft.c_str(), path.c_str()) == 0 ||
                    ((errno == EPERM || errno == EOPNOTSUPP) && rename(draft.c_str(), path.c_str()) == 0);
  const int error = errno;
  const std::string why = std::strerror(error);
  if (!done && error == EEXIST)
    sqlite::refuse(path, "E-STORE-BUSY", "another sweep made the store meanwhile", "wait for it, then go on");
  if (!done) refuse_store(path, "the store cannot be made: " + why, "");
}

}  // namespace

struct Store::Impl {
  std::unique_ptr<WriterLock> lock;
  std::unique_ptr<Database> database;
  struct stat file {};

  // What is written to a file that has lost its name is lost.
  void check_named() const {
    if (!is_named(database->file, file))
      refuse_store(database->file, "the store is gone: its file was removed or replaced meanwhile",
                   "leave it where it is, and sweep again");
  }
};

Store::Store(const std::string& path, Mode mode) : impl_(new Impl) {
  std::error_code failed;
  const bool there = fs::exists(fs::symlink_status(path, failed));
  if (!there && mode == Mode::read)
    refuse_store(path, "there is no such store", "rehearse sweep STUDY --store FILE makes one");
  if (there) check_head(path);
  if (mode == Mode::write) impl_->lock = std::make_unique<WriterLock>(path);
  if (!there) create(path, {}, {});
  impl_->database = std::make_unique<Database>(open_checked(path, mode));
  for (const char* end : {"", "-wal", "-shm", "-lock"}) note_read(path + end);
  if (stat(path.c_str(), &impl_->file) != 0) impl_->check_named();
}

Store::~Store() = default;

std::map<std::string, Outcome> Store::outcomes() const {
  std::map<std::string, Outcome> known;
  for (auto& stored : read_points(*impl_->database))
    if (stored.outcome.verdict != Verdict::failed)
      known.emplace(std::move(stored.digest), std::move(stored.outcome));
  return known;
}

std::vector<StoredPoint> Store::points() const { return read_points(*impl_->database); }
std::vector<StoredStudy> Store::studies() const { return read_studies(*impl_->database); }

void Store::write(const std::vector<StoredPoint>& batch) {
  const Database& database = *impl_->database;
  database.run("BEGIN IMMEDIATE");
  insert(database, batch);
  database.run("COMMIT");
  impl_->check_named();
}

void Store::check_holds(const std::vector<std::string>& digests) const {
  std::set<std::string> there;
  for (auto& point : points()) there.insert(std::move(point.digest));
  impl_->check_named();
  for (const auto& digest : digests)
    if (!there.contains(digest))
      refuse_store(impl_->database->file,
                   "the store does not hold what was written: another program changed it",
                   "sweep again, and leave the store alone meanwhile");
}

void Store::write(const StoredStudy& study) { insert(*impl_->database, study); }

void create_store(const std::string& path, const std::vector<StoredStudy>& studies,
                  const std::vector<StoredPoint>& points) {
  const WriterLock lock(path);
  std::error_code failed;
  if (fs::exists(fs::symlink_status(path, failed)))
    refuse_store(path, "there is a file of this name", "name one that is not there yet");
  create(path, studies, points);
}

}  // namespace rehearse
