// Shared by the kernels: types as floats, vectors of 16 bytes, sums over a block.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "calibration/backends/cuda/cuda.hpp"
#include "calibration/work/operands.hpp"

namespace rehearse::calibration::cuda {

template <class T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Pack {
  T v[N];
};

__device__ inline float widened(float x) { return x; }
__device__ inline float widened(__half x) { return __half2float(x); }
__device__ inline float widened(__nv_bfloat16 x) { return __bfloat162float(x); }
template <class T>
__device__ T narrowed(float x);
template <>
__device__ inline float narrowed<float>(float x) {
  return x;
}
template <>
__device__ inline __half narrowed<__half>(float x) {
  return __float2half_rn(x);
}
template <>
__device__ inline __nv_bfloat16 narrowed<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}

template <int N, class T>
__device__ inline Pack<T, N> load(const T* data) {
  return *reinterpret_cast<const Pack<T, N>*>(data);
}
template <int N, class T>
__device__ inline void store(T* data, const Pack<T, N>& pack) {
  *reinterpret_cast<Pack<T, N>*>(data) = pack;
}

struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Max {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

// The same value in every thread. All threads of a block of whole warps call it.
template <class Combine>
__device__ inline float over_block(float x, Combine combine, float neutral) {
  __shared__ float parts[32];
  for (int step = 16; step > 0; step /= 2) x = combine(x, __shfl_xor_sync(0xffffffffu, x, step));
  const int warps = int(blockDim.x) / 32, warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  if (warps == 1) return x;
  __syncthreads();  // `parts` may still be read from the call before
  if (lane == 0) parts[warp] = x;
  __syncthreads();
  x = lane < warps ? parts[lane] : neutral;
  for (int step = 16; step > 0; step /= 2) x = combine(x, __shfl_xor_sync(0xffffffffu, x, step));
  return x;
}

template <class T>
const T* in(std::span<const Tensor> operands, int i) {
  return static_cast<const T*>(operands[size_t(i)].data);
}
template <class T>
T* out(std::span<const Tensor> operands, int i) {
  return static_cast<T*>(operands[size_t(i)].data);
}

}  // namespace rehearse::calibration::cuda
