#include "sim/cost/kernel_names.hpp"

namespace rehearse {

static std::string_view dtype_word(DType t) {
  switch (t) {
    case DType::fp16:
      return "f16";
    case DType::bf16:
      return "bf16";
    case DType::fp8:
      return "f8e4m3";
    default:
      return "f32";
  }
}

static std::string upper(std::string_view word) {
  std::string text;
  for (const char c : word) text += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return text;
}

std::string nccl_kernel_name(CollectiveOp op, DType dtype, Algorithm algorithm, Protocol protocol) {
  const std::string type(dtype_word(dtype)), how = upper(name_of(algorithm)) + "_" + upper(name_of(protocol));
  switch (op) {
    case CollectiveOp::all_reduce:
      return "ncclDevKernel_AllReduce_Sum_" + type + "_" + how;
    case CollectiveOp::all_gather:
      return "ncclDevKernel_AllGather_" + how;
    case CollectiveOp::reduce_scatter:
      return "ncclDevKernel_ReduceScatter_Sum_" + type + "_" + how;
    case CollectiveOp::broadcast:
      return "ncclDevKernel_Broadcast_" + how;
    default:
      return "ncclDevKernel_SendRecv";
  }
}

}  // namespace rehearse
