// The backend's own kernels: contents of buffers, the empty kernel, and the memory-bound passes.
#pragma once
#include <cuda_runtime_api.h>

#include <optional>
#include <span>
#include <string>

#include "calibration/work/operands.hpp"

namespace rehearse::calibration::cuda {

// Puts into a tensor what its spec says.
void fill(const Tensor& tensor, cudaStream_t stream);

void launch_empty(cudaStream_t stream);

// Types fp32, fp16 and bf16.
std::optional<std::string> refuses_memory(const MemoryCall& call);
// Operands as operands.hpp lists them, at least 16 bytes aligned.
void run_memory(const MemoryCall& call, std::span<const Tensor> operands, cudaStream_t stream);

// Parts of run_memory: kernels that treat every element alike, and kernels along rows.
bool run_elementwise(const MemoryCall& call, std::span<const Tensor> operands, cudaStream_t stream);
bool run_rows(const MemoryCall& call, std::span<const Tensor> operands, cudaStream_t stream);

}  // namespace rehearse::calibration::cuda
