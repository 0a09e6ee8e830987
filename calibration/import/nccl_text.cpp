// The table that nccl-tests prints, in its versions: with or without redop and root, "error" or "#wrong",
// per-iteration columns, a time stamp; inside of other output, after the tags of mpirun.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "calibration/import/parts.hpp"
#include "sim/base/text.hpp"
#include "sim/io/nccl_log.hpp"
#include "sim/spec/names.hpp"

namespace rehearse::calibration::importing {
namespace {

bool is_integer(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

class Reader {
 public:
  Reader(std::string file, const ImportOptions& options, Imported& out)
      : file_(std::move(file)), options_(options), out_(out) {}

  void read(const std::string& text) {
    for (const Line& line : lines_of(text)) take(line);
    if (columns_.empty())
      refuse(file_, {"", last_.number}, 1, "E-IMPORT-HEADER", "no header of a table in it");
    if (rows_ == 0) refuse(file_, last_, 1, "E-IMPORT-ROW", "the table has no rows");
    if (!remarks_.failed.empty()) reject_wrong(out_, rows_tell_, "the log says " + quote(remarks_.failed));
    if (out_.environment.collectives_library.empty()) out_.environment.collectives_library = remarks_.library;
    if (empty_rows_) out_.notes.push_back(fmt::format("{} rows of 0 bytes left out", empty_rows_));
  }

 private:
  void take(const Line& line) {
    last_ = line;
    const LogLine read = log_line(line.text);
    const auto& words = read.words;
    if (words.empty()) return;
    if (words.size() > 1 && words[0].text == "size" && words[1].text == "count") return header(line, words);
    if (words[0].text == "Rank") return device(line, read);
    // What has a count and a type is a row, whatever its first field became.
    const bool broken_row = !columns_.empty() && !ended_ && words.size() > 3 && is_integer(words[1].text) &&
                            nccl_type(words[2].text).has_value();
    if (read.comment || (!is_integer(words[0].text) && !broken_row)) return remark(line, read.body);
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
    if (!remarks_.note(body, !columns_.empty())) return;
    if (columns_.empty())
      refuse(file_, line, 1, "E-IMPORT-HEADER", "the table's end stands before any header");
    ended_ = rows_ > 0;
  }

  void device(const Line& line, const LogLine& read) {
    auto found = log_device(read);
    if (!found) return;
    const LogDevice& d = *found;
    const int column = read.words[0].column;
    if (!columns_.empty())
      refuse(file_, line, column, "E-IMPORT-TWO", "a second list of ranks: two logs in one file");
    if (!seen_.insert(d.rank).second)
      refuse(file_, line, column, "E-IMPORT-RANKS",
             fmt::format("rank {} stands twice: every process ran on its own", d.rank),
             "nccl-tests was built without MPI=1");
    if (options_.gpu.empty() && !devices_.empty() && d.name != devices_[0].name)
      refuse(file_, line, column, "E-IMPORT-RANKS",
             fmt::format("rank {} is on {}, rank {} on {}", d.rank, quote(d.name), devices_[0].rank,
                         quote(devices_[0].name)),
             "say --gpu NAME if that is one kind of device");
    devices_.push_back(*std::move(found));
  }

  void header(const Line& line, const std::vector<LogWord>& words) {
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
    if (!op) op = op_in(remarks_.program);
    if (!op) op = op_in(file_);
    if (!op)
      refuse(file_, line, 1, "E-IMPORT-OP", "neither log nor file name says which collective this is",
             "say --op all_reduce");
    job_ = {*op, nodes, ranks / nodes};
    out_.environment.ranks = ranks;
    out_.environment.ranks_per_node = ranks / nodes;
    if (out_.environment.device.empty() && !devices_.empty()) out_.environment.device = devices_[0].name;
  }

  void row(const Line& line, const std::vector<LogWord>& words) {
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

  void field(const Line& line, const std::string& column, const LogWord& word, NcclRow& r) {
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
  std::vector<LogDevice> devices_;
  std::set<int> seen_;
  LogRemarks remarks_;
  Job job_{};
  Line last_{"", 1};
  int rows_ = 0, empty_rows_ = 0;
  bool ended_ = false, rows_tell_ = false;  // which size has wrong results
};

}  // namespace

void read_nccl_text(const std::string& text, const std::string& file, const ImportOptions& options,
                    Imported& out) {
  Reader(file, options, out).read(text);
}

}  // namespace rehearse::calibration::importing
