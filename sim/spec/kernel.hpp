// What a kernel computes: enough to price it, to measure it and to run it. Dimensions are counts.
#pragma once
#include <cstdint>
#include <variant>

#include "sim/base/names.hpp"

namespace rehearse {

enum class DType : uint8_t { fp32, tf32, fp16, bf16, fp8 };
constexpr double bytes_of(DType t) {
  return t == DType::fp32 || t == DType::tf32 ? 4 : t == DType::fp8 ? 1 : 2;
}
constexpr bool is_16_bit(DType t) { return t == DType::fp16 || t == DType::bf16; }

// Where a GEMM stands in training, which also says how its operands lie (row-major X[tokens, in], W[out, in],
// Y = X W^T): forward TN, input gradient NN, weight gradient NT.
enum class GemmRole : uint8_t { forward, input_gradient, weight_gradient };

// C[m,n] = A[m,k] B[k,n], `batch` of them in one kernel (the score and value GEMMs of unfused attention).
struct GemmShape {
  double m, n, k;
  double batch = 1;
  bool operator==(const GemmShape&) const = default;
};

struct AttentionShape {
  double batch, sequence, heads, kv_heads, head_dim;
  bool causal;
  bool operator==(const AttentionShape&) const = default;
};

// The memory-bound passes of a step. They work on `rows` x `width` elements of the given type (t, w bytes
// wide); what each reads and writes an element is what the lowering counts.
enum class MemoryKernel : uint8_t {
  copy,                    // y = x
  add,                     // y = a + b
  norm,                    // layer norm along the width
  norm_backward,           // dx, and the sums for gain and bias
  softmax,                 // along the width, masked causally
  softmax_backward,        // dx = y (dy - sum(y dy))
  dropout,                 // y = x mask / keep; the mask takes a byte
  dropout_backward,        // dx = dy mask / keep
  dropout_add,             // y = residual + x mask / keep
  gelu,                    // tanh form
  gelu_backward,           // dx from x and dy
  swiglu,                  // y = silu(a) b; a and b are `width` wide each
  swiglu_backward,         // da, db from a, b, dy
  rope,                    // rotates pairs along the width
  embedding,               // y = table[token]
  embedding_backward,      // table gradient[token] += dy
  cross_entropy,           // loss of a token over `width` logits
  cross_entropy_backward,  // logits gradient in place: softmax - one-hot
  accumulate,              // fp32 main gradient += gradient
  square_sum,              // sum of squares of fp32 gradients
  adam,                    // fp32 master weight and two moments; weights written in the type
};
inline constexpr Named<MemoryKernel> kMemoryKernels[] = {
    {"copy", "y = x", MemoryKernel::copy},
    {"add", "y = a + b", MemoryKernel::add},
    {"norm", "layer norm", MemoryKernel::norm},
    {"norm_backward", "layer norm, backward", MemoryKernel::norm_backward},
    {"softmax", "causal softmax", MemoryKernel::softmax},
    {"softmax_backward", "softmax, backward", MemoryKernel::softmax_backward},
    {"dropout", "dropout", MemoryKernel::dropout},
    {"dropout_backward", "dropout, backward", MemoryKernel::dropout_backward},
    {"dropout_add", "dropout and residual", MemoryKernel::dropout_add},
    {"gelu", "GELU, tanh form", MemoryKernel::gelu},
    {"gelu_backward", "GELU, backward", MemoryKernel::gelu_backward},
    {"swiglu", "SwiGLU", MemoryKernel::swiglu},
    {"swiglu_backward", "SwiGLU, backward", MemoryKernel::swiglu_backward},
    {"rope", "rotary embedding", MemoryKernel::rope},
    {"embedding", "embedding look-up", MemoryKernel::embedding},
    {"embedding_backward", "embedding, backward", MemoryKernel::embedding_backward},
    {"cross_entropy", "cross entropy", MemoryKernel::cross_entropy},
    {"cross_entropy_backward", "cross entropy, backward", MemoryKernel::cross_entropy_backward},
    {"accumulate", "fp32 gradient accumulation", MemoryKernel::accumulate},
    {"square_sum", "sum of squares", MemoryKernel::square_sum},
    {"adam", "fused Adam", MemoryKernel::adam},
};
inline constexpr int kMemoryKernelCount = sizeof(kMemoryKernels) / sizeof(kMemoryKernels[0]);
constexpr std::string_view name_of(MemoryKernel kernel) {
  return kMemoryKernels[static_cast<int>(kernel)].name;
}

struct MemoryShape {
  double rows, width;
  double elements() const { return rows * width; }
  bool operator==(const MemoryShape&) const = default;
};

struct GemmCall {
  DType dtype;
  GemmRole role;
  GemmShape shape;
  bool accumulate = false;  // C += A B
  bool operator==(const GemmCall&) const = default;
};
struct AttentionCall {
  DType dtype;
  bool backward;
  AttentionShape shape;
  bool operator==(const AttentionCall&) const = default;
};
struct MemoryCall {
  DType dtype;
  MemoryKernel kernel;
  MemoryShape shape;
  bool operator==(const MemoryCall&) const = default;
};
// One kernel call; monostate: none (a gap, a collective).
using KernelCall = std::variant<std::monostate, GemmCall, AttentionCall, MemoryCall>;

}  // namespace rehearse
