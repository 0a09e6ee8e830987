// The memory-bound kernels, by family. `x`: the call's tensors in order; r rows of w columns.
#pragma once
#include <cstdint>
#include <span>

#include "calibration/work/operands.hpp"

namespace rehearse::calibration::host {

using Tensors = std::span<const Tensor>;
using MemoryFunction = void (*)(Tensors x, int64_t r, int64_t w);

inline float* floats(const Tensor& tensor) { return static_cast<float*>(tensor.data); }
inline const uint8_t* bytes(const Tensor& tensor) { return static_cast<const uint8_t*>(tensor.data); }
inline const int32_t* tokens(const Tensor& tensor) { return static_cast<const int32_t*>(tensor.data); }

// element by element
void copy(Tensors x, int64_t r, int64_t w);
void add(Tensors x, int64_t r, int64_t w);
void dropout(Tensors x, int64_t r, int64_t w);  // and its backward, which is the same on other operands
void dropout_add(Tensors x, int64_t r, int64_t w);
void gelu(Tensors x, int64_t r, int64_t w);
void gelu_backward(Tensors x, int64_t r, int64_t w);
void swiglu(Tensors x, int64_t r, int64_t w);
void swiglu_backward(Tensors x, int64_t r, int64_t w);
void accumulate(Tensors x, int64_t r, int64_t w);
void square_sum(Tensors x, int64_t r, int64_t w);
void adam(Tensors x, int64_t r, int64_t w);

// row by row
void norm(Tensors x, int64_t r, int64_t w);
void norm_backward(Tensors x, int64_t r, int64_t w);
void softmax(Tensors x, int64_t r, int64_t w);
void softmax_backward(Tensors x, int64_t r, int64_t w);
void cross_entropy(Tensors x, int64_t r, int64_t w);
void cross_entropy_backward(Tensors x, int64_t r, int64_t w);
void rope(Tensors x, int64_t r, int64_t w);
void embedding(Tensors x, int64_t r, int64_t w);
void embedding_backward(Tensors x, int64_t r, int64_t w);

}  // namespace rehearse::calibration::host
