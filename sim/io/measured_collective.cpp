#include "sim/io/measured_collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/file.hpp"
#include "sim/base/text.hpp"
#include "sim/io/log_tags.hpp"
#include "sim/io/nccl_log.hpp"
#include "sim/spec/names.hpp"

namespace rehearse {
namespace {

struct Line {
  std::string file;
  std::string text;
  int number = 0;

  Place place() const { return {file, number, 1, printable(text)}; }
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

CollectiveOp op_of(const NcclTable& table, const std::string& path, CollectiveOp asked) {
  return table.op().value_or(op_in_file(path).value_or(asked));
}

// Whether rows of an operation that nothing names can be of the one that is asked: redop is a reduction where
// it reduces. sendrecv_perf prints the word that it was given.
bool redop_fits(const NcclTable& table, CollectiveOp asked) {
  if (asked == CollectiveOp::send_recv || table.rows.empty() || table.rows[0].redop.empty()) return true;
  const bool reduces = asked == CollectiveOp::all_reduce || asked == CollectiveOp::reduce_scatter;
  return (table.rows[0].redop != "none") == reduces;
}

[[noreturn]] void refuse_at(const Place& place, const std::string& message, const std::string& hint = {}) {
  throw InputErrors(InputError{place, "", "E-AGAINST", message, hint});
}

const Place& place_of(const NcclTable& table) {
  if (table.op()) return table.of_program;
  return table.header.line || table.rows.empty() ? table.header : table.rows[0].place;
}

// The tables of the operation that is asked.
std::vector<const NcclTable*> tables_of(const NcclLog& log, const std::string& path, CollectiveOp asked) {
  std::vector<const NcclTable*> tables;
  for (const NcclTable& t : log.tables)
    if (op_of(t, path, asked) == asked) tables.push_back(&t);
  const std::string is = quote(shown_path(path)) + " is of ";
  if (tables.empty()) {
    const NcclTable& first = log.tables.front();
    refuse_at(place_of(first), is + std::string(name_of(kOpNames, op_of(first, path, asked))) +
                                   (first.op() ? "" : " by its name") + ", not " +
                                   std::string(name_of(kOpNames, asked)));
  }
  for (const NcclTable* t : tables)
    if (!t->op() && !redop_fits(*t, asked))
      refuse_at(t->rows[0].place,
                is + (t->rows[0].redop == "none" ? "an operation that does not reduce" : "one that reduces") +
                    ", not of " + std::string(name_of(kOpNames, asked)));
  return tables;
}

// By the log where it tells; else as asked.
LoggedGroup logged_group(const NcclTable& table, const AskedGroup& asked) {
  const std::string say_nodes = "--per-node G";
  try {
    return group_of(table, 0, 0, say_nodes);
  } catch (const InputErrors&) {
    if (!asked.ranks && !asked.per_node) throw;
  }
  const int listed = table.devices.empty() ? table.ranks : static_cast<int>(table.devices.size());
  const int ranks = asked.ranks ? asked.ranks : listed, nodes = asked.per_node ? ranks / asked.per_node : 0;
  LoggedGroup group = group_of(table, asked.ranks, nodes, say_nodes);
  if (!nodes && table.devices.empty()) group.nodes = table.nodes;  // as the caller spreads them
  return group;
}

void take_table(const NcclTable& table, CollectiveOp op, const AskedGroup& asked, MeasuredCollective& out) {
  const LoggedGroup group = logged_group(table, asked);
  if (out.ranks && (out.ranks != group.ranks || out.nodes != group.nodes))
    refuse_at(group.place,
              fmt::format("two tables of {}: of {} ranks on {} nodes and of {} on {}", name_of(kOpNames, op),
                          out.ranks, out.nodes, group.ranks, group.nodes),
              "one file for each group");
  out.ranks = group.ranks, out.nodes = group.nodes, out.gpu = group.gpu, out.of_ranks = group.place;
  if (!table.failed.empty() && !table.rows_tell())
    refuse_at(table.of_failed, "the log says " + quote(table.failed) + " and not of which rows",
              "times of wrong results say nothing: measure again");
  for (const NcclRow& row : table.rows) {
    if (row.wrong() > 0)
      refuse_at(row.place, fmt::format("{} elements of this size came out wrong", row.wrong()),
                "times of wrong results say nothing: measure again, or leave the row out");
    // Asked for another number of ranks, that is said first.
    const int ranks = asked.ranks ? asked.ranks : group.ranks;
    if (ranks == group.ranks)
      if (const auto found = contradiction(row, op, ranks))
        refuse_at(row.place, found->message,
                  "the row is damaged, or the log is of another operation or number of ranks");
    out.rows.push_back({row.bytes, row.best_us() * 1e-6, row.place});
  }
}

MeasuredCollective of_log(const NcclLog& log, const std::string& path, CollectiveOp op,
                          const AskedGroup& asked) {
  MeasuredCollective out;
  out.op = op;
  for (const NcclTable* table : tables_of(log, path, op))
    out.of_op = place_of(*table), take_table(*table, op, asked, out);
  // Of a size that stands twice, in cycles or tables, the faster.
  std::stable_sort(out.rows.begin(), out.rows.end(), [](const auto& a, const auto& b) {
    return std::pair(a.bytes, a.seconds) < std::pair(b.bytes, b.seconds);
  });
  out.rows.erase(std::unique(out.rows.begin(), out.rows.end(),
                             [](const auto& a, const auto& b) { return a.bytes == b.bytes; }),
                 out.rows.end());
  return out;
}

std::vector<Line> lines_of(std::string_view text, const std::string& file) {
  std::vector<Line> lines;
  for (const auto line : split(text, '\n'))
    lines.push_back({file, std::string(line.substr(0, 400)), static_cast<int>(lines.size()) + 1});
  return lines;
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
    const int n = line.whole(fields[nodes], "nodes"), g = line.whole(fields[each], "gpus_per_node");
    if (out.op && (*out.op != name->value || out.nodes != n || out.ranks != n * g))
      line.refuse("a table is of one operation and one group");
    out.op = name->value, out.nodes = n, out.ranks = n * g;
    out.of_op = out.of_ranks = line.place();
    double us = line.positive(fields[time], "time_us");
    if (!fields[in_place].empty()) us = std::min(us, line.positive(fields[in_place], "inplace_time_us"));
    out.rows.push_back({line.positive(fields[bytes], "bytes"), us * 1e-6, line.place()});
  }
}

}  // namespace

MeasuredCollective read_measured_collective(const std::string& path, CollectiveOp op,
                                            const AskedGroup& asked) {
  const std::string whole = read_file(path), shown = shown_path(path);
  const std::string_view text = without_bom(whole);
  MeasuredCollective out;
  try {
    if (text.starts_with("op,"))
      read_table(lines_of(text, shown), out);
    else if (const auto log = read_nccl(text, shown))
      out = of_log(*log, path, op, asked);
  } catch (InputErrors& found) {
    for (auto& error : found.errors) error.code = "E-AGAINST";
    throw InputErrors(std::move(found.errors));
  }
  if (out.rows.empty())
    lines_of(text, shown)
        .front()
        .refuse("no row of nccl-tests and no table of collectives in it",
                "the table's columns are "
                "op,ranks,nodes,gpus_per_node,bytes,time_us,algbw_GBps,busbw_GBps,inplace_time_us");
  return out;
}

}  // namespace rehearse
