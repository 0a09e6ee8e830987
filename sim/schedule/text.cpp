#include "sim/base/text.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "sim/schedule/read_transfers.hpp"
#include "sim/schedule/shape.hpp"
#include "sim/schedule/transfers.hpp"

namespace rehearse {

std::string short_name(const Action& a) {
  return std::to_string(a.chunk.value) + kind_letter(a.kind) + std::to_string(a.micro.value);
}

static constexpr std::string_view kHeader = "stage,kind,chunk,micro";

std::string to_csv(const Schedule& schedule) {
  std::string text = std::string(kHeader) + "\n";
  for (size_t s = 0; s < schedule.stages.size(); ++s)
    for (const Action& a : schedule.stages[s])
      text += std::to_string(s) + "," + kind_letter(a.kind) + "," + std::to_string(a.chunk.value) + "," +
              std::to_string(a.micro.value) + "\n";
  return text;
}

static void write_step(std::string& row, const TransferStep& step) {
  row += std::to_string(step.action.chunk.value) + (step.send ? "SEND_" : "RECV_") +
         (step.action.kind == ActionKind::forward ? "F" : "B") + std::to_string(step.action.micro.value) +
         ",";
}

static std::string compact(const Schedule& schedule, const TransferSteps& transfers) {
  std::string text;
  for (size_t s = 0; s < schedule.stages.size(); ++s) {
    const auto& order = schedule.stages[s];
    std::string row;
    size_t step = 0;
    for (size_t i = 0; i <= order.size(); ++i) {
      while (!transfers.empty() && step < transfers[s].size() && transfers[s][step].before == int(i))
        write_step(row, transfers[s][step++]);
      if (i < order.size()) row += short_name(order[i]) + ",";
    }
    if (!row.empty()) row.pop_back();
    text += row + "\n";
  }
  return text;
}

std::string to_compact_csv(const Schedule& schedule) { return compact(schedule, {}); }
std::string to_lowered_csv(const Schedule& schedule) { return compact(schedule, transfers_of(schedule)); }

namespace {

struct Cell {
  std::string_view text;  // trimmed
  int line, column;       // from 1
};
using Row = std::vector<Cell>;

std::string_view trimmed(std::string_view text) {
  const size_t from = text.find_first_not_of(" \t");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t") - from + 1);
}

// Reads one file; what is wrong with it is gathered in `errors`.
struct Reader {
  std::string file;
  std::vector<std::string_view> lines;
  std::vector<InputError> errors;
  Schedule schedule;
  std::vector<std::vector<Cell>> cells;  // cells[stage][i]: where schedule.stages[stage][i] stands
  std::vector<std::vector<CommCell>> communication;  // [stage]

