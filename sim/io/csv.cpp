#include "sim/io/csv.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "sim/base/text.hpp"

namespace rehearse {
namespace {

struct Cursor {
  std::string_view text;
  const std::string& file;
  Problems& problems;
  size_t line_start = 0;
  int line = 1;

  bool refuse(size_t at, std::string message, std::string hint = {}) {
    const size_t end = std::min(text.find('\n', line_start), text.size());
    const std::string_view shown = text.substr(line_start, std::min<size_t>(end - line_start, 200));
    const bool clean = !find_bad_utf8(shown);
    problems.add({{file, line, static_cast<int>(at - line_start) + 1, clean ? std::string(shown) : ""},
                  "",
                  "E-PROFILE-CSV",
                  std::move(message),
                  std::move(hint)});
    return false;
  }
};

std::string join(std::span<const CsvColumn> columns) {
  std::string all;
  for (const auto& c : columns) {
    if (!all.empty()) all += ',';
    all += c.name;
  }
  return all;
}

constexpr size_t kMaxColumns = 8;
constexpr double kLeast = 1e-18, kMost = 1e18;  // sums and ratios of them stay finite

// A decimal of at most 15 digits without an exponent, exactly rounded because both parts are exact: most of a
// table. False, with `at` as it was, where it is anything else.
bool read_short(std::string_view text, size_t& at, double& out) {
  static constexpr double kPowers[] = {1,   1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                       1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  uint64_t digits = 0;
  size_t count = 0, fraction = 0, i = at;
  bool point = false;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c >= '0' && c <= '9') {
      digits = digits * 10 + static_cast<uint64_t>(c - '0');
      fraction += point;
      if (++count > 15) return false;
    } else if (c == '.' && !point && count > 0) {
      point = true;
    } else {
      break;
    }
  }
  const bool ends = i == text.size() || text[i] == ',' || text[i] == '\n';
  if (!ends || count == 0 || (point && fraction == 0)) return false;
  out = static_cast<double>(digits) / kPowers[fraction];
  at = i;
  return true;
}

bool read_any(std::string_view text, size_t& at, double& out) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + at, end, out);
  if (error != std::errc() || (stop != end && *stop != ',' && *stop != '\n')) return false;
  at = static_cast<size_t>(stop - text.data());
  return true;
}

// One field from `at` on; moves `at` behind it.
bool read_field(Cursor& c, size_t& at, const CsvColumn& column, double& out) {
  const size_t begin = at;
  const bool read = read_short(c.text, at, out) || read_any(c.text, at, out);
  if (read && (column.flag ? out == 0 || out == 1 : out >= kLeast && out <= kMost)) return true;
  const size_t end = std::min(c.text.find_first_of(",\n", begin), c.text.size());
  const std::string name(column.name), field = quote(c.text.substr(begin, end - begin));
  if (end == begin) return c.refuse(begin, "column " + name + " has no value");
  if (column.flag) return c.refuse(begin, name + " must be 0 or 1, not " + field);
  if (read && out > 0 && std::isfinite(out))
    return c.refuse(begin, name + " must be from 1e-18 to 1e18, not " + field);
  return c.refuse(begin, name + " must be a positive number, not " + field);
}

// One line from `at` on; moves `at` to the next.
bool read_row(Cursor& c, size_t& at, std::span<const CsvColumn> columns, double* out) {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (!read_field(c, at, columns[i], out[i])) return false;
    const bool last = i + 1 == columns.size();
    const char next = at < c.text.size() ? c.text[at] : '\n';
    if (next == '\n' && !last)
      return c.refuse(at, "the row ends before column " + std::string(columns[i + 1].name));
    if (next == ',' && last)
      return c.refuse(at, "the row goes on after its last column", "columns: " + join(columns));
    if (at < c.text.size()) ++at;
  }
  return true;
}

}  // namespace

void parse_csv(std::string_view text, const std::string& file, std::span<const CsvColumn> columns,
               size_t keys, Problems& problems, const std::function<void(const double*)>& row) {
  Cursor c{text, file, problems};
  const std::string header = join(columns);
  size_t at = std::min(text.find('\n'), text.size());
  if (text.substr(0, at) != header) {
    c.refuse(0, "the first line must name the columns", header);
    return;
  }
  std::array<double, kMaxColumns> values{}, before{};
  for (at = std::min(at + 1, text.size()); at < text.size(); before = values) {
    c.line_start = at;
    ++c.line;
    if (!read_row(c, at, columns, values.data())) return;
    const bool first = c.line == 2;
    if (!first && !std::lexicographical_compare(before.begin(), before.begin() + keys, values.begin(),
                                                values.begin() + keys)) {
      c.refuse(c.line_start, "the row does not stand after the row before it in order, or repeats it",
               "sort by " + join(columns.first(keys)));
      return;
    }
    row(values.data());
  }
  if (c.line == 1) c.refuse(0, "the table has no rows");
}

}  // namespace rehearse
