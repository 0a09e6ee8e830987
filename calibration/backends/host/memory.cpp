#include "calibration/backends/host/memory.hpp"

#include "calibration/backends/host/kernels.hpp"

namespace rehearse::calibration::host {
namespace {

MemoryFunction function_of(MemoryKernel kernel) {
  switch (kernel) {
    case MemoryKernel::copy:
      return copy;
    case MemoryKernel::add:
      return add;
    case MemoryKernel::norm:
      return norm;
    case MemoryKernel::norm_backward:
      return norm_backward;
    case MemoryKernel::softmax:
      return softmax;
    case MemoryKernel::softmax_backward:
      return softmax_backward;
    case MemoryKernel::dropout:
    case MemoryKernel::dropout_backward:
      return dropout;
    case MemoryKernel::dropout_add:
      return dropout_add;
    case MemoryKernel::gelu:
      return gelu;
    case MemoryKernel::gelu_backward:
      return gelu_backward;
    case MemoryKernel::swiglu:
      return swiglu;
    case MemoryKernel::swiglu_backward:
      return swiglu_backward;
    case MemoryKernel::rope:
      return rope;
    case MemoryKernel::embedding:
      return embedding;
    case MemoryKernel::embedding_backward:
      return embedding_backward;
    case MemoryKernel::cross_entropy:
      return cross_entropy;
    case MemoryKernel::cross_entropy_backward:
      return cross_entropy_backward;
    case MemoryKernel::accumulate:
      return accumulate;
    case MemoryKernel::square_sum:
      return square_sum;
    case MemoryKernel::adam:
      return adam;
  }
  return copy;
}

}  // namespace

void run_memory(const MemoryCall& call, Tensors operands) {
  function_of(call.kernel)(operands, int64_t(call.shape.rows), int64_t(call.shape.width));
}

}  // namespace rehearse::calibration::host
