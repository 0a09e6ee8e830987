// CSV tables of collectives, GEMMs, attention and memory-bound kernels, by the names of their columns.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "calibration/import/parts.hpp"
#include "sim/base/text.hpp"
#include "sim/spec/names.hpp"

namespace rehearse::calibration::importing {
namespace {

using Columns = std::vector<std::string_view>;

// The columns that tell a kind of table, those that it may have besides.
struct Kind {
  const char* name;
  Columns needed, known;
  Work (*work)(class Row& row);
};

std::vector<Word> fields_of(std::string_view line) {
  std::vector<Word> fields;
  for (size_t at = 0; at <= line.size();) {
    const size_t end = std::min(line.find(',', at), line.size());
    fields.push_back({line.substr(at, end - at), static_cast<int>(at) + 1});
    at = end + 1;
  }
  return fields;
}

// One row and what it means.
class Row {
 public:
  Row(const std::string& file, const ImportOptions& all, const Columns& columns, const Line& line)
      : options(all), file_(file), columns_(columns), line_(line), fields_(fields_of(line.text)) {
    if (fields_.size() != columns.size())
      refuse(fields_.back().column, "E-IMPORT-ROW",
             fmt::format("the row has {} fields, its header {}", fields_.size(), columns.size()),
             fields_.size() < columns.size() ? "a cut line" : "");
  }

  bool has(std::string_view column) const { return find(column) && !find(column)->text.empty(); }
  std::string text(std::string_view column) const { return std::string(at(column).text); }
  double number(std::string_view column) const {
    double value = 0;
    const Word& word = at(column);
    if (!read_number(word.text, value) || value <= 0)
      refuse(word.column, "E-IMPORT-ROW",
             std::string(column) + " must be a positive number, not " + quote(word.text));
    return value;
  }
  double number(std::string_view column, double fallback) const {
    return has(column) ? number(column) : fallback;
  }
  double whole(std::string_view column) const {
    const double value = number(column);
    if (!is_count(value))
      refuse(at(column).column, "E-IMPORT-ROW", std::string(column) + " must be a whole number up to 2^53");
    return value;
  }
  bool flag(std::string_view column) const {
    const std::string word = text(column);
    if (word == "1" || word == "True" || word == "true") return true;
    if (word == "0" || word == "False" || word == "false") return false;
    refuse(at(column).column, "E-IMPORT-ROW", std::string(column) + " must be 0 or 1, not " + quote(word));
  }
  DType dtype(DType fallback) const {
    if (options.dtype) return *options.dtype;
    if (!has("dtype")) return fallback;
    const std::string word = text("dtype");
    if (const auto* named = find_named(kDTypeNames, word)) return named->value;
    if (word == "fp16_mixed") return DType::fp16;
    refuse(at("dtype").column, "E-IMPORT-ROW", "a type that the simulator does not know: " + quote(word));
  }
  template <class T>
  T choose(std::string_view column, std::initializer_list<std::pair<std::string_view, T>> words) const {
    const std::string word = text(column);
    for (const auto& [name, value] : words)
      if (name == word) return value;
    refuse(at(column).column, "E-IMPORT-ROW", std::string(column) + " cannot be " + quote(word));
  }
  [[noreturn]] void refuse(int column, std::string code, std::string message, std::string hint = {}) const {
    importing::refuse(file_, line_, column, std::move(code), std::move(message), std::move(hint));
  }
  int column(std::string_view name) const { return at(name).column; }

  const ImportOptions& options;

 private:
  const Word* find(std::string_view column) const {
    const auto i = std::find(columns_.begin(), columns_.end(), column);
    return i == columns_.end() ? nullptr : &fields_[static_cast<size_t>(i - columns_.begin())];
  }
  const Word& at(std::string_view column) const { return *find(column); }

