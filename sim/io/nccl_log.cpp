#include "sim/io/nccl_log.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rehearse {
namespace {

bool is_integer(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

int small_integer(std::string_view digits) { return std::stoi(std::string(digits.substr(0, 9))); }

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

// 22903 = 2.29.3
std::string version_of(std::string_view digits) {
  int code = 0;
  for (const char c : digits.substr(0, std::min<size_t>(digits.find_first_not_of("0123456789"), 9)))
    code = code * 10 + (c - '0');
  return code > 0 ? fmt::format("NCCL {}.{}.{}", code / 10000, code / 100 % 100, code % 100) : "";
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace

LogLine log_line(std::string_view line) {
  const size_t start = start_of(line);
  LogLine read;
  read.body = line.substr(start);
  read.comment = read.body.starts_with('#');
  read.column = static_cast<int>(start) + 1;
  if (read.comment) read.body.remove_prefix(1);
  const int first = static_cast<int>(start) + (read.comment ? 2 : 1);
  for (size_t at = 0; (at = read.body.find_first_not_of(" \t\r", at)) != std::string_view::npos;) {
    const size_t end = std::min(read.body.find_first_of(" \t\r", at), read.body.size());
    read.words.push_back({read.body.substr(at, end - at), static_cast<int>(at) + first});
    at = end;
  }
  return read;
}

std::optional<LogDevice> log_device(const LogLine& line) {
  const auto& words = line.words;
  LogDevice d;
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string_view word = words[i].text, next = words[i + 1].text;
    if (word == "Rank" && is_integer(next)) d.rank = small_integer(next);
    if (word == "Group" && is_integer(next)) d.group = small_integer(next);
    if (word == "on") d.host = next;
    if (word != "device" || !is_integer(next)) continue;
    d.local = small_integer(next);
    for (size_t j = i + 3; j < words.size(); ++j)
      d.name += (d.name.empty() ? "" : " ") + std::string(words[j].text);
    break;
  }
  if (d.rank < 0 || d.local < 0) return std::nullopt;
  return d;
}

bool LogRemarks::note(std::string_view body, bool in_table) {
  const std::string_view starting = "Collective test starting: ";
  if (const size_t at = body.find(starting); at != std::string_view::npos)
    program = body.substr(at + starting.size());
  if (const size_t at = body.find("nccl-library="); at != std::string_view::npos && library.empty())
    library = version_of(body.substr(at + 13));
  if (const size_t at = body.find("_perf"); at != std::string_view::npos && program.empty() && !in_table) {
    const size_t begin = body.substr(0, at).find_last_of(" \t/");
    program = body.substr(begin == std::string_view::npos ? 0 : begin + 1, at);
  }
  const bool wrong = has(body, "Out of bounds values") || has(body, "Bitwise mismatches");
  if (wrong && has(body, "FAILED")) {
    failed = body.substr(body.find_first_not_of(" \t"));
    failed.erase(failed.find_last_not_of(" \t\r") + 1);
  }
  return wrong || has(body, "Avg bus bandwidth");
}

std::optional<CollectiveOp> op_in(std::string_view name) {
  static constexpr std::pair<std::string_view, CollectiveOp> kWords[] = {
      {"all_reduce", CollectiveOp::all_reduce},
      {"allreduce", CollectiveOp::all_reduce},
      {"all_gather", CollectiveOp::all_gather},
      {"allgather", CollectiveOp::all_gather},
      {"reduce_scatter", CollectiveOp::reduce_scatter},
      {"reducescatter", CollectiveOp::reduce_scatter},
      {"all_to_all", CollectiveOp::all_to_all},
      {"alltoall", CollectiveOp::all_to_all},
      {"send_recv", CollectiveOp::send_recv},
      {"sendrecv", CollectiveOp::send_recv},
      {"broadcast", CollectiveOp::broadcast}};
  if (has(name, "alltoallv")) return std::nullopt;
  for (const auto& [word, op] : kWords)
    if (has(name, word)) return op;
  return std::nullopt;
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
