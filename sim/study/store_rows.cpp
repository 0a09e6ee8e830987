#include "sim/study/store_rows.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "sim/study/code_version.hpp"

namespace rehearse {

using sqlite::Database;
using sqlite::Statement;

namespace {

using Json = nlohmann::json;

template <class T>
std::string json_of(const std::vector<T>& list) {
  return Json(list).dump(-1, ' ', false, Json::error_handler_t::replace);
}

// FNV-1a, 64 bits, over the columns of a row as SQLite gives them back.
class Checksum {
 public:
  Checksum& operator+=(const std::string& text) {
    for (const char c : text) add(static_cast<unsigned char>(c));
    add(256);  // no byte: two columns are not one
    return *this;
  }
  Checksum& operator+=(double value) {
    if (std::isnan(value)) return *this += std::string("nan");
    uint64_t bits = 0;
    const double known = value == 0 ? 0 : value;  // SQLite keeps no sign of zero
    std::memcpy(&bits, &known, sizeof bits);
    return *this += std::to_string(bits);
  }
  int64_t value() const { return static_cast<int64_t>(sum_); }

 private:
  void add(unsigned part) { sum_ = (sum_ ^ part) * 0x100000001b3u; }
  uint64_t sum_ = 0xcbf29ce484222325u;
};

// A row of points as text and numbers, without the checksum.
struct Row {
  std::string digest, settings, verdict, code, message, peaks;
  std::vector<double> figures;

  int64_t checksum() const {
    Checksum sum;
    for (const auto* text : {&digest, &settings, &verdict, &code, &message, &peaks}) sum += *text;
    for (const double figure : figures) sum += figure;
    return sum.value();
  }
};

Row row_of(const StoredPoint& stored) {
  const Outcome& outcome = stored.outcome;
  Row row{stored.digest,
          json_of(stored.point.settings),
          std::string(name_of(kVerdicts, outcome.verdict)),
          outcome.code,
          outcome.message,
          json_of(outcome.stage_peak_bytes),
          outcome.figures};
  row.figures.resize(figure_table().size(), std::numeric_limits<double>::quiet_NaN());
  return row;
}

int64_t checksum_of(const StoredStudy& study) {
  Checksum sum;
  for (const auto& text : {study.name, study.base, study.text, json_of(study.sets), json_of(study.axes)})
    sum += text;
  return sum.value();
}

[[noreturn]] void damaged(const Database& database) {
  sqlite::refuse(database.file, "E-STORE-FILE", "the store is damaged: a row is not what was written",
                 "name another file; sqlite3 can show what is left of this one");
}

template <class T>
std::vector<T> list_of(const std::string& text) {
  return Json::parse(text).get<std::vector<T>>();
}

StoredPoint point_of(const Row& row, const Database& database) {
  StoredPoint stored;
  stored.digest = row.digest;
  stored.point.settings = list_of<std::string>(row.settings);
  const auto* verdict = find_named(kVerdicts, row.verdict);
  if (!verdict) damaged(database);
  stored.outcome = {verdict->value, row.code, row.message, row.figures, list_of<double>(row.peaks)};
  return stored;
}

}  // namespace

void create_tables(const Database& database) {
  std::string points =
      "CREATE TABLE points (digest TEXT PRIMARY KEY, settings TEXT NOT NULL, verdict TEXT NOT NULL, "
      "code TEXT NOT NULL, message TEXT NOT NULL, stage_peak_bytes TEXT NOT NULL";
  for (const auto& row : figure_table()) points += ", \"" + std::string(row.name) + "\" REAL";
  database.run("PRAGMA application_id=" + std::to_string(kStoreId));
  database.run("CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL)");
  database.run(
      "CREATE TABLE studies (name TEXT NOT NULL, base TEXT NOT NULL, text TEXT NOT NULL, "
      "sets TEXT NOT NULL, axes TEXT NOT NULL, checksum INTEGER PRIMARY KEY)");
  database.run(points + ", checksum INTEGER NOT NULL) WITHOUT ROWID");
  Statement about(database, "INSERT INTO about VALUES ('code', ?1)");
  about.bind(1, std::string(code_version()));
  about.step();
}

void insert(const Database& database, const std::vector<StoredPoint>& points) {
  std::string sql = "INSERT INTO points VALUES (?1";
  const size_t columns = 7 + figure_table().size();
  for (size_t i = 2; i <= columns; ++i) sql += ", ?" + std::to_string(i);
  // A point that failed gives way to what is known of it now; anything else stays.
  sql += ") ON CONFLICT (digest) DO UPDATE SET ";
  for (const char* name : {"settings", "verdict", "code", "message", "stage_peak_bytes"})
    sql += std::string(name) + " = excluded." + name + ", ";
  for (const auto& row : figure_table()) {
    const std::string name = "\"" + std::string(row.name) + "\"";
    sql.append(name).append(" = excluded.").append(name).append(", ");
  }
  Statement statement(database, sql + "checksum = excluded.checksum WHERE points.verdict = 'failed'");
  for (const auto& point : points) {
    const Row row = row_of(point);
    int at = 0;
    for (const auto* text : {&row.digest, &row.settings, &row.verdict, &row.code, &row.message, &row.peaks})
      statement.bind(++at, *text);
    for (const double figure : row.figures) statement.bind(++at, figure);
    statement.bind(++at, row.checksum());
    statement.step();
    statement.reset();
  }
}

void insert(const Database& database, const StoredStudy& study) {
  Statement statement(database, "INSERT OR IGNORE INTO studies VALUES (?1, ?2, ?3, ?4, ?5, ?6)");
  int at = 0;
  for (const auto& text : {study.name, study.base, study.text, json_of(study.sets), json_of(study.axes)})
    statement.bind(++at, text);
  statement.bind(++at, checksum_of(study));
  statement.step();
}

std::vector<StoredPoint> read_points(const Database& database) {
  const auto figures = int(figure_table().size());
  Statement rows(database, "SELECT * FROM points ORDER BY digest");
  std::vector<StoredPoint> points;
  while (rows.step()) {
    Row row{rows.text(0), rows.text(1), rows.text(2), rows.text(3), rows.text(4), rows.text(5), {}};
    for (int i = 0; i < figures; ++i)
      row.figures.push_back(rows.is_null(6 + i) ? std::numeric_limits<double>::quiet_NaN()
                                                : rows.number(6 + i));
    if (row.checksum() != rows.integer(6 + figures)) damaged(database);
    points.push_back(point_of(row, database));
  }
  return points;
}

std::vector<StoredStudy> read_studies(const Database& database) {
  Statement rows(database, "SELECT * FROM studies ORDER BY name, checksum");
  std::vector<StoredStudy> studies;
  while (rows.step()) {
    StoredStudy study{rows.text(0), rows.text(1), rows.text(2), {}, {}};
    const std::string sets = rows.text(3), axes = rows.text(4);
    Checksum sum;
    for (const auto& text : {study.name, study.base, study.text, sets, axes}) sum += text;
    if (sum.value() != rows.integer(5)) damaged(database);
    study.sets = list_of<std::string>(sets);
    study.axes = list_of<std::string>(axes);
    studies.push_back(std::move(study));
  }
  return studies;
}

}  // namespace rehearse
