#include "sim/io/nccl_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "sim/base/text.hpp"
#include "sim/io/log_tags.hpp"
#include "sim/io/nccl_lines.hpp"

namespace rehearse {
namespace {

int small_integer(std::string_view digits) { return std::stoi(std::string(digits.substr(0, 9))); }
bool is_count(double value) { return value == std::floor(value) && value <= 9007199254740992.0; }
bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::string trimmed(std::string_view text) {
  const size_t from = text.find_first_not_of(" \t");
  return from == std::string_view::npos
             ? ""
             : std::string(text.substr(from, text.find_last_not_of(" \t") + 1 - from));
}

// 22903 = 2.29.3
std::string version_of(std::string_view digits) {
  digits = digits.substr(0, std::min<size_t>(digits.find_first_not_of("0123456789"), 9));
  const int code = digits.empty() ? 0 : small_integer(digits);
  return code > 0 ? fmt::format("NCCL {}.{}.{}", code / 10000, code / 100 % 100, code % 100) : "";
}

// Of a row, whose pieces may stand on several lines.
struct Field {
  std::string text;
  Place place;
};

class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) { log_.tables.emplace_back(); }

  NcclLog read(std::string_view text) {
    int number = 0;
    for (const auto line : split(text, '\n')) {
      ++number;
      if (line.empty() && size_t(number) > 1) continue;
      raw_ = line, number_ = number, last_ = place(1);
      take(plain_line(line));
    }
    finish();
    return std::move(log_);
  }

 private:
  NcclTable& table() { return log_.tables.back(); }
  bool begun() const { return !columns_.empty(); }
  Place place(int column) const { return {file_, number_, column, printable(raw_.substr(0, 400))}; }
  [[noreturn]] static void refuse_at(const Place& at, std::string message, std::string hint = {}) {
    throw InputErrors(InputError{at, "", "E-IMPORT-ROW", std::move(message), std::move(hint)});
  }
  [[noreturn]] void refuse(int column, const char* code, std::string message, std::string hint = {}) const {
    throw InputErrors(InputError{place(column), "", code, std::move(message), std::move(hint)});
  }
  void next_table() {
    end_row();
    if (begun()) log_.tables.emplace_back(), columns_.clear(), ended_ = false, seen_.clear();
  }

  void take(const CleanLine& line) {
    const auto words = words_of(line.text);
    if (const size_t at = header_in(words); at < words.size()) return header(line, words, at);
    if (wrapped(words) || device(line, words) || row(line)) return;
    const CleanLine untagged = has(line.text, "#") || !tags_.known() ? line : tags_.without(line);
    const std::string_view said(untagged.text);
    if (!table().devices.empty() && !begun() && is_ellipsis(said.substr(said.rfind('#') + 1)))
      table().abridged = place(1);
    remark(untagged.text);
  }

  void header(const CleanLine& line, const std::vector<Word>& words, size_t first) {
    next_table();
    const std::string_view before(line.text.data(), words[first].at);
    const size_t mark = before.rfind('#');
    tags_.learn(before.substr(0, mark == std::string_view::npos ? before.size() : mark));
    table().header = place(line.column(words[first].at));
    unit_us_ = words[first].text == "bytes" ? 1000 : 1;  // version 1 prints ms
    for (size_t i = first; i < words.size(); ++i) {
      const int column = line.column(words[i].at);
      if (words[i].text == "cputime")
        refuse(column, "E-IMPORT-HEADER", "the table holds times of the CPU", "run nccl-tests without -C");
      if (column_of(words[i].text).empty())
        refuse(column, "E-IMPORT-HEADER", "a column that nccl-tests does not print: " + quote(words[i].text));
      columns_.emplace_back(column_of(words[i].text));
    }
  }

  // The rest of a header that a terminal put on the next line.
  bool wrapped(const std::vector<Word>& words) {
    if (!begun() || words.empty() || number_ != table().header.line + 1) return false;
    for (const Word& w : words)
      if (column_of(w.text).empty()) return false;
    for (const Word& w : words) columns_.emplace_back(column_of(w.text));
    return true;
  }

