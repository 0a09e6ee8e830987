// Results of studies in one SQLite file.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/study/price.hpp"

namespace rehearse {

struct StoredPoint {
  std::string digest;  // Pricer::digest
  Point point;
  Outcome outcome;
};

// A study that has points in the store.
struct StoredStudy {
  std::string name, base, text;         // the file's text
  std::vector<std::string> sets, axes;  // as of Study
  bool operator==(const StoredStudy&) const = default;
};

// One file: table `points` (digest is its key; settings as a JSON list, verdict by name, code, message, a
// REAL column for each row of figure_table(), stage_peak_bytes as a JSON list), table `studies` (file's text,
// name, base, sets and axes as JSON lists) and table `about` (program's and code's version). Rows hold
// nothing that differs between two runs of the same point, and a checksum of the rest. WAL; what write() was
// given survives the death of the process once it returned. A power cut may take the last transactions, never
// more.
class Store {
 public:
  enum class Mode { read, write };  // write: makes the file where there is none, and keeps other writers out
  // Throws InputErrors: E-STORE-FILE (no store, damaged, not writable), E-STORE-VERSION (of another version
  // of the program), E-STORE-BUSY (another sweep writes to it). A file that is refused is left as it was.
  Store(const std::string& path, Mode mode);
  ~Store();

  // The outcomes that are there already, by digest. Failed ones are not: they are tried again.
  std::map<std::string, Outcome> outcomes() const;
  // All points, in order of their digests.
  std::vector<StoredPoint> points() const;
  std::vector<StoredStudy> studies() const;
  void write(const std::vector<StoredPoint>& batch);  // one transaction; replaces failed points
  void write(const StoredStudy& study);               // once, however often
  // Throws InputErrors (E-STORE-FILE) where another program took one of these away, or the whole file.
  void check_holds(const std::vector<std::string>& digests) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Makes a store that holds all of it, or none. Throws InputErrors (E-STORE-FILE), also where there is a file.
void create_store(const std::string& path, const std::vector<StoredStudy>& studies,
                  const std::vector<StoredPoint>& points);

}  // namespace rehearse
