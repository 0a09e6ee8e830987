// The table that nccl-tests prints, in its versions: with or without redop and root, "error" or "#wrong",
// per-iteration columns, a time stamp; inside of other output, after the tags of mpirun.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "calibration/import/parts.hpp"
#include "sim/base/text.hpp"
#include "sim/spec/names.hpp"

namespace rehearse::calibration::importing {
namespace {

bool is_integer(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Behind the tags that mpirun and srun put before a line: "[1,0]<stdout>:", "0: ".
size_t start_of(std::string_view line) {
  size_t at = std::min(line.find_first_not_of(" \t"), line.size());
  if (at < line.size() && line[at] == '[') {
    const size_t tag = line.find(">:", at);
    if (tag != std::string_view::npos && line.find("<std", at) < tag) at = tag + 2;
  } else {
    const size_t digits = line.find_first_not_of("0123456789", at);
    if (digits != std::string_view::npos && digits > at && line[digits] == ':') at = digits + 1;
  }
  return std::min(line.find_first_not_of(" \t", at), line.size());
}

struct Device {
  int rank;
  std::string host, name;
  int local;
};

class Reader {
 public:
  Reader(std::string file, const ImportOptions& options, Imported& out)
      : file_(std::move(file)), options_(options), out_(out) {}

  void read(const std::string& text) {
    for (const Line& line : lines_of(text)) take(line);
    if (columns_.empty())
      refuse(file_, {"", last_.number}, 1, "E-IMPORT-HEADER", "no header of a table in it");
    if (rows_ == 0) refuse(file_, last_, 1, "E-IMPORT-ROW", "the table has no rows");
    if (!failed_.empty()) reject_wrong(out_, rows_tell_, failed_);
    if (empty_rows_) out_.notes.push_back(fmt::format("{} rows of 0 bytes left out", empty_rows_));
  }

 private:
  void take(const Line& line) {
    last_ = line;
    const size_t start = start_of(line.text);
    std::string_view body = line.text.substr(start);
    const bool comment = body.starts_with('#');
    if (comment) body.remove_prefix(1);
    auto words = words_of(body);
    for (auto& word : words) word.column += static_cast<int>(start) + comment;
    if (words.empty()) return;
    if (words.size() > 1 && words[0].text == "size" && words[1].text == "count") return header(line, words);
    if (words[0].text == "Rank") return device(line, words);
    // What has a count and a type is a row, whatever its first field became.
    const bool broken_row = !columns_.empty() && !ended_ && words.size() > 3 && is_integer(words[1].text) &&
                            nccl_type(words[2].text).has_value();
    if (comment || (!is_integer(words[0].text) && !broken_row)) return remark(line, body);
    if (words.size() > 1 && words[1].text == "Rank") return;
    if (columns_.empty()) {
      if (words.size() >= 8 && is_integer(words[1].text))
        refuse(file_, line, words[0].column, "E-IMPORT-HEADER", "a row stands before any header",
               "keep the lines that begin with '#       size         count'");
      return;
    }
    if (!ended_) row(line, words);
  }

  // What a log says beside its table.
  void remark(const Line& line, std::string_view body) {
    const std::string_view starting = "Collective test starting: ";
    if (const size_t at = body.find(starting); at != std::string_view::npos)
      program_ = body.substr(at + starting.size());
    if (const size_t at = body.find("nccl-library="); at != std::string_view::npos)
      version(body.substr(at + 13));
    if (const size_t at = body.find("_perf");
        at != std::string_view::npos && program_.empty() && columns_.empty()) {
      const size_t begin = body.substr(0, at).find_last_of(" \t/");
      program_ = body.substr(begin == std::string_view::npos ? 0 : begin + 1, at);
    }
    const bool wrong = body.find("Out of bounds values") != std::string_view::npos ||
                       body.find("Bitwise mismatches") != std::string_view::npos;
    if (wrong && body.find("FAILED") != std::string_view::npos)
      failed_ = "the log says " + quote(body.substr(body.find_first_not_of(" \t")));
    const bool sum = wrong || body.find("Avg bus bandwidth") != std::string_view::npos;
    if (!sum) return;
    if (columns_.empty())
      refuse(file_, line, 1, "E-IMPORT-HEADER", "the table's end stands before any header");
    ended_ = rows_ > 0;
  }

  // 22903 = 2.29.3
  void version(std::string_view digits) {
    int code = 0;
    for (const char c : digits.substr(0, std::min<size_t>(digits.find_first_not_of("0123456789"), 9)))
      code = code * 10 + (c - '0');
    if (out_.environment.collectives_library.empty() && code > 0)
      out_.environment.collectives_library =
          fmt::format("NCCL {}.{}.{}", code / 10000, code / 100 % 100, code % 100);
  }

  // "Rank  0 Group  0 Pid 1887 on worker-1 device  0 [0x8d] NVIDIA H100 80GB HBM3"
  void device(const Line& line, const std::vector<Word>& words) {
    Device d{-1, "", "", -1};
    for (size_t i = 0; i + 1 < words.size(); ++i) {
      const std::string_view word = words[i].text, next = words[i + 1].text;
      if (word == "Rank" && is_integer(next)) d.rank = std::stoi(std::string(next.substr(0, 9)));
      if (word == "on") d.host = next;
      if (word == "device" && is_integer(next)) {
        d.local = std::stoi(std::string(next.substr(0, 9)));
        for (size_t j = i + 3; j < words.size(); ++j)
          d.name += (d.name.empty() ? "" : " ") + std::string(words[j].text);
        break;
      }
    }
    if (d.rank < 0 || d.local < 0) return;
    if (!columns_.empty())
      refuse(file_, line, words[0].column, "E-IMPORT-TWO", "a second list of ranks: two logs in one file");
    if (!seen_.insert(d.rank).second)
      refuse(file_, line, words[0].column, "E-IMPORT-RANKS",
             fmt::format("rank {} stands twice: every process ran on its own", d.rank),
             "nccl-tests was built without MPI=1");
    if (options_.gpu.empty() && !devices_.empty() && d.name != devices_[0].name)
      refuse(file_, line, words[0].column, "E-IMPORT-RANKS",
             fmt::format("rank {} is on {}, rank {} on {}", d.rank, quote(d.name), devices_[0].rank,
                         quote(devices_[0].name)),
             "say --gpu NAME if that is one kind of device");
    devices_.push_back(std::move(d));
  }

  void header(const Line& line, const std::vector<Word>& words) {
    if (!columns_.empty())
      refuse(file_, line, words[0].column, "E-IMPORT-TWO", "a second table in one file", "one table a file");
    static constexpr std::string_view kKnown[] = {"size",  "count", "type",  "redop", "root",
                                                  "time",  "algbw", "busbw", "error", "#wrong",
                                                  "i_min", "i_max", "i_p99", "i_cv%", "timestamp"};
    for (const auto& word : words) {
      if (word.text == "cputime")
        refuse(file_, line, word.column, "E-IMPORT-HEADER", "the table holds times of the CPU",
               "run nccl-tests without -C");
      if (std::find(std::begin(kKnown), std::end(kKnown), word.text) == std::end(kKnown))
        refuse(file_, line, word.column, "E-IMPORT-HEADER",
               "a column that nccl-tests does not print: " + quote(word.text));
      columns_.emplace_back(word.text);
    }
    const auto of = [&](const char* name) { return std::count(columns_.begin(), columns_.end(), name); };
    if (of("type") != 1 || of("time") < 1 || of("time") > 2 || of("algbw") != of("time") ||
        of("busbw") != of("time"))
      refuse(file_, line, words[0].column, "E-IMPORT-HEADER", "the header lacks columns",
             "size count type (redop) (root) time algbw busbw error, the last four twice");
    settle(line);
  }

  // Ranks and operation, before the first row.
  void settle(const Line& line) {
    int ranks = static_cast<int>(devices_.size());
    std::map<std::string, int> hosts;
    for (const auto& d : devices_) ++hosts[d.host];
    int nodes = options_.nodes ? options_.nodes : static_cast<int>(hosts.size());
    if (options_.ranks) ranks = options_.ranks, nodes = options_.nodes ? options_.nodes : 1;
    if (ranks == 0)
      refuse(file_, line, 1, "E-IMPORT-RANKS", "the log lists no ranks", "say --ranks N and --nodes N");
    if (ranks == 1) refuse(file_, line, 1, "E-IMPORT-ONE-RANK", "a collective of one rank moves nothing");
    if (ranks % nodes)
      refuse(file_, line, 1, "E-IMPORT-RANKS",
             fmt::format("{} ranks do not divide over {} nodes", ranks, nodes));
    for (const auto& [host, count] : hosts)
      if (!options_.ranks && !options_.nodes && count != ranks / nodes)
        refuse(file_, line, 1, "E-IMPORT-RANKS", "nodes have different numbers of ranks");
    auto op = options_.op;
    if (!op) op = op_in(program_);
    if (!op) op = op_in(file_);
    if (!op)
      refuse(file_, line, 1, "E-IMPORT-OP", "neither log nor file name says which collective this is",
             "say --op all_reduce");
    job_ = {*op, nodes, ranks / nodes};
    out_.environment.ranks = ranks;
    out_.environment.ranks_per_node = ranks / nodes;
    if (out_.environment.device.empty() && !devices_.empty()) out_.environment.device = devices_[0].name;
  }

  void row(const Line& line, const std::vector<Word>& words) {
    const size_t stamp = columns_.back() == "timestamp" ? 1 : 0, expected = columns_.size() + stamp;
    if (words.size() != expected)
      refuse(file_, line, words.back().column, "E-IMPORT-ROW",
             fmt::format("the row has {} fields, its header {}", words.size(), expected),
             words.size() < expected ? "a cut line" : "");
    NcclRow r;
    for (size_t i = 0; i < columns_.size(); ++i) field(line, columns_[i], words[i], r);
    ++rows_;
    if (r.bytes == 0) {
      ++empty_rows_;
      return;
    }
    const auto dtype = nccl_type(r.type);
    if (!dtype)
      refuse(file_, line, words[2].column, "E-IMPORT-ROW",
             "a type that the simulator does not know: " + quote(r.type));
    for (const auto& half : r.halves) rows_tell_ |= half.wrong > 0;
    const double width = rehearse::bytes_of(*dtype), ranks = job_.nodes * job_.per_node;
    if (r.count * width != r.bytes && r.count * width * ranks != r.bytes)
      refuse(file_, line, words[0].column, "E-IMPORT-ROW", "the size is not count x the width of the type");
    if (const auto found = contradiction(r, job_.op, static_cast<int>(ranks)))
      refuse(file_, line, words[0].column, found->code, found->message);
    out_.samples.push_back(sample_of(r, job_, options_.dtype.value_or(*dtype)));
  }

  void field(const Line& line, const std::string& column, const Word& word, NcclRow& r) {
    double value = 0;
    if (column == "type") {
      r.type = word.text;
      return;
    }
    if (column == "redop" || column == "root" || column == "timestamp") return;
    const bool unchecked = column == "error" || column == "#wrong";
    if (!read_number(word.text, value) && !(unchecked && word.text == "N/A"))
      refuse(file_, line, word.column, "E-IMPORT-ROW", column + " is no number: " + quote(word.text));
    if ((column == "size" || column == "count") && !is_count(value))
      refuse(file_, line, word.column, "E-IMPORT-ROW", column + " must be a whole number up to 2^53");
    if (column == "size") r.bytes = value;
    if (column == "count") r.count = value;
    if (column == "time") r.halves.emplace_back().time_us = value;
    if (r.halves.empty()) return;
    const size_t point = word.text.find('.');
    double step = 1;
    for (size_t i = point; point != std::string_view::npos && i + 1 < word.text.size(); ++i) step /= 10;
    auto& half = r.halves.back();
    if (column == "algbw") half.algbw = value, half.algbw_step = step;
    if (column == "busbw") half.busbw = value, half.busbw_step = step;
    // Old versions print the largest deviation as "error", which is no count of wrong elements.
    if (column == "#wrong") half.wrong = value;
  }

  std::string file_;
  const ImportOptions& options_;
  Imported& out_;
  std::vector<std::string> columns_;
  std::vector<Device> devices_;
  std::set<int> seen_;
  std::string program_;
  Job job_{};
  Line last_{"", 1};
  int rows_ = 0, empty_rows_ = 0;
  bool ended_ = false, rows_tell_ = false;  // which size has wrong results
  std::string failed_;                      // the log's last word on them
};

}  // namespace

void read_nccl_text(const std::string& text, const std::string& file, const ImportOptions& options,
                    Imported& out) {
  Reader(file, options, out).read(text);
}

}  // namespace rehearse::calibration::importing