  const std::string& file_;
  const Columns& columns_;
  const Line& line_;
  std::vector<Word> fields_;
};

Work gemm(Row& row) {
  GemmCall call{row.dtype(DType::bf16), GemmRole::forward, {row.whole("m"), row.whole("n"), row.whole("k")}};
  call.shape.batch = row.has("batch") ? row.whole("batch") : row.has("b") ? row.whole("b") : 1;
  if (row.has("layout"))
    call.role = row.choose<GemmRole>(
        "layout",
        {{"TN", GemmRole::forward}, {"NN", GemmRole::input_gradient}, {"NT", GemmRole::weight_gradient}});
  if (row.has("accumulate")) call.accumulate = row.flag("accumulate");
  return call;
}

Work attention(Row& row) {
  AttentionCall call{row.dtype(DType::bf16), false, {}};
  call.shape = {row.whole("batch"),    row.whole("seq"),      row.whole("heads"),
                row.whole("kv_heads"), row.whole("head_dim"), row.flag("causal")};
  if (std::fmod(call.shape.heads, call.shape.kv_heads) != 0)
    row.refuse(row.column("kv_heads"), "E-IMPORT-ROW",
               fmt::format("{} heads do not share {} of keys evenly", call.shape.heads, call.shape.kv_heads));
  call.backward = row.choose<bool>("direction", {{"fwd", false}, {"bwd", true}});
  return call;
}

Work memory(Row& row) {
  std::string word = row.text("op");
  for (const auto& [theirs, ours] : row.options.kernels)
    if (theirs == word) word = ours;
  const auto* kernel = find_named(kMemoryKernels, word);
  if (!kernel)
    row.refuse(row.column("op"), "E-IMPORT-OP", "a kernel that the simulator does not know: " + quote(word),
               "try --kernel " + word + "=NAME");
  return MemoryCall{row.dtype(DType::bf16), kernel->value, {row.whole("rows"), row.whole("width")}};
}

Work collective(Row& row) {
  const std::string word = row.text("op");
  const auto* op = find_named(kOpNames, word);
  if (!op)
    row.refuse(row.column("op"), "E-IMPORT-OP", "not a collective that the simulator knows: " + quote(word));
  const double ranks = row.whole("ranks"), nodes = row.whole("nodes"), each = row.whole("gpus_per_node");
  if (ranks != nodes * each)
    row.refuse(row.column("ranks"), "E-IMPORT-RANKS", "ranks is not nodes x gpus_per_node");
  if (ranks > kMostRanks)
    row.refuse(row.column("ranks"), "E-IMPORT-RANKS", fmt::format("more than {} ranks", kMostRanks));
  if (ranks == 1)
    row.refuse(row.column("ranks"), "E-IMPORT-ONE-RANK", "a collective of one rank moves nothing");
  CollectiveCall call{op->value, row.dtype(DType::fp32), row.whole("bytes"), {}, false};
  call.group = {int(ranks), 1, false, int(nodes), int(each)};
  NcclRow check;
  check.bytes = call.bytes;
  // Six digits are printed of rates.
  check.halves = {{row.number("time_us"), row.number("algbw_GBps"), row.number("busbw_GBps"), 0, 0, 0}};
  if (const auto found = contradiction(check, call.op, int(ranks)))
    row.refuse(row.column("time_us"), found->code, found->message);
  return call;
}

const Kind kKinds[] = {
    {"collectives",
     {"op", "ranks", "nodes", "gpus_per_node", "bytes", "time_us", "algbw_GBps", "busbw_GBps"},
     {"inplace_time_us", "gpu"},
     collective},
    {"GEMMs",
     {"m", "n", "k", "time_us"},
     {"dtype", "tflops", "layout", "batch", "b", "accumulate", "out_dtype", "gpu"},
     gemm},
    {"attention",
     {"batch", "seq", "heads", "kv_heads", "head_dim", "causal", "direction", "time_us"},
     {"tflops", "dtype", "gpu"},
     attention},
    {"kernels", {"op", "rows", "width", "time_us"}, {"dtype", "gpu"}, memory},
};

bool among(const Columns& columns, std::string_view name) {
  return std::find(columns.begin(), columns.end(), name) != columns.end();
}

const Kind& kind_of(const Columns& columns, const std::string& file, const Line& line) {
  const auto matches = [&](const Kind& kind) {
    return std::all_of(kind.needed.begin(), kind.needed.end(),
                       [&](auto name) { return among(columns, name); });
  };
  const auto* kind = std::find_if(std::begin(kKinds), std::end(kKinds), matches);
  if (kind == std::end(kKinds))
    refuse(file, line, 1, "E-IMPORT-HEADER", "not the columns of a table that is known",
           "m,n,k,dtype,time_us or batch,seq,heads,... or op,rows,width,... or op,ranks,nodes,...");
  for (const auto& word : fields_of(line.text)) {
    if (!among(kind->needed, word.text) && !among(kind->known, word.text))
      refuse(file, line, word.column, "E-IMPORT-HEADER",
             fmt::format("a table of {} has no column {}", kind->name, quote(word.text)));
    if (std::count(columns.begin(), columns.end(), word.text) > 1)
      refuse(file, line, word.column, "E-IMPORT-HEADER", "the column stands twice: " + quote(word.text));
  }
  return *kind;
}

// Conditions on columns; a table of several devices needs one.
bool wanted(const Row& row) {
  bool of_gpu = !row.has("gpu");
  for (const auto& [column, value] : row.options.where) {
    if (column == "gpu") of_gpu = true;
    if (!row.has(column) || row.text(column) != value) return false;
  }
  if (!of_gpu)
    row.refuse(row.column("gpu"), "E-IMPORT-HEADER", "a table of several devices", "try --where gpu=NAME");
  // Gradients of weights are kept in fp32.
  return !(row.has("out_dtype") && row.has("layout") && row.text("layout") == "NT" &&
           row.text("out_dtype") != "fp32");
}

double seconds_of(const Row& row, const Work& work) {
  double time = row.number("time_us");
  if (row.has("inplace_time_us")) time = std::min(time, row.number("inplace_time_us"));
  if (row.has("tflops")) {
    const double tflops = row.number("tflops"), counted = flops_of(work) / row.number("time_us") * 1e-6;
    if (std::abs(tflops - counted) > 0.03 * counted + 0.01)
      row.refuse(row.column("tflops"), "E-IMPORT-ROW",
                 fmt::format("tflops {} is not FLOPs / time = {:.4g}", tflops, counted));
  }
  return time * 1e-6;
}

}  // namespace

void read_csv(const std::string& text, const std::string& file, const ImportOptions& options, Imported& out) {
  const auto lines = lines_of(text);
  if (!text.ends_with('\n'))
    refuse(file, lines.back(), 1, "E-IMPORT-ROW", "the last line has no end: the file may have been cut",
           "where it is whole, end it with a line break");
  Columns columns;
  for (const auto& word : fields_of(lines[0].text)) columns.push_back(word.text);
  const Kind& kind = kind_of(columns, file, lines[0]);
  for (const auto& [column, value] : options.where)
    if (!among(columns, column))
      refuse(file, lines[0], 1, "E-IMPORT-HEADER", "no column for --where " + column);
  int passed = 0;
  for (size_t i = 1; i < lines.size(); ++i) {
    Row row(file, options, columns, lines[i]);
    if (!wanted(row)) {
      ++passed;
      continue;
    }
    Sample s;
    s.probe = "import";
    s.work = kind.work(row);
    const double seconds = seconds_of(row, s.work);
    s.device = {seconds, 0, seconds, seconds, 1};
    out.samples.push_back(std::move(s));
  }
  if (out.samples.empty()) refuse(file, lines.back(), 1, "E-IMPORT-ROW", "the table has no rows");
  if (passed) out.notes.push_back(fmt::format("{} rows left out by --where", passed));
}

}  // namespace rehearse::calibration::importing
