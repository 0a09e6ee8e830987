#include "calibration/import/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "sim/base/text.hpp"
#include "sim/io/file.hpp"
#include "sim/spec/names.hpp"

namespace rehearse::calibration::importing {

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  int number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    lines.push_back({line, ++number});
    at = end + 1;
  }
  return lines;
}

void refuse(const std::string& file, const Line& line, int column, std::string code, std::string message,
            std::string hint) {
  throw InputErrors({{shown_path(file), line.number, column, printable(line.text.substr(0, 200))},
                     "",
                     std::move(code),
                     std::move(message),
                     std::move(hint)});
}

bool read_number(std::string_view text, double& out) {
  if (text.empty() || text.find_first_not_of("0123456789.e+-E") != std::string_view::npos) return false;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && stop == text.data() + text.size() && std::isfinite(out) && out >= 0;
}

bool is_count(double value) { return value == std::floor(value) && value <= 9007199254740992.0; }

std::optional<DType> nccl_type(std::string_view word) {
  static constexpr std::pair<std::string_view, DType> kWords[] = {
      {"float", DType::fp32},   {"half", DType::fp16},       {"bfloat16", DType::bf16},
      {"bf16", DType::bf16},    {"fp32", DType::fp32},       {"fp16", DType::fp16},
      {"f8e4m3", DType::fp8},   {"f8e5m2", DType::fp8},      {"fp8_e4m3", DType::fp8},
      {"fp8_e5m2", DType::fp8}, {"float8_e4m3", DType::fp8}, {"float8_e5m2", DType::fp8}};
  for (const auto& [name, dtype] : kWords)
    if (name == word) return dtype;
  return std::nullopt;
}

namespace {

// Whether a printed figure can be the rounding of what it should be; 2 % for what else was rounded.
bool agrees(double printed, double step, double expected) {
  return std::abs(printed - expected) <= 0.02 * expected + 0.51 * step;
}

std::optional<Contradiction> contradiction(const NcclRow::Half& half, double bytes, CollectiveOp op,
                                           int ranks) {
  if (half.time_us <= 0) return Contradiction{"E-IMPORT-ROW", "the time is 0"};
  const double rate = bytes / half.time_us * 1e-3, bus = rate * bus_factor(op, ranks);
  if (half.busbw == 0 && bus > half.busbw_step)
    return Contradiction{"E-IMPORT-BUSBW",
                         fmt::format("busbw is 0 where time and size say {:.2f} GB/s", bus)};
  // Versions before 2.9 count the bytes that a rank receives as algbw of all_gather and the like.
  if (!agrees(half.algbw, half.algbw_step, rate) && !agrees(half.algbw, half.algbw_step, bus))
    return Contradiction{"E-IMPORT-BUSBW",
                         fmt::format("algbw {} is not size / time = {:.4g} GB/s", half.algbw, rate)};
  if (!agrees(half.busbw, half.busbw_step, bus))
    return Contradiction{"E-IMPORT-BUSBW",
                         fmt::format("busbw {} is not {:.4g} GB/s, size / time x {:.4g} of {} over {} ranks",
                                     half.busbw, bus, bus_factor(op, ranks), name_of(kOpNames, op), ranks)};
  return std::nullopt;
}

}  // namespace

std::optional<Contradiction> contradiction(const NcclRow& row, CollectiveOp op, int ranks) {
  for (const auto& half : row.halves)
    if (auto found = contradiction(half, row.bytes, op, ranks)) return found;
  return std::nullopt;
}

Sample sample_of(const NcclRow& row, const Job& job, DType dtype) {
  const auto best = std::min_element(row.halves.begin(), row.halves.end(),
                                     [](const auto& a, const auto& b) { return a.time_us < b.time_us; });
  CollectiveCall call{job.op, dtype, row.bytes, {}, best != row.halves.begin()};
  call.group = {job.nodes * job.per_node, 1, false, job.nodes, job.per_node};
  // Which of both was faster is no other point.
  const bool in_place = std::exchange(call.in_place, false);
  Sample s;
  s.probe = "import";
  s.work = call;
  const double seconds = best->time_us * 1e-6;
  s.device = {seconds, 0, seconds, seconds, 1};
  if (in_place) s.flags.push_back("in-place");
  // A size that came out wrong once is not believed the other time.
  const auto wrong = std::max_element(row.halves.begin(), row.halves.end(),
                                      [](const auto& a, const auto& b) { return a.wrong < b.wrong; });
  if (wrong->wrong > 0) {
    s.status = Status::rejected;
    s.code = "wrong-result";
    s.reason = fmt::format("{} wrong elements", wrong->wrong);
  }
  return s;
}

void reject_wrong(Imported& in, bool rows_tell, const std::string& reason) {
  if (rows_tell) return;
  for (auto& s : in.samples) s.status = Status::rejected, s.code = "wrong-result", s.reason = reason;
}

Environment environment_of(const std::string& file, const ImportOptions& options) {
  Environment e;
  e.backend = "import";
  e.device = options.gpu;
  e.driver = options.driver;
  e.toolkit = options.toolkit;
  e.collectives_library = options.library;
  e.topology = options.topology;
  e.command = "import " + std::filesystem::path(file).filename().string();
  e.source = options.source.empty() ? std::filesystem::path(file).filename().string() : options.source;
  e.licence = options.licence;
  e.caveats = options.caveats;
  e.limits = options.limits;
  e.network = options.network;
  e.node_network_bytes_per_s = options.node_network_bytes_per_s;
  e.network_latency_s = options.network_latency_s;
  return e;
}

}  // namespace rehearse::calibration::importing