  void check_columns() const {
    const auto of = [&](const char* name) { return std::count(columns_.begin(), columns_.end(), name); };
    if (of("time") < 1 || of("time") > 2 || of("algbw") != of("time") || of("busbw") != of("time"))
      throw InputErrors(
          InputError{log_.tables.back().header, "", "E-IMPORT-HEADER", "the header lacks columns",
                     "size count type (redop) (root) time algbw busbw error, the last four twice"});
  }

  bool device(const CleanLine& line, const std::vector<Word>& words) {
    // A tag before it may say "Rank 0" too.
    const auto is_rank = [&](const Word& w) {
      const auto* next = &w + 1;
      return (w.text == "Rank" || w.text.ends_with("#Rank")) && next < words.data() + words.size() &&
             is_integer(next->text);
    };
    const auto last = std::find_if(words.rbegin(), words.rend(), is_rank);
    if (last == words.rend()) return false;
    const auto rank = last.base() - 1;
    const size_t on = line.text.find(" on ", rank->at);
    size_t device = on == std::string::npos ? on : line.text.find(" device ", on + 3);
    std::vector<Word> behind;
    for (; device != std::string::npos; device = line.text.find(" device ", device + 1)) {
      behind = words_of(line.text, device + 8);
      if (!behind.empty() && is_integer(behind[0].text)) break;
    }
    if (device == std::string::npos) {
      if (!begun() && (has(line.text, " Group ") || has(line.text, " Pid "))) table().abridged = place(1);
      return false;
    }
    LogDevice d;
    d.rank = small_integer(rank[1].text);
    for (const Word* w = &*rank; w + 1 <= &words.back(); ++w)
      if (w->text == "Group" && is_integer(w[1].text)) {
        d.group = small_integer(w[1].text);
        break;
      }
    d.host = trimmed(line.text.substr(on + 4, std::max(device, on + 4) - on - 4));
    d.local = small_integer(behind[0].text);
    for (size_t i = behind.size() > 1 && behind[1].text.starts_with("[") ? 2 : 1; i < behind.size(); ++i)
      d.name += (d.name.empty() ? "" : " ") + std::string(behind[i].text);
    d.place = place(line.column(rank->at));
    next_table();
    if (const size_t mark = line.text.rfind('#', rank->at); mark != std::string::npos)
      tags_.learn(std::string_view(line.text).substr(0, mark));
    if (!seen_.insert(d.rank).second)
      refuse(d.place.column, "E-IMPORT-RANKS", fmt::format("rank {} stands twice", d.rank),
             "two logs in one file, or every process ran on its own: nccl-tests was built without MPI=1");
    table().devices.push_back(std::move(d));
    return true;
  }

  // What a log says beside its ranks and its table.
  void remark(std::string_view body) {
    const std::string_view starting = "Collective test starting: ";
    if (const size_t at = body.find(starting); at != std::string_view::npos) {
      next_table();
      return program(trimmed(body.substr(at + starting.size())));
    }
    if (const size_t at = body.find("nccl-library="); at != std::string_view::npos && log_.library.empty())
      log_.library = version_of(body.substr(at + 13));
    if (has(body, "# nThread ")) next_table();
    if (const size_t at = body.find("_perf"); at != std::string_view::npos && !has(body, "concluded")) {
      const size_t begin = body.substr(0, at).find_last_of(" \t/");
      const auto name = body.substr(begin == std::string_view::npos ? 0 : begin + 1);
      if (ended_) next_table();
      if (!begun() && table().program.empty() && op_in(name.substr(0, name.find("_perf"))))
        program(std::string(name.substr(0, name.find("_perf") + 5)));
    }
    const bool wrong = has(body, "Out of bounds values") || has(body, "Bitwise mismatches");
    if (!wrong && !has(body, "Avg bus bandwidth")) return;
    end_row();
    if (!begun() && log_.tables.size() == 1)
      refuse(1, "E-IMPORT-HEADER", "the table's end stands before any header");
    if (wrong && has(body, "FAILED")) {
      table().failed =
          trimmed(body.substr(body.rfind('#') == std::string_view::npos ? 0 : body.rfind('#') + 1));
      table().of_failed = place(1);
    }
    ended_ = !table().rows.empty() || table().empty_rows;
  }

  void program(std::string name) {
    table().program = std::move(name);
    table().of_program = place(1);
  }

