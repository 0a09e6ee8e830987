#include <cuda_fp8.h>

#include "calibration/backends/cuda/device.cuh"
#include "calibration/backends/cuda/kernels.hpp"
#include "calibration/work/values.hpp"

namespace rehearse::calibration::cuda {

namespace {

struct AsFp32 {
  using Stored = float;
  __device__ static float of(double x) { return float(x); }
};
struct AsFp16 {
  using Stored = __half;
  __device__ static __half of(double x) { return __double2half(x); }
};
struct AsBf16 {
  using Stored = __nv_bfloat16;
  __device__ static __nv_bfloat16 of(double x) { return __double2bfloat16(x); }
};
struct AsFp8 {
  using Stored = __nv_fp8_storage_t;
  __device__ static __nv_fp8_storage_t of(double x) {
    return __nv_cvt_double_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
  }
};
// A float whose significand keeps 10 bits, rounded from the double at once, ties to even. Contents are far
// from the subnormals.
struct AsTf32 {
  using Stored = float;
  __device__ static float of(double x) {
    constexpr int cut = 52 - 10;
    const auto bits = static_cast<unsigned long long>(__double_as_longlong(x));
    const unsigned long long even = bits >> cut & 1;
    const unsigned long long rounded = (bits + ((1ull << (cut - 1)) - 1) + even) >> cut << cut;
    return float(__longlong_as_double(static_cast<long long>(rounded)));
  }
};

template <class Type>
__global__ void fill_normal(typename Type::Stored* data, int64_t count, uint64_t seed, double scale) {
  const int64_t step = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    data[i] = Type::of(value_at(seed, uint64_t(i)) * scale);
}

__global__ void fill_mask(uint8_t* data, int64_t count, uint64_t seed) {
  const int64_t step = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    data[i] = mask_at(seed, uint64_t(i));
}

__global__ void fill_tokens(int32_t* data, int64_t count, uint64_t seed, int64_t bound) {
  const int64_t step = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    data[i] = token_at(seed, uint64_t(i), bound);
}

__global__ void empty_kernel() {}

constexpr int kThreads = 256;
unsigned blocks(int64_t count) {
  return unsigned(std::min<int64_t>((count + kThreads - 1) / kThreads, 16384));
}

template <class Type>
void normal(const Tensor& t, cudaStream_t stream) {
  fill_normal<Type><<<blocks(t.spec.count), kThreads, 0, stream>>>(
      static_cast<typename Type::Stored*>(t.data), t.spec.count, t.spec.seed, t.spec.scale);
}

void fill_normals(const Tensor& t, cudaStream_t stream) {
  switch (t.spec.dtype) {
    case DType::fp32:
      return normal<AsFp32>(t, stream);
    case DType::tf32:
      return normal<AsTf32>(t, stream);
    case DType::fp16:
      return normal<AsFp16>(t, stream);
    case DType::bf16:
      return normal<AsBf16>(t, stream);
    case DType::fp8:
      return normal<AsFp8>(t, stream);
  }
}

}  // namespace

void fill(const Tensor& tensor, cudaStream_t stream) {
  const OperandSpec& spec = tensor.spec;
  if (spec.count <= 0) return;
  switch (spec.content) {
    case Content::normal:
      fill_normals(tensor, stream);
      break;
    case Content::mask:
      fill_mask<<<blocks(spec.count), kThreads, 0, stream>>>(static_cast<uint8_t*>(tensor.data), spec.count,
                                                             spec.seed);
      break;
    case Content::tokens:
      fill_tokens<<<blocks(spec.count), kThreads, 0, stream>>>(static_cast<int32_t*>(tensor.data), spec.count,
                                                               spec.seed, spec.bound);
      break;
    case Content::zero:
      check(cudaMemsetAsync(tensor.data, 0, size_t(spec.bytes()), stream), "clear a buffer");
      break;
  }
  check(cudaGetLastError(), "fill a buffer");
}

void launch_empty(cudaStream_t stream) {
  empty_kernel<<<1, 32, 0, stream>>>();
  check(cudaGetLastError(), "launch the empty kernel");
}

std::optional<std::string> refuses_memory(const MemoryCall& call) {
  if (call.dtype == DType::fp32 || is_16_bit(call.dtype)) return std::nullopt;
  return "memory-bound kernels take fp32, fp16 and bf16";
}

void run_memory(const MemoryCall& call, std::span<const Tensor> operands, cudaStream_t stream) {
  if (!run_elementwise(call, operands, stream) && !run_rows(call, operands, stream))
    throw BackendError("no kernel for " + std::string(name_of(call.kernel)));
  check(cudaGetLastError(), "launch a memory-bound kernel");
}

}  // namespace rehearse::calibration::cuda