  Place place(int line, int column) const {
    return {file, line, column, std::string(lines[size_t(line) - 1])};
  }
  void error(const Cell& at, const char* code, std::string message, std::string hint) {
    errors.push_back({place(at.line, at.column), "schedule", code, std::move(message), std::move(hint)});
  }
};

std::vector<std::string_view> split_lines(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // spreadsheets put a byte-order mark there
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

// The rows that are not blank.
std::vector<Row> split_rows(const std::vector<std::string_view>& lines) {
  std::vector<Row> rows;
  for (size_t n = 0; n < lines.size(); ++n) {
    const std::string_view line = lines[n];
    if (trimmed(line).empty()) continue;
    Row row;
    for (size_t from = 0; from <= line.size();) {
      const size_t comma = std::min(line.find(',', from), line.size());
      const std::string_view text = trimmed(line.substr(from, comma - from));
      const size_t column = text.empty() ? from : size_t(text.data() - line.data());
      row.push_back({text, int(n) + 1, int(column) + 1});
      from = comma + 1;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::optional<int> whole_number(std::string_view text) {
  int value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || text[0] == '-' || failed != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::optional<ActionKind> kind_of(std::string_view text) {
  if (text.size() != 1) return std::nullopt;
  const size_t at = std::string_view("FBIW").find(text[0]);
  if (at == std::string_view::npos) return std::nullopt;
  return ActionKind(at);
}

void add(Reader& reader, int stage, ActionKind kind, int chunk, int micro, const Cell& cell) {
  reader.schedule.stages[size_t(stage)].push_back({kind, ChunkId(chunk), MicroBatch(micro)});
  reader.cells[size_t(stage)].push_back(cell);
}

void read_long_row(Reader& reader, const Row& row) {
  if (row.size() != 4) {
    reader.error(row[0], "E-SCHEDULE-CSV", "a row has 4 cells, this one " + std::to_string(row.size()),
                 std::string(kHeader));
    return;
  }
  const auto kind = kind_of(row[1].text);
  if (!kind)
    reader.error(row[1], "E-SCHEDULE-CSV", quote(row[1].text) + " is no kind of action",
                 "F, B (whole backward), I (input gradient) or W (weight gradient)");
  bool good = kind.has_value();
  int value[4] = {};
  for (size_t k : {0, 2, 3}) {
    const auto number = whole_number(row[k].text);
    if (!number) reader.error(row[k], "E-SCHEDULE-CSV", quote(row[k].text) + " is no whole number", "");
    good = good && number;
    value[k] = number.value_or(0);
  }
  if (!good) return;
  if (value[0] >= reader.schedule.shape.stages) {
    reader.error(row[0], "E-SCHEDULE-RANGE", "there is no stage " + std::to_string(value[0]),
                 "stages go from 0 to " + std::to_string(reader.schedule.shape.stages - 1));
    return;
  }
  add(reader, value[0], *kind, value[2], value[3], row[0]);
}

void read_cell(Reader& reader, int stage, const Cell& cell);

// "(0F1;1B0)OVERLAP_F_B": the actions inside, one after the other.
void read_overlap(Reader& reader, int stage, const Cell& cell) {
  const size_t end = cell.text.find(')');
  if (end == std::string_view::npos || cell.text.substr(end + 1) != "OVERLAP_F_B") {
    reader.error(cell, "E-SCHEDULE-CSV", quote(cell.text) + " is no action",
                 "an overlapped pair is like (0F1;1B0)OVERLAP_F_B");
    return;
  }
  size_t from = 1;
  while (from <= end) {
    const size_t to = std::min(cell.text.find(';', from), end);
    read_cell(reader, stage,
              {trimmed(cell.text.substr(from, to - from)), cell.line, cell.column + int(from)});
    from = to + 1;
  }
}

bool read_communication(Reader& reader, int stage, std::string_view name, std::optional<int> chunk,
                        std::string_view micro, const Cell& cell) {
  const auto* kind = find_named(kCommKinds, name);
  if (kind == nullptr || !chunk) return false;
  const auto number = whole_number(micro);
  if (moves_micro_batch(kind->value) ? !number.has_value() : !micro.empty()) return false;
  reader.communication[size_t(stage)].push_back({kind->value, ChunkId(*chunk), MicroBatch(number.value_or(0)),
                                                 int(reader.schedule.stages[size_t(stage)].size()), cell.line,
                                                 cell.column});
  return true;
}

void read_cell(Reader& reader, int stage, const Cell& cell) {
  const std::string_view text = cell.text, digits = "0123456789";
  if (text.empty()) return;  // idle time
  if (text[0] == '(') return read_overlap(reader, stage, cell);
  const size_t name_at = std::min(text.find_first_not_of(digits), text.size());
  const size_t micro_at = text.find_last_not_of(digits) + 1;
  if (name_at >= micro_at) {
    reader.error(cell, "E-SCHEDULE-CSV", quote(text) + " is no action",
                 "like 0F3: chunk 0, forward, micro-batch 3");
    return;
  }
  const std::string_view name = text.substr(name_at, micro_at - name_at);
  const auto kind = kind_of(name);
  const auto chunk = whole_number(text.substr(0, name_at)), micro = whole_number(text.substr(micro_at));
  if (read_communication(reader, stage, name, chunk, text.substr(micro_at), cell)) return;
  if (!kind || !chunk || !micro) {
    reader.error(cell, "E-SCHEDULE-CSV", quote(text) + " is no action",
                 "like 0F3: chunk 0, forward, micro-batch 3; kinds: F, B (whole backward), I (input "
                 "gradient), W (weight gradient)");
    return;
  }
  add(reader, stage, *kind, *chunk, *micro, cell);
}

bool is_long_form(const Row& first) {
  std::string joined;
  for (const Cell& cell : first) joined += (joined.empty() ? "" : ",") + std::string(cell.text);
  return joined == kHeader;
}

void read_rows(Reader& reader, const std::vector<Row>& rows) {
  const int p = reader.schedule.shape.stages;
  if (rows.empty()) {
    reader.errors.push_back(
        {{reader.file, 0, 0, ""}, "schedule", "E-SCHEDULE-CSV", "the schedule is empty", ""});
  } else if (is_long_form(rows[0])) {
    for (size_t n = 1; n < rows.size(); ++n) read_long_row(reader, rows[n]);
  } else if (rows[0][0].text == "stage") {
    reader.error(rows[0][0], "E-SCHEDULE-CSV", "the header is not understood",
                 "expected " + std::string(kHeader));
  } else if (int(rows.size()) != p) {
    const size_t last = std::min(rows.size() - 1, size_t(p));
    reader.error(
        rows[last][0], "E-SCHEDULE-CSV",
        std::to_string(rows.size()) + " rows for " + std::to_string(p) + " stages",
        "a row a stage, with cells like 0F3; or the header " + std::string(kHeader) + " and a row an action");
  } else {
    for (int s = 0; s < p; ++s)
      for (const Cell& cell : rows[size_t(s)]) read_cell(reader, s, cell);
  }
}

}  // namespace

Schedule from_csv(std::string_view text, const std::string& file, const PipelineShape& shape) {
  check_shape(shape, file);
  Reader reader{file, split_lines(text), {}, {file, shape}, {}, {}};
  reader.schedule.stages.resize(size_t(shape.stages));
  reader.cells.resize(size_t(shape.stages));
  reader.communication.resize(size_t(shape.stages));
  read_rows(reader, split_rows(reader.lines));
  if (!reader.errors.empty()) throw InputErrors(shorten(std::move(reader.errors)));
  validate_at(reader.schedule, [&](ActionPosition at) {
    if (!at.valid()) return Place{file, 0, 0, ""};
    const Cell& cell = reader.cells[size_t(at.stage)][size_t(at.index)];
    return reader.place(cell.line, cell.column);
  });
  read_transfers(reader.schedule, reader.communication,
                 [&](int line, int column) { return reader.place(line, column); });
  return std::move(reader.schedule);
}

}  // namespace rehearse
