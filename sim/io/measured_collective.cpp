#include "sim/io/measured_collective.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "sim/base/text.hpp"
#include "sim/io/file.hpp"
#include "sim/spec/names.hpp"

namespace rehearse {
namespace {

struct Line {
  const std::string& file;
  std::string text;
  int number = 0;

  [[noreturn]] void refuse(const std::string& message, const std::string& hint = {}) const {
    throw InputErrors(InputError{
        {file, number, number ? 1 : 0, find_bad_utf8(text) ? "" : text}, "", "E-AGAINST", message, hint});
  }
  double positive(std::string_view word, const char* what) const {
    const auto parsed = parse_number(word);
    if (!parsed.value || *parsed.value <= 0)
      refuse(std::string(what) + " is no positive number: " + quote(word));
    return *parsed.value;
  }
};

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at < text.size();) {
    const size_t from = text.find_first_not_of(" \t\r", at);
    if (from == std::string_view::npos) break;
    const size_t to = std::min(text.find_first_of(" \t\r", from), text.size());
    words.push_back(text.substr(from, to - from));
    at = to;
  }
  return words;
}

bool is_count(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// size count type [redop] [root] then one or two of: time algbw busbw [wrong]
void read_log_row(const Line& line, MeasuredCollective& out) {
  const auto words = words_of(line.text);
  size_t at = 3;
  if (at < words.size() && !parse_number(words[at]).value) ++at;  // redop
  const size_t left = words.size() > at ? words.size() - at : 0;
  const bool has_root = left == 9 || left == 7 || left == 5;
  if (has_root) ++at;
  const size_t numbers = left - (has_root ? 1 : 0), half = numbers == 6 || numbers == 3 ? 3 : 4;
  if (numbers != 3 && numbers != 4 && numbers != 6 && numbers != 8)
    line.refuse("a row of nccl-tests is cut, or is of another program");
  double us = line.positive(words[at], "the time");
  const double size = line.positive(words[0], "the size");
  if (!out.rows.empty() && size <= out.rows.back().bytes)
    line.refuse("sizes do not ascend: rows of two tables, or of one twice");
  const auto algbw = parse_number(words[at + 1]);
  if (algbw.value && *algbw.value >= 1 && std::abs(size / us * 1e-3 / *algbw.value - 1) > 0.03)
    line.refuse("size, time and algbw contradict each other");
  if (numbers >= 6) us = std::min(us, line.positive(words[at + half], "the time in place"));
  out.rows.push_back({size, us * 1e-6});
}

void read_log(const std::vector<Line>& lines, MeasuredCollective& out) {
  for (const Line& line : lines) {
    const auto words = words_of(line.text);
    // Of other lines, "NCCL INFO ..." and what a launcher prints, no size leads.
    if (words.size() >= 6 && is_count(words[0]) && is_count(words[1]) && words[0] != "0")
      read_log_row(line, out);
  }
}

struct Columns {
  std::vector<std::string> names;
  size_t of(const Line& header, std::string_view name) const {
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) header.refuse("the column " + quote(name) + " is missing");
    return static_cast<size_t>(at - names.begin());
  }
};

std::vector<std::string> fields_of(std::string_view text) {
  if (text.ends_with('\r')) text.remove_suffix(1);
  std::vector<std::string> fields;
  for (const auto field : split(text, ',')) fields.emplace_back(field);
  return fields;
}

void read_table(const std::vector<Line>& lines, MeasuredCollective& out) {
  const Line& header = lines.front();
  const Columns columns{fields_of(header.text)};
  const size_t op = columns.of(header, "op"), nodes = columns.of(header, "nodes"),
               each = columns.of(header, "gpus_per_node"), bytes = columns.of(header, "bytes"),
               time = columns.of(header, "time_us"), in_place = columns.of(header, "inplace_time_us");
  for (size_t i = 1; i < lines.size(); ++i) {
    const Line& line = lines[i];
    if (line.text.empty() || line.text == "\r") continue;
    const auto fields = fields_of(line.text);
    if (fields.size() != columns.names.size())
      line.refuse(std::to_string(fields.size()) + " fields where the header has " +
                  std::to_string(columns.names.size()));
    const auto* name = find_named(kOpNames, fields[op]);
    if (!name) line.refuse("no operation: " + quote(fields[op]), suggest(fields[op], names_in(kOpNames)));
    const int n = static_cast<int>(line.positive(fields[nodes], "nodes"));
    const int g = static_cast<int>(line.positive(fields[each], "gpus_per_node"));
    if (out.op && (*out.op != name->value || out.nodes != n || out.per_node != g))
      line.refuse("a table is of one operation and one group");
    out.op = name->value, out.nodes = n, out.per_node = g;
    double us = line.positive(fields[time], "time_us");
    if (!fields[in_place].empty()) us = std::min(us, line.positive(fields[in_place], "inplace_time_us"));
    out.rows.push_back({line.positive(fields[bytes], "bytes"), us * 1e-6});
  }
}

}  // namespace

MeasuredCollective read_measured_collective(const std::string& path) {
  const std::string text = read_file(path), shown = shown_path(path);
  std::vector<Line> lines;
  for (const auto line : split(text, '\n'))
    lines.push_back({shown, std::string(line.substr(0, 400)), static_cast<int>(lines.size()) + 1});
  MeasuredCollective out;
  if (!lines.empty() && lines.front().text.starts_with("op,"))
    read_table(lines, out);
  else
    read_log(lines, out);
  if (out.rows.empty())
    Line{shown, "", 0}.refuse("no row of nccl-tests and no table of collectives in it",
                              "the table's columns are op,ranks,nodes,gpus_per_node,bytes,time_us,algbw_GBps,"
                              "busbw_GBps,inplace_time_us");
  return out;
}

}  // namespace rehearse
