// The words that reports use for axes, collectives and actions.
#pragma once
#include <string_view>

#include "sim/graph/task_graph.hpp"

namespace rehearse {

constexpr std::string_view axis_name(Axis axis) {
  constexpr std::string_view names[kAxes] = {"tp", "cp", "pp", "ep", "dp"};
  return names[static_cast<size_t>(axis)];
}
constexpr std::string_view collective_name(CollectiveOp op) {
  constexpr std::string_view names[] = {"all_reduce", "all_gather", "reduce_scatter",
                                        "all_to_all", "send_recv",  "broadcast"};
  return names[static_cast<size_t>(op)];
}
constexpr std::string_view action_name(ActionKind kind) {
  constexpr std::string_view names[] = {"forward", "backward", "input gradient", "weight gradient"};
  return names[static_cast<size_t>(kind)];
}
constexpr std::string_view dtype_name(DType t) {
  constexpr std::string_view names[] = {"fp32", "tf32", "fp16", "bf16", "fp8"};
  return names[static_cast<size_t>(t)];
}
constexpr std::string_view basis_name(Basis b) {
  constexpr std::string_view names[] = {"measured", "fitted", "datasheet", "guess"};
  return names[static_cast<size_t>(b)];
}

}  // namespace rehearse
