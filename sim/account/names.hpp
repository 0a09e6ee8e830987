// The words that reports use for axes, collectives and actions.
#pragma once
#include <string_view>

#include "sim/graph/task_graph.hpp"
#include "sim/spec/names.hpp"

namespace rehearse {

inline std::string_view axis_name(Axis axis) { return name_of(kAxisNames, axis); }
inline std::string_view collective_name(CollectiveOp op) { return name_of(kOpNames, op); }
constexpr std::string_view action_name(ActionKind kind) {
  constexpr std::string_view names[] = {"forward", "backward", "input gradient", "weight gradient"};
  return names[static_cast<size_t>(kind)];
}
inline std::string_view dtype_name(DType t) { return name_of(kDTypeNames, t); }
inline std::string_view basis_name(Basis b) { return name_of(kBasisNames, b); }

}  // namespace rehearse
