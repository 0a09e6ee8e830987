#include "sim/io/nccl_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "sim/base/text.hpp"
#include "sim/io/log_tags.hpp"

namespace rehearse {
namespace {

struct Word {
  std::string_view text;
  size_t at;
};

std::vector<Word> words_of(std::string_view text, size_t at = 0) {
  std::vector<Word> words;
  while ((at = text.find_first_not_of(" \t", at)) != std::string_view::npos) {
    const size_t end = std::min(text.find_first_of(" \t", at), text.size());
    words.push_back({text.substr(at, end - at), at});
    at = end;
  }
  return words;
}

bool is_integer(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}
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

// Of "size count type", which only a header has; none: size().
size_t header_in(const std::vector<Word>& words) {
  for (size_t i = 0; i + 2 < words.size(); ++i)
    if (words[i].text == "size" && words[i + 1].text == "count" && words[i + 2].text == "type") return i;
  return words.size();
}

bool looks_like_row(const std::vector<Word>& words) {
  return words.size() >= 6 && is_integer(words[0].text) && is_integer(words[1].text) &&
         nccl_width(words[2].text) > 0;
}

// What rows without a header hold, by their number of fields: size count type [redop] [root], then one or two
// of time algbw busbw [#wrong].
std::vector<std::string> presumed_columns(const std::vector<Word>& words) {
  std::vector<std::string> columns{"size", "count", "type"};
  if (!parse_number(words[3].text).value) columns.emplace_back("redop");
  size_t left = words.size() - columns.size();
  if (left == 9 || left == 7 || left == 5) columns.emplace_back("root"), --left;
  const size_t half = left == 3 || left == 6 ? 3 : 4;
  if (left != half && left != 2 * half) return {};
  for (size_t i = 0; i < left; ++i)
    columns.emplace_back(std::array{"time", "algbw", "busbw", "#wrong"}.at(i % half));
  return columns;
}

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
  bool begun() { return !columns_.empty(); }
  Place place(int column) const { return {file_, number_, column, printable(raw_.substr(0, 400))}; }
  [[noreturn]] void refuse(int column, const char* code, std::string message, std::string hint = {}) const {
    throw InputErrors(InputError{place(column), "", code, std::move(message), std::move(hint)});
  }
  void next_table() {
    if (begun()) log_.tables.emplace_back(), columns_.clear(), ended_ = false, seen_.clear();
  }

  void take(const CleanLine& line) {
    const auto words = words_of(line.text);
    if (const size_t at = header_in(words); at < words.size()) return header(line, words, at);
    if (device(line, words)) return;
    if (has_mark(line.text)) return remark(line.text);
    const CleanLine untagged = tags_.known() ? tags_.without(line) : line;
    if (!row(untagged, line)) remark(untagged.text);
  }

  // Whether a '#' begins what the line says.
  bool has_mark(std::string_view text) {
    const size_t mark = text.find('#');
    if (mark == std::string_view::npos) return false;
    const auto words = words_of(text.substr(0, mark));
    return !looks_like_row(words);
  }

  void header(const CleanLine& line, const std::vector<Word>& words, size_t first) {
    next_table();
    const std::string_view before(line.text.data(), words[first].at);
    const size_t mark = before.rfind('#');
    tags_.learn(before.substr(0, mark == std::string_view::npos ? before.size() : mark));
    static constexpr std::string_view kKnown[] = {"size",  "count", "type",  "redop", "root",
                                                  "time",  "algbw", "busbw", "error", "#wrong",
                                                  "i_min", "i_max", "i_p99", "i_cv%", "timestamp"};
    table().header = place(line.column(words[first].at));
    for (size_t i = first; i < words.size(); ++i) {
      const int column = line.column(words[i].at);
      if (words[i].text == "cputime")
        refuse(column, "E-IMPORT-HEADER", "the table holds times of the CPU", "run nccl-tests without -C");
      if (std::find(std::begin(kKnown), std::end(kKnown), words[i].text) == std::end(kKnown))
        refuse(column, "E-IMPORT-HEADER", "a column that nccl-tests does not print: " + quote(words[i].text));
      columns_.emplace_back(words[i].text);
    }
    const auto of = [&](const char* name) { return std::count(columns_.begin(), columns_.end(), name); };
    if (of("time") < 1 || of("time") > 2 || of("algbw") != of("time") || of("busbw") != of("time"))
      refuse(table().header.column, "E-IMPORT-HEADER", "the header lacks columns",
             "size count type (redop) (root) time algbw busbw error, the last four twice");
  }

