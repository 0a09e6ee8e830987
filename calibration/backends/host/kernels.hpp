// The kernels of the host backend, fp32, one thread each. Operands lie as calibration/work/operands.hpp says;
// callers have asked Backend::refuses() before.
#pragma once
#include <span>
#include <vector>

#include "calibration/backends/host/memory.hpp"
#include "calibration/work/operands.hpp"

namespace rehearse::calibration::host {

// Memory that attention keeps from call to call, so that no call pays for fresh pages.
using Scratch = std::vector<float>;

void run_gemm(const GemmCall& call, Tensors operands);

// Tiles of query rows against all the keys that they see: scores by GEMM, softmax by row, values by GEMM; the
// backward computes the scores again from the log-sum-exp (Dao et al. 2022, algorithms 1 and 4, with one
// tile of keys).
void run_attention(const AttentionCall& call, Tensors operands, Scratch& scratch);

void run_memory(const MemoryCall& call, Tensors operands);

}  // namespace rehearse::calibration::host
