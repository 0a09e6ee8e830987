#include "sim/io/measured_collective.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/base/text.hpp"
#include "sim/io/file.hpp"
#include "sim/io/nccl_log.hpp"
#include "sim/spec/names.hpp"

namespace rehearse {
namespace {

struct Line {
  std::string file;
  std::string text;
  int number = 0;

  Place place() const { return {file, number, number ? 1 : 0, find_bad_utf8(text) ? "" : text}; }
  [[noreturn]] void refuse(const std::string& message, const std::string& hint = {}) const {
    throw InputErrors(InputError{place(), "", "E-AGAINST", message, hint});
  }
  double positive(std::string_view word, const char* what) const {
    const auto parsed = parse_number(word);
    if (!parsed.value || *parsed.value <= 0)
      refuse(std::string(what) + " is no positive number: " + quote(word));
    return *parsed.value;
  }
  int whole(std::string_view word, const char* what) const {
    const double value = positive(word, what);
    if (value > 32768 || value != std::floor(value))
      refuse(std::string(what) + " is no whole number up to 32768: " + quote(word));
    return static_cast<int>(value);
  }
};

bool is_count(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

using Words = std::vector<LogWord>;

class LogReader {
 public:
  explicit LogReader(MeasuredCollective& out) : out_(out) {}

  void take(const Line& line) {
    const LogLine read = log_line(line.text);
    const Words& words = read.words;
    if (words.empty()) return;
    if (words[0].text == "Rank")
      device(line, read);
    else if (words.size() > 1 && words[0].text == "size" && words[1].text == "count")
      header(words);
    // Of other lines, "NCCL INFO ..." and what a launcher prints, no size leads.
    else if (words.size() >= 6 && !read.comment && is_count(words[0].text) && is_count(words[1].text) &&
             words[0].text != "0")
      row(line, words);
    else
      remark(line, read);
  }

  void finish() const {
    if (!remarks_.failed.empty())
      failed_.refuse("the log says " + quote(remarks_.failed) + " and not of which rows",
                     "times of wrong results say nothing: measure again");
  }

 private:
  void device(const Line& line, const LogLine& read) {
    const auto d = log_device(read);
    if (!d) return;
    if (ranks_.empty()) group_ = d->group, out_.gpu = d->name;
    if (!ranks_.insert(d->rank).second)
      line.refuse(
          "rank " + std::to_string(d->rank) + " stands twice",
          "two logs in one file, or every process ran on its own: nccl-tests was built without MPI=1");
    if (d->group != group_) return;  // it communicates by itself
    ++out_.ranks;
    out_.of_ranks = line.place();
    hosts_.insert(d->host);
    hosts_tell_ &= devices_.insert({d->host, d->local}).second;
    out_.nodes = hosts_tell_ ? static_cast<int>(hosts_.size()) : 0;
  }

  void header(const Words& words) {
    in_table_ = true;
    // Old versions print the largest deviation as "error", which is no count of wrong elements.
    counts_wrong_ = std::none_of(words.begin(), words.end(), [](const auto& w) { return w.text == "error"; });
  }

  void remark(const Line& line, const LogLine& read) {
    const std::string program = remarks_.program, failed = remarks_.failed;
    remarks_.note(read.body, in_table_ || !out_.rows.empty());
    if (remarks_.failed != failed) failed_ = line;
    if (remarks_.program == program) return;
    const auto op = op_in(remarks_.program);
    if (op) out_.op = op, out_.of_op = line.place();
  }

  // size count type [redop] [root] then one or two of: time algbw busbw [wrong]
  void row(const Line& line, const Words& words) {
    size_t at = 3;
    if (at < words.size() && !parse_number(words[at].text).value) redop(line, words[at++].text);
    const size_t left = words.size() > at ? words.size() - at : 0;
    const bool has_root = left == 9 || left == 7 || left == 5;
    if (has_root) ++at;
    const size_t numbers = left - (has_root ? 1 : 0), half = numbers == 6 || numbers == 3 ? 3 : 4;
    if (numbers != 3 && numbers != 4 && numbers != 6 && numbers != 8)
      line.refuse("a row of nccl-tests is cut, or is of another program");
    double us = line.positive(words[at].text, "the time");
    const double size = line.positive(words[0].text, "the size");
    if (!out_.rows.empty() && size <= out_.rows.back().bytes)
      line.refuse("sizes do not ascend: rows of two tables, or of one twice");
    const double rate = size / us * 1e-3;  // GB/s
    const auto algbw = parse_number(words[at + 1].text), busbw = parse_number(words[at + 2].text);
    if (algbw.value && *algbw.value >= 1 && std::abs(rate / *algbw.value - 1) > 0.03)
      line.refuse("size, time and algbw contradict each other");
    const double factor = busbw.value && *busbw.value >= 1 ? *busbw.value / rate : 0;
    if (numbers >= 6) us = std::min(us, line.positive(words[at + half].text, "the time in place"));
    for (size_t i = at + 3; half == 4 && i < words.size(); i += half) right(line, words[i].text);
    out_.rows.push_back({size, us * 1e-6, factor, line.place()});
  }

  void redop(const Line& line, std::string_view word) {
    if (out_.reduces) return;
    out_.reduces = word != "none";
    out_.of_reduces = line.place();
  }

  void right(const Line& line, std::string_view wrong) const {
    const auto count = parse_number(wrong);
    if (counts_wrong_ && count.value && *count.value > 0)
      line.refuse(std::string(wrong) + " elements of this size came out wrong",
                  "times of wrong results say nothing: measure again, or leave the row out");
  }

  MeasuredCollective& out_;
  LogRemarks remarks_;
  Line failed_{};  // where remarks_.failed stands
  std::set<int> ranks_;
  std::set<std::string> hosts_;
  std::set<std::pair<std::string, int>> devices_;
  int group_ = 0;
  bool hosts_tell_ = true;  // no two devices of one host have one number
  bool in_table_ = false, counts_wrong_ = true;
};

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
    const int n = line.whole(fields[nodes], "nodes"), g = line.whole(fields[each], "gpus_per_node");
    if (out.op && (*out.op != name->value || out.nodes != n || out.ranks != n * g))
      line.refuse("a table is of one operation and one group");
    out.op = name->value, out.nodes = n, out.ranks = n * g;
    out.of_op = out.of_ranks = line.place();
    double us = line.positive(fields[time], "time_us");
    if (!fields[in_place].empty()) us = std::min(us, line.positive(fields[in_place], "inplace_time_us"));
    out.rows.push_back({line.positive(fields[bytes], "bytes"), us * 1e-6, 0, line.place()});
  }
}

}  // namespace

MeasuredCollective read_measured_collective(const std::string& path) {
  const std::string text = read_file(path), shown = shown_path(path);
  std::vector<Line> lines;
  for (const auto line : split(text, '\n'))
    lines.push_back({shown, std::string(line.substr(0, 400)), static_cast<int>(lines.size()) + 1});
  MeasuredCollective out;
  if (!lines.empty() && lines.front().text.starts_with("op,")) {
    read_table(lines, out);
  } else {
    LogReader reader(out);
    for (const Line& line : lines) reader.take(line);
    reader.finish();
  }
  if (out.rows.empty())
    Line{shown, "", 0}.refuse("no row of nccl-tests and no table of collectives in it",
                              "the table's columns are op,ranks,nodes,gpus_per_node,bytes,time_us,algbw_GBps,"
                              "busbw_GBps,inplace_time_us");
  return out;
}

}  // namespace rehearse
