// SQLite's handles as values. What goes wrong is an InputErrors (E-STORE-FILE) at the file.
#pragma once
#include <sqlite3.h>

#include <memory>
#include <string>

#include "sim/base/error.hpp"

namespace rehearse::sqlite {

[[noreturn]] inline void refuse(const std::string& file, const std::string& code, const std::string& message,
                                const std::string& hint) {
  throw InputErrors(InputError{{file, 0, 0, ""}, "", code, message, hint});
}

struct Database {
  std::string file;
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> handle{nullptr, sqlite3_close};

  // `uri`: a file: URI, or a path; `flags` as of sqlite3_open_v2.
  Database(std::string named, const std::string& uri, int flags) : file(std::move(named)) {
    sqlite3* opened = nullptr;
    const int status = sqlite3_open_v2(uri.c_str(), &opened, flags | SQLITE_OPEN_URI, nullptr);
    handle.reset(opened);
    if (status != SQLITE_OK) fail();
    sqlite3_extended_result_codes(opened, 1);
    sqlite3_busy_timeout(opened, 10'000);
  }

  [[noreturn]] void fail() const {
    refuse(file, "E-STORE-FILE", std::string("the store cannot be used: ") + sqlite3_errmsg(handle.get()),
           "");
  }
  void run(const std::string& sql) const {
    if (sqlite3_exec(handle.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail();
  }
};

// Columns and parameters count from 0 and from 1, as SQLite has them.
class Statement {
 public:
  Statement(const Database& database, const std::string& sql) : database_(database) {
    sqlite3_stmt* prepared = nullptr;
    if (sqlite3_prepare_v2(database.handle.get(), sql.c_str(), -1, &prepared, nullptr) != SQLITE_OK)
      database.fail();
    handle_.reset(prepared);
  }

  bool step() {  // false after the last row
    const int status = sqlite3_step(handle_.get());
    if (status != SQLITE_ROW && status != SQLITE_DONE) database_.fail();
    return status == SQLITE_ROW;
  }
  void reset() { sqlite3_reset(handle_.get()); }

  void bind(int at, const std::string& text) {
    sqlite3_bind_text(handle_.get(), at, text.data(), int(text.size()), SQLITE_TRANSIENT);
  }
  void bind(int at, double value) { sqlite3_bind_double(handle_.get(), at, value); }  // NaN: NULL
  void bind(int at, int64_t value) { sqlite3_bind_int64(handle_.get(), at, value); }

  std::string text(int at) {
    const auto* bytes = sqlite3_column_text(handle_.get(), at);
    return bytes ? std::string(reinterpret_cast<const char*>(bytes), size_t(size(at))) : std::string();
  }
  bool is_null(int at) { return sqlite3_column_type(handle_.get(), at) == SQLITE_NULL; }
  double number(int at) { return sqlite3_column_double(handle_.get(), at); }
  int64_t integer(int at) { return sqlite3_column_int64(handle_.get(), at); }

 private:
  int size(int at) { return sqlite3_column_bytes(handle_.get(), at); }
  const Database& database_;
  std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> handle_{nullptr, sqlite3_finalize};
};

}  // namespace rehearse::sqlite
