// What nccl-tests writes with -J FILE (its versions 1 and 2), and JSON lines of rccl-tests.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/base/text.hpp"
#include "sim/io/nccl_log.hpp"

namespace rehearse {
namespace {

using Json = nlohmann::json;

constexpr double kMostRanks = 1 << 20;  // larger than any job, and far from what an int holds
constexpr double kMostCount = 9007199254740992.0;

// A value of the file and where messages say it is.
struct Found {
  const Json& json;
  std::string path;
  Place place;

  [[noreturn]] void refuse(const char* code, const std::string& message, const std::string& hint = {}) const {
    throw InputErrors(InputError{place, "", code, path + ": " + message, hint});
  }
  const Json* find(const char* key) const {
    return json.is_object() && json.contains(key) && !json[key].is_null() ? &json[key] : nullptr;
  }
  Found at(const char* key, const char* code = "E-IMPORT-HEADER") const {
    const Json* value = find(key);
    if (!value) refuse(code, std::string("has no ") + key);
    return {*value, path + "." + key, place};
  }
  double number() const {
    if (!json.is_number() || json.get<double>() < 0) refuse("E-IMPORT-ROW", "is no number");
    return json.get<double>();
  }
  double number(const char* key) const { return at(key, "E-IMPORT-ROW").number(); }
  double count(const char* key) const {
    const double value = number(key);
    if (value != std::floor(value) || value > kMostCount)
      refuse("E-IMPORT-ROW", "size and count must be whole numbers up to 2^53");
    return value;
  }
  int integer(const char* key, int fallback) const {
    const Json* value = find(key);
    if (!value || !value->is_number_integer()) return fallback;
    return static_cast<int>(std::clamp(value->get<double>(), -1.0, kMostRanks));
  }
  std::string word(const char* key) const {
    const Json* value = find(key);
    return value && value->is_string() ? value->get<std::string>() : "";
  }
};

Place place_at(std::string_view text, const std::string& file, size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const size_t start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  const std::string_view line = text.substr(start, text.find('\n', start) - start);
  return {file, static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1,
          static_cast<int>(offset - start) + 1, printable(line.substr(0, 400))};
}

// Where each "size" behind "results" stands, one after the other: the places of the rows.
class RowPlaces {
 public:
  RowPlaces(std::string_view text, std::string file)
      : text_(text), file_(std::move(file)), at_(std::min(text.find("\"results\""), text.size())) {
    count_lines(0, at_);
  }
  Place next() {
    const size_t found = std::min(text_.find("\"size\"", at_ + 1), text_.size());
    count_lines(at_, found);
    at_ = found;
    const std::string_view line = text_.substr(start_, text_.find('\n', start_) - start_);
    return {file_, line_, static_cast<int>(at_ - start_) + 1, printable(line.substr(0, 400))};
  }

