// The words of types, roles, operations and bases, as files write and read them.
#pragma once
#include "sim/base/basis.hpp"
#include "sim/base/names.hpp"
#include "sim/spec/kernel.hpp"
#include "sim/spec/profile.hpp"
#include "sim/spec/scenario.hpp"

namespace rehearse {

inline constexpr Named<Axis> kAxisNames[] = {{"tp", "tensor", Axis::tp},
                                             {"cp", "context", Axis::cp},
                                             {"pp", "pipeline", Axis::pp},
                                             {"ep", "expert", Axis::ep},
                                             {"dp", "data", Axis::dp}};
inline constexpr Named<Basis> kBasisNames[] = {
    {"measured", "read from an instrument", Basis::measured},
    {"fitted", "chosen so that a model meets measurements", Basis::fitted},
    {"datasheet", "the maker's figure", Basis::datasheet},
    {"guess", "neither", Basis::guess}};
inline constexpr Named<DType> kDTypeNames[] = {{"fp32", "", DType::fp32},
                                               {"tf32", "", DType::tf32},
                                               {"fp16", "", DType::fp16},
                                               {"bf16", "", DType::bf16},
                                               {"fp8", "", DType::fp8}};
inline constexpr Named<GemmRole> kRoleNames[] = {{"forward", "", GemmRole::forward},
                                                 {"input_gradient", "", GemmRole::input_gradient},
                                                 {"weight_gradient", "", GemmRole::weight_gradient}};
inline constexpr Named<CollectiveOp> kOpNames[] = {
    {"all_reduce", "", CollectiveOp::all_reduce},         {"all_gather", "", CollectiveOp::all_gather},
    {"reduce_scatter", "", CollectiveOp::reduce_scatter}, {"all_to_all", "", CollectiveOp::all_to_all},
    {"send_recv", "", CollectiveOp::send_recv},           {"broadcast", "", CollectiveOp::broadcast}};

}  // namespace rehearse
