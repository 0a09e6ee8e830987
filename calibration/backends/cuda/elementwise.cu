// Kernels that treat every element alike: 16 bytes of the type a thread and step, arithmetic in fp32.
#include "calibration/backends/cuda/device.cuh"
#include "calibration/backends/cuda/kernels.hpp"

namespace rehearse::calibration::cuda {

namespace {

constexpr int kThreads = 256;
constexpr float kKeep = 0.9f, kGeluA = 0.7978845608028654f, kGeluB = 0.044715f;

// x: inputs in order, m: mask, y: results.
struct Copy {
  static constexpr int inputs = 1, outputs = 1, mask = 0;
  __device__ static void run(const float* x, float, float* y) { y[0] = x[0]; }
};
struct Add {
  static constexpr int inputs = 2, outputs = 1, mask = 0;
  __device__ static void run(const float* x, float, float* y) { y[0] = x[0] + x[1]; }
};
struct Dropout {
  static constexpr int inputs = 1, outputs = 1, mask = 1;
  __device__ static void run(const float* x, float m, float* y) { y[0] = x[0] * m / kKeep; }
};
struct DropoutAdd {
  static constexpr int inputs = 2, outputs = 1, mask = 1;
  __device__ static void run(const float* x, float m, float* y) { y[0] = x[0] + x[1] * m / kKeep; }
};
struct Gelu {
  static constexpr int inputs = 1, outputs = 1, mask = 0;
  __device__ static void run(const float* x, float, float* y) {
    const float u = kGeluA * (x[0] + kGeluB * x[0] * x[0] * x[0]);
    y[0] = 0.5f * x[0] * (1 + tanhf(u));
  }
};
struct GeluBackward {
  static constexpr int inputs = 2, outputs = 1, mask = 0;
  __device__ static void run(const float* x, float, float* y) {
    const float t = tanhf(kGeluA * (x[0] + kGeluB * x[0] * x[0] * x[0]));
    const float slope = 1 + t + x[0] * (1 - t * t) * kGeluA * (1 + 3 * kGeluB * x[0] * x[0]);
    y[0] = 0.5f * x[1] * slope;
  }
};
struct SwiGlu {
  static constexpr int inputs = 2, outputs = 1, mask = 0;
  __device__ static void run(const float* x, float, float* y) { y[0] = x[0] / (1 + __expf(-x[0])) * x[1]; }
};
struct SwiGluBackward {
  static constexpr int inputs = 3, outputs = 2, mask = 0;
  __device__ static void run(const float* x, float, float* y) {
    const float s = 1 / (1 + __expf(-x[0]));
    y[0] = x[2] * x[1] * s * (1 + x[0] * (1 - s));
    y[1] = x[2] * x[0] * s;
  }
};

template <class T>
struct Addresses {
  const T* in[3];
  const uint8_t* mask;
  T* out[2];
};

template <class Op, int N, class T>
__device__ inline void at(const Addresses<T>& a, int64_t i) {
  Pack<T, N> x[Op::inputs], y[Op::outputs];
  Pack<uint8_t, N> m{};
  for (int k = 0; k < Op::inputs; ++k) x[k] = load<N>(a.in[k] + i);
  if constexpr (Op::mask == 1) m = load<N>(a.mask + i);
  for (int j = 0; j < N; ++j) {
    float from[Op::inputs], to[Op::outputs];
    for (int k = 0; k < Op::inputs; ++k) from[k] = widened(x[k].v[j]);
    Op::run(from, float(m.v[j]), to);
    for (int k = 0; k < Op::outputs; ++k) y[k].v[j] = narrowed<T>(to[k]);
  }
  for (int k = 0; k < Op::outputs; ++k) store(a.out[k] + i, y[k]);
}

template <class Op, class T>
__global__ void elementwise(Addresses<T> a, int64_t count) {
  constexpr int N = 16 / sizeof(T);
  const int64_t thread = int64_t(blockIdx.x) * blockDim.x + threadIdx.x, whole = count / N;
  if (thread < whole)
    at<Op, N>(a, thread * N);
  else if (whole * N + (thread - whole) < count)
    at<Op, 1>(a, whole * N + (thread - whole));
}

// main += gradient
template <class T>
__global__ void accumulate(const T* gradient, float* main, int64_t count) {
  constexpr int N = 16 / sizeof(T);
  const int64_t thread = int64_t(blockIdx.x) * blockDim.x + threadIdx.x, whole = count / N;
  if (thread < whole) {
    const auto g = load<N>(gradient + thread * N);
    auto sum = load<N>(main + thread * N);
    for (int j = 0; j < N; ++j) sum.v[j] += widened(g.v[j]);
    store(main + thread * N, sum);
  } else if (const int64_t i = whole * N + (thread - whole); i < count) {
    main[i] += widened(gradient[i]);
  }
}

template <class T>
__device__ inline void adam_step(float gradient, float& master, float& first, float& second, T& weight) {
  first = 0.9f * first + 0.1f * gradient;
  second = 0.95f * fabsf(second) + 0.05f * gradient * gradient;
  master -= 1e-3f * (first / (sqrtf(second) + 1e-8f) + 0.1f * master);
  weight = narrowed<T>(master);
}

template <class T>
__global__ void adam(const float* gradient, float* master, float* first, float* second, T* weights,
                     int64_t count) {
  constexpr int N = 4;
  const int64_t thread = int64_t(blockIdx.x) * blockDim.x + threadIdx.x, whole = count / N;
  if (thread < whole) {
    const int64_t i = thread * N;
    const auto g = load<N>(gradient + i);
    auto p = load<N>(master + i), a = load<N>(first + i), b = load<N>(second + i);
    Pack<T, N> w;
    for (int j = 0; j < N; ++j) adam_step(g.v[j], p.v[j], a.v[j], b.v[j], w.v[j]);
    store(master + i, p);
    store(first + i, a);
    store(second + i, b);
    store(weights + i, w);
  } else if (const int64_t i = whole * N + (thread - whole); i < count) {
    adam_step(gradient[i], master[i], first[i], second[i], weights[i]);
  }
}

// Blocks of one thread a pack, and one an element of the rest.
unsigned blocks(int64_t count, int64_t pack) {
  return unsigned((count / pack + count % pack + kThreads - 1) / kThreads);
}

template <class Op, class T>
void launch(std::span<const Tensor> operands, cudaStream_t stream) {
  Addresses<T> a{};
  int next = 0;
  for (int k = 0; k < Op::inputs; ++k) a.in[k] = in<T>(operands, next++);
  if (Op::mask) a.mask = in<uint8_t>(operands, next++);
  const int64_t count = operands[size_t(next)].spec.count;
  for (int k = 0; k < Op::outputs; ++k) a.out[k] = out<T>(operands, next++);
  elementwise<Op, T><<<blocks(count, 16 / sizeof(T)), kThreads, 0, stream>>>(a, count);
}

template <class T>
bool run(const MemoryCall& call, std::span<const Tensor> operands, cudaStream_t stream) {
  const int64_t count = operands[0].spec.count;
  switch (call.kernel) {
    case MemoryKernel::copy:
      launch<Copy, T>(operands, stream);
      return true;
    case MemoryKernel::add:
      launch<Add, T>(operands, stream);
      return true;
    case MemoryKernel::dropout:
    case MemoryKernel::dropout_backward:
      launch<Dropout, T>(operands, stream);
      return true;
    case MemoryKernel::dropout_add:
      launch<DropoutAdd, T>(operands, stream);
      return true;
    case MemoryKernel::gelu:
      launch<Gelu, T>(operands, stream);
      return true;
    case MemoryKernel::gelu_backward:
      launch<GeluBackward, T>(operands, stream);
      return true;
    case MemoryKernel::swiglu:
      launch<SwiGlu, T>(operands, stream);
      return true;
    case MemoryKernel::swiglu_backward:
      launch<SwiGluBackward, T>(operands, stream);
      return true;
    case MemoryKernel::accumulate:
      accumulate<T><<<blocks(count, 16 / sizeof(T)), kThreads, 0, stream>>>(in<T>(operands, 0),
                                                                            out<float>(operands, 1), count);
      return true;
    case MemoryKernel::adam:
      adam<T><<<blocks(count, 4), kThreads, 0, stream>>>(in<float>(operands, 0), out<float>(operands, 1),
                                                         out<float>(operands, 2), out<float>(operands, 3),
                                                         out<T>(operands, 4), count);
      return true;
    default:
      return false;
  }
}

}  // namespace

bool run_elementwise(const MemoryCall& call, std::span<const Tensor> operands, cudaStream_t stream) {
  if (call.dtype == DType::fp16) return run<__half>(call, operands, stream);
  if (call.dtype == DType::bf16) return run<__nv_bfloat16>(call, operands, stream);
  return run<float>(call, operands, stream);
}

}  // namespace rehearse::calibration::cuda