  bool device(const CleanLine& line, const std::vector<Word>& words) {
    const auto rank = std::find_if(words.begin(), words.end(),
                                   [](const Word& w) { return w.text == "Rank" || w.text == "#Rank"; });
    if (words.end() - rank < 2 || !is_integer(rank[1].text)) return false;
    const size_t on = line.text.find(" on ", rank->at);
    size_t device = on == std::string::npos ? on : line.text.find(" device ", on + 3);
    std::vector<Word> behind;
    for (; device != std::string::npos; device = line.text.find(" device ", device + 1)) {
      behind = words_of(line.text, device + 8);
      if (!behind.empty() && is_integer(behind[0].text)) break;
    }
    if (device == std::string::npos) return false;
    LogDevice d;
    d.rank = small_integer(rank[1].text);
    for (const Word* w = &*rank; w + 1 <= &words.back(); ++w)
      if (w->text == "Group" && is_integer(w[1].text)) {
        d.group = small_integer(w[1].text);
        break;
      }
    d.host = trimmed(line.text.substr(on + 4, std::max(device, on + 4) - on - 4));
    d.local = small_integer(behind[0].text);
    for (size_t i = 2; i < behind.size(); ++i)
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

  // True where the line is a row, or would be one of a table that has ended.
  bool row(const CleanLine& untagged, const CleanLine& line) {
    const CleanLine* is = &untagged;
    auto words = words_of(untagged.text);
    const size_t stamp = begun() && columns_.back() == "timestamp" ? 1 : 0;
    if (words.size() != columns_.size() + stamp) {
      // A tag that only looks like one is a figure of the row.
      auto whole = words_of(line.text);
      if (begun() ? whole.size() == columns_.size() + stamp && looks_like_row(whole) : looks_like_row(whole))
        is = &line, words = std::move(whole);
    }
    if (words.empty()) return false;
    const bool broken =
        begun() && words.size() > 3 && is_integer(words[1].text) && nccl_width(words[2].text) > 0;
    if (!is_integer(words[0].text) && !broken) return false;
    if (!begun()) {
      if (!looks_like_row(words)) return false;
      columns_ = presumed_columns(words);
      if (columns_.empty())
        refuse(is->column(words[0].at), "E-IMPORT-HEADER", "a row stands before any header",
               "keep the lines that begin with '#       size         count'");
    }
    if (!ended_) take_row(*is, words);
    return true;
  }

  void take_row(const CleanLine& line, const std::vector<Word>& words) {
    const size_t expected = columns_.size() + (columns_.back() == "timestamp" ? 1 : 0);
    if (words.size() != expected)
      refuse(line.column(words.back().at), "E-IMPORT-ROW",
             fmt::format("the row has {} fields, its header {}", words.size(), expected),
             words.size() < expected ? "a cut line" : "");
    NcclRow r;
    r.place = place(line.column(words[0].at)), r.type_column = line.column(words[2].at);
    for (size_t i = 0; i < columns_.size(); ++i) field(line, columns_[i], words[i], r);
    if (r.bytes == 0)
      ++table().empty_rows;
    else
      table().rows.push_back(std::move(r));
  }

  void field(const CleanLine& line, const std::string& column, const Word& word, NcclRow& r) {
    if (column == "type") r.type = word.text;
    if (column == "redop") r.redop = word.text;
    if (column == "type" || column == "redop" || column == "root" || column == "timestamp") return;
    const auto parsed = parse_number(word.text);
    const bool unchecked = column == "error" || column == "#wrong";
    if ((!parsed.value || *parsed.value < 0) && !(unchecked && word.text == "N/A"))
      refuse(line.column(word.at), "E-IMPORT-ROW", column + " is no number: " + quote(word.text));
    const double value = parsed.value.value_or(0);
    if ((column == "size" || column == "count") && !is_count(value))
      refuse(line.column(word.at), "E-IMPORT-ROW", column + " must be a whole number up to 2^53");
    if (column == "size") r.bytes = value;
    if (column == "count") r.count = value;
    if (column == "time") r.halves.emplace_back().time_us = value;
    if (r.halves.empty()) return;
    const size_t point = word.text.find('.');
    const double step =
        point == std::string_view::npos ? 1 : std::pow(0.1, double(word.text.size() - point - 1));
    auto& half = r.halves.back();
    if (column == "algbw") half.algbw = value, half.algbw_step = step;
    if (column == "busbw") half.busbw = value, half.busbw_step = step;
    // Old versions print the largest deviation as "error", which is no count of wrong elements.
    if (column == "#wrong") half.wrong = value;
  }

  void finish() {
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
  bool ended_ = false;
};

}  // namespace

double NcclRow::wrong() const {
  double most = 0;
  for (const auto& half : halves) most = std::max(most, half.wrong);
  return most;
}

double NcclRow::best_us() const {
  double best = halves.front().time_us;
  for (const auto& half : halves) best = std::min(best, half.time_us);
  return best;
}

std::optional<CollectiveOp> NcclTable::op() const { return op_in(program); }

bool NcclTable::rows_tell() const {
  return std::any_of(rows.begin(), rows.end(), [](const NcclRow& r) { return r.wrong() > 0; });
}

bool holds_nccl_table(std::string_view text) {
  for (const auto line : split(text, '\n')) {
    const auto words = words_of(line);
    if (header_in(words) < words.size() || looks_like_row(words)) return true;
  }
  return has(text, "# nThread ") || has(text, "Avg bus bandwidth");
}

NcclLog read_nccl_log(std::string_view text, const std::string& file) { return Reader(file).read(text); }

double nccl_width(std::string_view word) {
  static constexpr std::pair<std::string_view, double> kWords[] = {
      {"int8", 1},   {"uint8", 1},  {"char", 1},        {"int32", 4},      {"int", 4},
      {"uint32", 4}, {"int64", 8},  {"uint64", 8},      {"double", 8},     {"fp64", 8},
      {"float", 4},  {"fp32", 4},   {"half", 2},        {"fp16", 2},       {"bfloat16", 2},
      {"bf16", 2},   {"f8e4m3", 1}, {"f8e5m2", 1},      {"fp8_e4m3", 1},   {"fp8_e5m2", 1},
      {"int16", 2},  {"uint16", 2}, {"float8_e4m3", 1}, {"float8_e5m2", 1}};
  for (const auto& [name, width] : kWords)
    if (name == word) return width;
  return 0;
}

std::optional<DType> nccl_dtype(std::string_view word) {
  if (word.starts_with("f8") || word.starts_with("fp8") || word.starts_with("float8")) return DType::fp8;
  if (word == "float" || word == "fp32") return DType::fp32;
  if (word == "half" || word == "fp16") return DType::fp16;
  if (word == "bfloat16" || word == "bf16") return DType::bf16;
  return std::nullopt;
}

std::optional<CollectiveOp> op_in(std::string_view name) {
  static constexpr std::pair<std::string_view, CollectiveOp> kWords[] = {
      {"allreduce", CollectiveOp::all_reduce},         {"allgather", CollectiveOp::all_gather},
      {"reducescatter", CollectiveOp::reduce_scatter}, {"alltoall", CollectiveOp::all_to_all},
      {"sendrecv", CollectiveOp::send_recv},           {"broadcast", CollectiveOp::broadcast}};
  std::string plain;
  for (const char c : name)
    if (c != '_' && c != '-') plain += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  if (has(plain, "alltoallv")) return std::nullopt;
  for (const auto& [word, op] : kWords)
    if (has(plain, word)) return op;
  return std::nullopt;
}

std::optional<CollectiveOp> op_in_file(std::string_view path) {
  return op_in(path.substr(path.rfind('/') + 1));  // npos + 1 is 0
}

std::optional<GpuArchitecture> architecture_in(std::string_view device) {
  static constexpr std::pair<std::string_view, GpuArchitecture> kWords[] = {
      {"V100", GpuArchitecture::volta},     {"A100", GpuArchitecture::ampere},
      {"A800", GpuArchitecture::ampere},    {"A30", GpuArchitecture::ampere},
      {"A40", GpuArchitecture::ampere},     {"H100", GpuArchitecture::hopper},
      {"H800", GpuArchitecture::hopper},    {"H200", GpuArchitecture::hopper},
      {"H20", GpuArchitecture::hopper},     {"GH200", GpuArchitecture::hopper},
      {"B100", GpuArchitecture::blackwell}, {"B200", GpuArchitecture::blackwell},
      {"B300", GpuArchitecture::blackwell}, {"GB200", GpuArchitecture::blackwell},
      {"GB300", GpuArchitecture::blackwell}};
  for (size_t at = 0; (at = device.find_first_not_of(" -_/", at)) != std::string_view::npos;) {
    const size_t end = std::min(device.find_first_of(" -_/", at), device.size());
    for (const auto& [word, architecture] : kWords)
      if (device.substr(at, end - at) == word) return architecture;
    at = end;
  }
  return std::nullopt;
}

}  // namespace rehearse
