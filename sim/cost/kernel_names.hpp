// Names of NCCL's kernels.
#pragma once
#include <string>

#include "sim/spec/profile.hpp"

namespace rehearse {

// As a GPU trace names the kernel: "ncclDevKernel_AllReduce_Sum_bf16_RING_LL".
std::string nccl_kernel_name(CollectiveOp op, DType dtype, Algorithm algorithm, Protocol protocol);

}  // namespace rehearse
