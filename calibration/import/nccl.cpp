// Samples out of what nccl-tests printed.
#include <fmt/format.h>

#include <algorithm>

#include "calibration/import/parts.hpp"
#include "sim/base/text.hpp"
#include "sim/io/nccl_log.hpp"
#include "sim/spec/names.hpp"

namespace rehearse::calibration::importing {
namespace {

[[noreturn]] void refuse_at(const Place& place, std::string code, std::string message,
                            std::string hint = {}) {
  throw InputErrors(InputError{place, "", std::move(code), std::move(message), std::move(hint)});
}

std::string of_row(const NcclRow& row) { return row.path.empty() ? "" : row.path + ": "; }

CollectiveOp op_of(const NcclTable& table, const std::string& file, const ImportOptions& options) {
  const auto named = table.op();
  if (options.op && named && *named != *options.op)
    refuse_at(
        table.of_program, "E-IMPORT-OP",
        fmt::format("the log is of {}, not of {}", name_of(kOpNames, *named), name_of(kOpNames, *options.op)),
        "leave out --op");
  const auto op = options.op ? options.op : named ? named : op_in_file(file);
  if (!op)
    refuse_at(table.header, "E-IMPORT-OP", "neither log nor file name says which collective this is",
              "as in --op all_reduce");
  return *op;
}

void check_gpus(const NcclTable& table, const ImportOptions& options) {
  if (!options.gpu.empty()) return;
  for (const auto& d : table.devices)
    if (d.name != table.devices[0].name)
      refuse_at(d.place, "E-IMPORT-RANKS",
                fmt::format("rank {} is on {}, rank {} on {}", d.rank, quote(d.name), table.devices[0].rank,
                            quote(table.devices[0].name)),
                "if that is one kind of device: try --gpu NAME");
}

DType dtype_of(const NcclRow& row, const ImportOptions& options) {
  if (options.dtype) return *options.dtype;
  const auto dtype = nccl_dtype(row.type);
  if (dtype) return *dtype;
  Place at = row.place;
  if (row.type_column) at.column = row.type_column;
  refuse_at(at, "E-IMPORT-ROW", of_row(row) + "a type that the simulator does not know: " + quote(row.type),
            nccl_width(row.type) > 0 ? "if as many bytes of that take as long: try --dtype TYPE" : "");
}

// The row as a sample; of two halves the faster one. Rejected where either had wrong results.
Sample sample_of(const NcclRow& row, CollectiveOp op, const LoggedGroup& group, DType dtype) {
  CollectiveCall call{op, dtype, row.bytes, {}, false};
  call.group = {group.ranks, group.stride, group.concurrent, group.nodes, group.per_node()};
  Sample s;
  s.probe = "import";
  s.work = call;
  const double seconds = row.best_us() * 1e-6;
  s.device = {seconds, 0, seconds, seconds, 1};
  // Which of both was faster is no other point.
  if (row.best_us() < row.halves[0].time_us) s.flags.push_back("in-place");
  // A size that came out wrong once is not believed the other time.
  if (row.wrong() > 0) {
    s.status = Status::rejected;
    s.code = "wrong-result";
    s.reason = fmt::format("{} wrong elements", row.wrong());
  }
  return s;
}

void take_table(const NcclTable& table, const std::string& file, const ImportOptions& options,
                Imported& out) {
  if (!table.header.line)
    refuse_at(table.rows.front().place, "E-IMPORT-HEADER", "a row stands before any header",
              "keep the lines that begin with '#       size         count'");
  check_gpus(table, options);
  const LoggedGroup group = group_of(table, options.ranks, options.nodes);
  const CollectiveOp op = op_of(table, file, options);
  Environment& e = out.environment;
  if (e.device.empty()) e.device = group.gpu;
  if (!out.samples.empty() && (e.ranks != group.ranks || e.ranks_per_node != group.per_node()))
    refuse_at(group.place, "E-IMPORT-TWO",
              fmt::format("a table of {} ranks on {} nodes in a file of one of {} ranks", group.ranks,
                          group.nodes, e.ranks),
              "one file for each group");
  e.ranks = group.ranks, e.ranks_per_node = group.per_node();
  for (const NcclRow& row : table.rows) {
    const DType dtype = dtype_of(row, options);
    if (const auto found = contradiction(row, op, group.ranks))
      refuse_at(row.place, found->code, of_row(row) + found->message);
    Sample s = sample_of(row, op, group, dtype);
    // Where no row tells which size is wrong, none is believed.
    if (!table.failed.empty() && !table.rows_tell())
      s.status = Status::rejected, s.code = "wrong-result", s.reason = "the log says " + quote(table.failed);
    out.samples.push_back(std::move(s));
  }
  if (table.empty_rows) out.notes.push_back(fmt::format("{} rows of 0 bytes left out", table.empty_rows));
  if (group.hosts && group.hosts != group.nodes)
    out.notes.push_back(fmt::format("{}:{}: the log lists {} hosts, --nodes says {}: taken as said",
                                    group.place.file, group.place.line, group.hosts, group.nodes));
  if (group.concurrent)
    out.notes.push_back(fmt::format("groups of {} ranks, {} apart, ran at once: their samples are of that",
                                    group.ranks, group.stride));
}

}  // namespace

void take_nccl(const NcclLog& log, const std::string& file, const ImportOptions& options, Imported& out) {
  if (out.environment.collectives_library.empty()) out.environment.collectives_library = log.library;
  if (!log.started.empty()) out.environment.started = log.started;
  out.environment.variables.insert(log.variables.begin(), log.variables.end());
  for (const NcclTable& table : log.tables) take_table(table, file, options, out);
}

}  // namespace rehearse::calibration::importing