  size_t expected() const { return columns_.size() + (columns_.back() == "timestamp" ? 1 : 0); }

  // A message of NCCL that broke into a row where it was flushed: "-1node-a:1000:1044 [0] NCCL INFO ...".
  CleanLine without_message(const CleanLine& line) {
    const std::string_view text(line.text);
    const size_t said =
        std::min({text.find(" NCCL INFO "), text.find(" NCCL WARN "), text.find(" NCCL TRACE ")});
    if (said == std::string_view::npos || (row_.empty() && row_in(words_of(text)) == words_of(text).size()))
      return line;
    size_t from = text.size();
    for (const auto& d : table().devices)
      for (size_t at = text.find(d.host + ":"); at < from; at = text.find(d.host + ":", at + 1))
        if (sender_end(text, at, d.host) != std::string_view::npos) from = at;
    if (from == text.size()) return line;
    const size_t before = text.substr(0, from).find_last_not_of(' ');
    if (before != std::string_view::npos && before + 1 < from && text[before] == ']')  // its time
      from = std::min(text.rfind('[', before), from);
    return {line.text.substr(0, from), {line.columns.begin(), line.columns.begin() + long(from) + 1}};
  }

  // True where the line is a row or a piece of one, or would be one of a table that has ended.
  bool row(const CleanLine& line) {
    const CleanLine said = without_message(line);
    const CleanLine untagged = tags_.known() ? tags_.without(said) : said;
    if (more(untagged)) return true;
    const CleanLine* is = nullptr;
    std::vector<Word> row;
    // A tag that only looks like one is a figure of the row.
    for (const CleanLine* read : {&untagged, &said}) {
      auto words = words_of(read->text);
      // Inside of a table what begins with a number is a row, if a broken one.
      const bool number = read == &untagged && begun() && !words.empty() && is_integer(words[0].text);
      const size_t start = start_of(words);
      if (start < words.size() || !number) words.erase(words.begin(), words.begin() + long(start));
      if (words.empty() || commented(read->text, words[0].at)) continue;
      const bool fits = begun() ? words.size() == expected() : words.size() >= 6;
      if (fits || !is) is = read, row = std::move(words);
      if (fits) break;
    }
    if (!is) return false;
    if (ended_) return true;
    if (!begun()) {
      if (row.size() < 6) return false;
      columns_ = presumed_columns(row);
      if (columns_.empty())
        refuse(is->column(row[0].at), "E-IMPORT-HEADER", "a row stands before any header",
               "keep the lines that begin with '#       size         count'");
    }
    end_row();
    add(*is, row);
    return true;
  }

  // As row_in, and of a whole row also where its size is not what it should be.
  size_t start_of(const std::vector<Word>& words) const {
    const size_t start = row_in(words);
    if (start < words.size() || !begun()) return start;
    for (size_t i = 0; i + 2 < words.size(); ++i)
      if ((i == 0 ? words.size() > 3 : words.size() - i == expected()) && is_integer(words[i + 1].text) &&
          nccl_width(words[i + 2].text) > 0)
        return i;
    return words.size();
  }

  static bool commented(std::string_view text, size_t at) {
    const size_t before = text.substr(0, at).find_last_not_of(' ');
    return before != std::string_view::npos && text[before] == '#';
  }

  // The rest of a row that messages or a terminal broke.
  bool more(const CleanLine& line) {
    const auto words = words_of(line.text);
    if (row_.empty() || words.empty() || row_.size() + words.size() > expected() ||
        !std::all_of(words.begin(), words.end(), [](const Word& w) { return is_figure(w.text); }))
      return false;
    add(line, words);
    return true;
  }

  void add(const CleanLine& line, const std::vector<Word>& words) {
    for (const Word& w : words) row_.push_back({std::string(w.text), place(line.column(w.at))});
    if (row_.size() >= expected()) end_row();
  }

