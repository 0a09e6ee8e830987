// The words of nccl-tests and CUDA: types, operations, devices.
#include <string>
#include <string_view>
#include <utility>

#include "sim/io/nccl_log.hpp"

namespace rehearse {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace

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

std::optional<CollectiveOp> NcclTable::op() const { return op_in(program); }

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