 private:
  void count_lines(size_t from, size_t to) {
    for (; from < to; ++from)
      if (text_[from] == '\n') ++line_, start_ = from + 1;
  }
  std::string_view text_;
  std::string file_;
  size_t at_, start_ = 0;
  int line_ = 1;
};

// A process lists the first of its GPUs; nthreads x ngpus of them are its own.
std::vector<LogDevice> devices_of(const Found& config) {
  const double each = 1.0 * config.integer("nthreads", 1) * config.integer("ngpus", 1);
  const Json* listed = config.find("devices");
  const size_t processes = listed && listed->is_array() ? listed->size() : 0;
  if (each < 1 || each * static_cast<double>(processes) > kMostRanks)
    config.refuse("E-IMPORT-RANKS", "nthreads x ngpus is no number of GPUs");
  std::vector<LogDevice> devices;
  std::set<int> seen;
  for (size_t i = 0; i < processes; ++i) {
    const Found process{(*listed)[i], fmt::format("config.devices[{}]", i), config.place};
    const int rank = process.integer("rank", -1);
    if (!seen.insert(rank).second)
      process.refuse("E-IMPORT-RANKS", "a rank stands twice", "nccl-tests was built without MPI=1");
    for (int gpu = 0; gpu < int(each); ++gpu) {
      LogDevice d{rank * int(each) + gpu,      process.integer("group", 0),        process.word("hostname"),
                  process.word("device_info"), process.integer("device", 0) + gpu, config.place};
      devices.push_back(std::move(d));
    }
  }
  return devices;
}

NcclRow::Half half_of(const Found& half, const char* time, const char* algbw, const char* busbw) {
  return {half.number(time), half.number(algbw), half.number(busbw), 0, 1e-6, 1e-6};
}

NcclRow row_of(const Found& result) {
  NcclRow row;
  row.place = result.place;
  row.bytes = result.count("size"), row.count = result.count("count");
  row.type = result.word("type"), row.redop = result.word("redop"), row.path = result.path;
  for (const char* name : {"out_of_place", "in_place"}) {
    if (!result.find(name)) continue;
    const Found half = result.at(name);
    if (half.find("cpu_time"))
      half.refuse("E-IMPORT-HEADER", "holds times of the CPU", "run nccl-tests without -C");
    row.halves.push_back(half_of(half, "time", "alg_bw", "bus_bw"));
    if (const Json* wrong = half.find("nwrong"); wrong && wrong->is_number())
      row.halves.back().wrong = wrong->get<double>();
  }
  if (row.halves.empty()) result.refuse("E-IMPORT-ROW", "holds no time");
  return row;
}

void facts_of(const Found& file, NcclLog& log) {
  const int code = file.integer("nccl_version", 0), known = std::min(code, 999999);
  if (known > 0) log.library = fmt::format("NCCL {}.{}.{}", known / 10000, known / 100 % 100, known % 100);
  log.started = file.word("start_time");
  const Json* variables = file.find("env");
  if (!variables || !variables->is_array()) return;
  for (const auto& entry : *variables) {
    if (!entry.is_string()) continue;
    const std::string text = entry.get<std::string>();
    const size_t equals = text.find('=');
    if (text.starts_with("NCCL_") && equals != std::string::npos)
      log.variables[text.substr(0, equals)] = text.substr(equals + 1);
  }
}

// What the file's end says of wrong results.
std::string failed_in(const Found& file) {
  for (const char* key : {"out_of_bounds", "bitwise_mismatches"}) {
    const Json* end = file.find(key);
    if (!end || !end->is_object() || !end->contains("count") || !(*end)["count"].is_number()) continue;
    if (const double wrong = (*end)["count"].get<double>(); wrong > 0)
      return fmt::format("{} of {}", wrong, key);
  }
  return "";
}

NcclLog one_test(const Json& json, std::string_view text, const std::string& name) {
  const Found file{json, "the file", place_at(text, name, 0)};
  const Found results = file.at("results");
  if (!results.json.is_array() || results.json.empty()) file.refuse("E-IMPORT-ROW", "results holds no rows");
  NcclLog log;
  facts_of(file, log);
  NcclTable& table = log.tables.emplace_back();
  table.header = table.of_program = file.place;
  if (const Json* args = file.find("args");
      args && args->is_array() && !args->empty() && (*args)[0].is_string())
    table.program = (*args)[0].get<std::string>();
  const Found config = file.at("config");
  table.devices = devices_of({config.json, "config", file.place});
  RowPlaces places(text, name);
  for (size_t i = 0; i < results.json.size(); ++i) {
    NcclRow row = row_of({results.json[i], fmt::format("results[{}]", i), places.next()});
    if (row.bytes == 0)
      ++table.empty_rows;
    else
      table.rows.push_back(std::move(row));
  }
  table.failed = failed_in(file), table.of_failed = file.place;
  return log;
}

bool of_rccl(const Json& json) {
  return json.is_object() && json.contains("size") && json.contains("time") && json.contains("name");
}

// One object a row; of a size out of place and in place are two.
void take_rccl(const Found& line, NcclLog& log) {
  const std::string program = line.word("name");
  const int per_rank = line.find("ranks") ? line.integer("gpusPerRank", 1) : 1;
  const int ranks = line.integer(line.find("ranks") ? "ranks" : "gpus", 0) * std::max(per_rank, 1);
  const int nodes = line.integer("nodes", 0);
  if (log.tables.empty() || log.tables.back().program != program || log.tables.back().ranks != ranks ||
      log.tables.back().nodes != nodes) {
    NcclTable& table = log.tables.emplace_back();
    table.program = program, table.ranks = ranks, table.nodes = nodes;
    table.header = table.of_program = line.place;
  }
  auto& rows = log.tables.back().rows;
  NcclRow row;
  row.bytes = line.count("size"), row.type = line.word("type"), row.redop = line.word("redop");
  row.place = line.place, row.path = line.path;
  row.halves.push_back(half_of(line, "time", "algBw", "busBw"));
  row.halves.back().algbw_step = row.halves.back().busbw_step = 0.1;
  for (const char* key : {"#wrong", "wrong"})
    if (const Json* wrong = line.find(key))
      row.halves.back().wrong = wrong->is_number() ? wrong->get<double>()
                                : wrong->is_string()
                                    ? parse_number(wrong->get<std::string>()).value.value_or(0)
                                    : 0;
  if (row.bytes == 0) {
    ++log.tables.back().empty_rows;
  } else if (line.integer("inPlace", 0) == 1 && !rows.empty() && rows.back().bytes == row.bytes &&
             rows.back().type == row.type && rows.back().halves.size() == 1) {
    rows.back().halves.push_back(row.halves[0]);
  } else {
    rows.push_back(std::move(row));
  }
}

NcclLog lines_of_rccl(std::string_view text, const std::string& name) {
  NcclLog log;
  int number = 0;
  for (const auto line : split(text, '\n')) {
    ++number;
    const size_t from = std::min(line.find("{\""), line.find("{ \""));
    if (from == std::string_view::npos && line.find("\"algBw\"") == std::string_view::npos) continue;
    const size_t begin = from == std::string_view::npos ? 0 : from, end = line.rfind('}');
    const Json json = end == std::string_view::npos || end < begin
                          ? Json(Json::value_t::discarded)
                          : Json::parse(line.substr(begin, end + 1 - begin), nullptr, false);
    const Found row{json, "the line", {name, number, int(begin) + 1, printable(line.substr(0, 400))}};
    if (json.is_discarded()) row.refuse("E-IMPORT-ROW", "not whole JSON: the line is cut or broken");
    if (!of_rccl(json)) row.refuse("E-IMPORT-ROW", "not a row of rccl-tests, which has name, size and time");
    take_rccl(row, log);
  }
  return log;
}

}  // namespace

NcclLog read_nccl_json(std::string_view text, const std::string& file) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& error) {
    if (text.find("\"algBw\"") != std::string_view::npos &&
        text.find("\"results\"") == std::string_view::npos)
      return lines_of_rccl(text, file);
    throw InputErrors(InputError{place_at(text, file, std::min(error.byte ? error.byte - 1 : 0, text.size())),
                                 "", "E-IMPORT-ROW", "not whole JSON: the file is cut or broken", ""});
  } catch (const Json::exception&) {  // a number that no double holds
    throw InputErrors(
        InputError{place_at(text, file, 0), "", "E-IMPORT-ROW", "a number in it is too large", ""});
  }
  if (of_rccl(json)) return lines_of_rccl(text, file);
  if (!json.is_array()) return one_test(json, text, file);
  NcclLog log;
  for (size_t i = 0; i < json.size(); ++i) {
    const Found row{json[i], fmt::format("[{}]", i), place_at(text, file, 0)};
    if (!of_rccl(json[i]))
      row.refuse("E-IMPORT-ROW", "not a row of rccl-tests, which has name, size and time");
    take_rccl(row, log);
  }
  if (log.tables.empty())
    throw InputErrors(InputError{place_at(text, file, 0), "", "E-IMPORT-ROW", "the file holds no rows", ""});
  return log;
}

}  // namespace rehearse
