#include "sim/io/csv.hpp"

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

// One field from `at` on; moves `at` behind it.
bool read_field(Cursor& c, size_t& at, const CsvColumn& column, double& out) {
  const char* begin = c.text.data() + at;
  const char* end = c.text.data() + c.text.size();
  const auto [stop, error] = std::from_chars(begin, end, out);
  const bool whole = error == std::errc() && (stop == end || *stop == ',' || *stop == '\n');
  const bool valid = whole && std::isfinite(out) && (column.flag ? out == 0 || out == 1 : out > 0);
  if (valid) {
    at = static_cast<size_t>(stop - c.text.data());
    return true;
  }
  const size_t field_end = std::min(c.text.find_first_of(",\n", at), c.text.size());
  const std::string name(column.name), field = quote(c.text.substr(at, field_end - at));
  if (field_end == at) return c.refuse(at, "column " + name + " has no value");
  if (column.flag) return c.refuse(at, name + " must be 0 or 1, not " + field);
  return c.refuse(at, name + " must be a positive number, not " + field);
}

// One line from `at` on; moves `at` to the next.
bool read_row(Cursor& c, size_t& at, std::span<const CsvColumn> columns, std::vector<double>& out) {
  for (size_t i = 0; i < columns.size(); ++i) {
    double value = 0;
    if (!read_field(c, at, columns[i], value)) return false;
    out.push_back(value);
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

// Whether the last row's keys are greater than those of the row before.
bool ascends(const std::vector<double>& all, size_t width, size_t keys) {
  if (all.size() < 2 * width) return true;
  const auto* now = all.data() + all.size() - width;
  const auto* before = now - width;
  for (size_t i = 0; i < keys; ++i)
    if (now[i] != before[i]) return now[i] > before[i];
  return false;
}

}  // namespace

std::vector<double> parse_csv(std::string_view text, const std::string& file,
                              std::span<const CsvColumn> columns, size_t keys, Problems& problems) {
  Cursor c{text, file, problems};
  const std::string header = join(columns);
  size_t at = std::min(text.find('\n'), text.size());
  if (text.substr(0, at) != header) {
    c.refuse(0, "the first line must name the columns", header);
    return {};
  }
  std::vector<double> all;
  all.reserve(text.size() / 4);
  for (at = std::min(at + 1, text.size()); at < text.size();) {
    c.line_start = at;
    ++c.line;
    if (!read_row(c, at, columns, all)) return {};
    if (!ascends(all, columns.size(), keys)) {
      c.refuse(c.line_start, "the row does not stand after the row before it in order, or repeats it",
               "sort by " + join(columns.first(keys)));
      return {};
    }
  }
  if (all.empty()) c.refuse(0, "the table has no rows");
  return all;
}

}  // namespace rehearse