  void end_row() {
    if (row_.empty()) return;
    check_columns();
    const std::vector<Field> fields = std::move(row_);
    row_.clear();
    if (fields.size() != expected())
      refuse_at(fields.back().place,
                fmt::format("the row has {} fields, its header {}", fields.size(), expected()),
                fields.size() < expected() ? "a cut line" : "");
    NcclRow r;
    r.place = fields[0].place, r.type_column = fields[2].place.column;
    for (size_t i = 0; i < columns_.size(); ++i) field(columns_[i], fields[i], r);
    if (r.bytes == 0)
      ++table().empty_rows;
    else
      table().rows.push_back(std::move(r));
  }

  void field(const std::string& column, const Field& word, NcclRow& r) {
    if (column == "type") r.type = word.text;
    if (column == "redop") r.redop = word.text;
    if (column == "type" || column == "redop" || column == "root" || column == "timestamp") return;
    const auto parsed = parse_number(word.text);
    const bool unchecked = column == "error" || column == "#wrong";
    if ((!parsed.value || *parsed.value < 0) && !(unchecked && word.text == "N/A"))
      refuse_at(word.place, column + " is no number: " + quote(word.text));
    const double value = parsed.value.value_or(0);
    if ((column == "size" || column == "count") && !is_count(value))
      refuse_at(word.place, column + " must be a whole number up to 2^53");
    if (column == "size") r.bytes = value;
    if (column == "count") r.count = value;
    const size_t point = word.text.find('.');
    const double step = point == std::string::npos ? 1 : std::pow(0.1, double(word.text.size() - point - 1));
    if (column == "time") {
      auto& half = r.halves.emplace_back();
      half.time_us = value * unit_us_, half.time_step = step * unit_us_;
    }
    if (r.halves.empty()) return;
    auto& half = r.halves.back();
    if (column == "algbw") half.algbw = value, half.algbw_step = step;
    if (column == "busbw") half.busbw = value, half.busbw_step = step;
    // Old versions print the largest deviation as "error", which is no count of wrong elements.
    if (column == "#wrong") half.wrong = value;
  }

  void finish() {
    end_row();
    const bool listed = !log_.tables.front().devices.empty();
    std::erase_if(log_.tables,
                  [](const NcclTable& t) { return !t.header.line && t.rows.empty() && !t.empty_rows; });
    if (log_.tables.empty())
      throw InputErrors(InputError{last_, "", "E-IMPORT-HEADER", "no header of a table in it", ""});
    for (const NcclTable& t : log_.tables) {
      if (t.rows.empty() && !t.empty_rows)
        throw InputErrors(InputError{last_, "", "E-IMPORT-ROW", "the table has no rows", ""});
      if (listed && t.devices.empty())
        throw InputErrors(InputError{t.header.line ? t.header : t.rows.front().place, "", "E-IMPORT-TWO",
                                     "a second table in one file, without a list of ranks of its own",
                                     "one table a file, or the list with each"});
    }
  }

  std::string file_;
  NcclLog log_;
  LineTags tags_;
  std::string_view raw_;
  int number_ = 0;
  Place last_;
  std::vector<std::string> columns_;  // of the table's header; empty before it
  std::set<int> seen_;                // ranks of the table
  std::vector<Field> row_;            // pieces of one, until it is whole
  double unit_us_ = 1;                // of its times
  bool ended_ = false;
};

}  // namespace

namespace {

bool holds_table(std::string_view text) {
  for (const auto raw : split(text, '\n')) {
    const CleanLine line = plain_line(raw);
    const auto words = words_of(line.text);
    const size_t row = row_in(words);
    if (header_in(words) < words.size() || row + 6 <= words.size()) return true;
  }
  return false;
}

bool begins_json(std::string_view text) {
  const size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos || text[start] != '[') return start < text.size() && text[start] == '{';
  const size_t next = text.find_first_not_of(" \t\r\n", start + 1);
  return next == std::string_view::npos || text[next] == '{' || text[next] == ']';
}

}  // namespace

std::optional<NcclLog> read_nccl(std::string_view text, const std::string& file) {
  if (holds_table(text)) return read_nccl_log(text, file);
  if (has(text, "\"algBw\"") || begins_json(text)) return read_nccl_json(text, file);
  if (has(text, "# nThread ") || has(text, "Avg bus bandwidth")) return read_nccl_log(text, file);
  return std::nullopt;
}

NcclLog read_nccl_log(std::string_view text, const std::string& file) { return Reader(file).read(text); }

}  // namespace rehearse
