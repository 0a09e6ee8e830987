// Kernels along rows: a block a row, N elements a thread and step. What a kernel needs twice is kept in
// shared memory where the row fits; each thread reads back only what it has put there.
#include <algorithm>

#include "calibration/backends/cuda/device.cuh"
#include "calibration/backends/cuda/kernels.hpp"

namespace rehearse::calibration::cuda {

namespace {

constexpr size_t kKept = 47 * 1024;  // dynamic shared memory that no device refuses, beside the static

extern __shared__ uint4 shared_memory[];

__device__ inline float sum_over_block(float x) { return over_block(x, Sum{}, 0.0f); }
__device__ inline float max_over_block(float x) { return over_block(x, Max{}, -INFINITY); }

// Where a row's elements are read the second time.
template <class T>
struct Kept {
  const T* row;
  T* copy;  // null: not kept
  template <int N>
  __device__ Pack<T, N> first(int c) const {
    const auto pack = load<N>(row + c);
    if (copy) store(copy + c, pack);
    return pack;
  }
  template <int N>
  __device__ Pack<T, N> again(int c) const {
    return load<N>((copy ? copy : row) + c);
  }
};
template <class T>
__device__ inline Kept<T> keep(const T* data, int width, bool kept, int place = 0) {
  T* copy = reinterpret_cast<T*>(shared_memory) + int64_t(place) * width;
  return {data + int64_t(blockIdx.x) * width, kept ? copy : nullptr};
}

template <class T, int N>
__global__ void __launch_bounds__(1024)
    norm(const T* x, const T* gain, const T* bias, T* y, float* means, float* rstds, int width, bool kept) {
  const auto row = keep(x, width, kept);
  const int start = int(threadIdx.x) * N, step = int(blockDim.x) * N;
  float sum = 0, squares = 0;
  for (int c = start; c < width; c += step) {
    const auto p = row.template first<N>(c);
    for (int j = 0; j < N; ++j) sum += widened(p.v[j]);
  }
  const float mean = sum_over_block(sum) / float(width);
  for (int c = start; c < width; c += step) {
    const auto p = row.template again<N>(c);
    for (int j = 0; j < N; ++j) squares += (widened(p.v[j]) - mean) * (widened(p.v[j]) - mean);
  }
  const float rstd = rsqrtf(sum_over_block(squares) / float(width) + 1e-5f);
  if (threadIdx.x == 0) means[blockIdx.x] = mean, rstds[blockIdx.x] = rstd;
  for (int c = start; c < width; c += step) {
    const auto p = row.template again<N>(c), g = load<N>(gain + c), b = load<N>(bias + c);
    Pack<T, N> result;
    for (int j = 0; j < N; ++j)
      result.v[j] = narrowed<T>((widened(p.v[j]) - mean) * rstd * widened(g.v[j]) + widened(b.v[j]));
    store(y + int64_t(blockIdx.x) * width + c, result);
  }
}

template <class T, int N>
__global__ void __launch_bounds__(1024)
    norm_backward(const T* x, const T* dy, const T* gain, const float* means, const float* rstds, T* dx,
                  int width, bool kept) {
  const auto xs = keep(x, width, kept), dys = keep(dy, width, kept, 1);
  const float mean = means[blockIdx.x], rstd = rstds[blockIdx.x];
  const int start = int(threadIdx.x) * N, step = int(blockDim.x) * N;
  float sum = 0, product = 0;
  for (int c = start; c < width; c += step) {
    const auto p = xs.template first<N>(c), d = dys.template first<N>(c), g = load<N>(gain + c);
    for (int j = 0; j < N; ++j) {
      const float slope = widened(d.v[j]) * widened(g.v[j]);
      sum += slope;
      product += slope * (widened(p.v[j]) - mean) * rstd;
    }
  }
  const float average = sum_over_block(sum) / float(width);
  const float correlation = sum_over_block(product) / float(width);
  for (int c = start; c < width; c += step) {
    const auto p = xs.template again<N>(c), d = dys.template again<N>(c), g = load<N>(gain + c);
    Pack<T, N> result;
    for (int j = 0; j < N; ++j) {
      const float h = (widened(p.v[j]) - mean) * rstd;
      result.v[j] = narrowed<T>(rstd * (widened(d.v[j]) * widened(g.v[j]) - average - h * correlation));
    }
    store(dx + int64_t(blockIdx.x) * width + c, result);
  }
}

constexpr int kSumRows = 8;  // threads of a block along the rows

// dgain and dbias, which are 0 before: a block sums 32 N columns of some rows.
template <class T, int N>
__global__ void norm_sums(const T* x, const T* dy, const float* means, const float* rstds, float* dgain,
                          float* dbias, int64_t rows, int width, int64_t rows_a_block) {
  __shared__ float parts[2][kSumRows][32];
  const int c = (int(blockIdx.x) * 32 + int(threadIdx.x)) * N;
  const int64_t end = min(rows, (int64_t(blockIdx.y) + 1) * rows_a_block);
  float gains[N] = {}, biases[N] = {};
  for (int64_t r = int64_t(blockIdx.y) * rows_a_block + threadIdx.y; r < end && c < width; r += kSumRows) {
    const auto p = load<N>(x + r * width + c), d = load<N>(dy + r * width + c);
    for (int j = 0; j < N; ++j) {
      gains[j] += widened(d.v[j]) * (widened(p.v[j]) - means[r]) * rstds[r];
      biases[j] += widened(d.v[j]);
    }
  }
  for (int j = 0; j < N; ++j) {
    parts[0][threadIdx.y][threadIdx.x] = gains[j];
    parts[1][threadIdx.y][threadIdx.x] = biases[j];
    __syncthreads();
    if (threadIdx.y < 2 && c < width) {
      float sum = 0;
      for (int k = 0; k < kSumRows; ++k) sum += parts[threadIdx.y][k][threadIdx.x];
      atomicAdd((threadIdx.y == 0 ? dgain : dbias) + c + j, sum);
    }
    __syncthreads();
  }
}

// Columns up to the row's own number, modulo the width, take part.
template <class T, int N>
__global__ void __launch_bounds__(1024) softmax(const T* x, T* y, int width, bool kept) {
  const auto row = keep(x, width, kept);
  const int seen = int(blockIdx.x % unsigned(width)) + 1;
  const int start = int(threadIdx.x) * N, step = int(blockDim.x) * N;
  float most = -INFINITY, sum = 0;
  for (int c = start; c < seen; c += step) {
    const auto p = row.template first<N>(c);
    for (int j = 0; j < N; ++j)
      if (c + j < seen) most = fmaxf(most, widened(p.v[j]));
  }
  most = max_over_block(most);
  for (int c = start; c < seen; c += step) {
    const auto p = row.template again<N>(c);
    for (int j = 0; j < N; ++j)
      if (c + j < seen) sum += __expf(widened(p.v[j]) - most);
  }
  const float inverse = 1 / sum_over_block(sum);
  for (int c = start; c < width; c += step) {
    Pack<T, N> result, p{};
    if (c < seen) p = row.template again<N>(c);
    for (int j = 0; j < N; ++j)
      result.v[j] = narrowed<T>(c + j < seen ? __expf(widened(p.v[j]) - most) * inverse : 0.0f);
    store(y + int64_t(blockIdx.x) * width + c, result);
  }
}

template <class T, int N>
__global__ void __launch_bounds__(1024)
    softmax_backward(const T* y, const T* dy, T* dx, int width, bool kept) {
  const auto ys = keep(y, width, kept), dys = keep(dy, width, kept, 1);
  const int start = int(threadIdx.x) * N, step = int(blockDim.x) * N;
  float product = 0;
  for (int c = start; c < width; c += step) {
    const auto p = ys.template first<N>(c), d = dys.template first<N>(c);
    for (int j = 0; j < N; ++j) product += widened(p.v[j]) * widened(d.v[j]);
  }
  product = sum_over_block(product);
  for (int c = start; c < width; c += step) {
    const auto p = ys.template again<N>(c), d = dys.template again<N>(c);
    Pack<T, N> result;
    for (int j = 0; j < N; ++j) result.v[j] = narrowed<T>(widened(p.v[j]) * (widened(d.v[j]) - product));
    store(dx + int64_t(blockIdx.x) * width + c, result);
  }
}

// The largest logit and the sum of exponentials below it, in one reading.
template <class T, int N>
__device__ inline float2 exponentials(const Kept<T>& row, int width) {
  float most = -INFINITY, sum = 0;
  for (int c = int(threadIdx.x) * N; c < width; c += int(blockDim.x) * N) {
    const auto p = row.template first<N>(c);
    float top = most;
    for (int j = 0; j < N; ++j) top = fmaxf(top, widened(p.v[j]));
    sum *= __expf(most - top);
    for (int j = 0; j < N; ++j) sum += __expf(widened(p.v[j]) - top);
    most = top;
  }
  const float top = max_over_block(most);
  return make_float2(top, sum_over_block(sum * __expf(most - top)));
}

template <class T, int N>
__global__ void __launch_bounds__(1024)
    cross_entropy(const T* logits, const int32_t* targets, float* loss, int width) {
  const auto row = keep(logits, width, false);
  const float2 e = exponentials<T, N>(row, width);
  if (threadIdx.x == 0) loss[blockIdx.x] = logf(e.y) + e.x - widened(row.row[targets[blockIdx.x]]);
}

template <class T, int N>
__global__ void __launch_bounds__(1024)
    cross_entropy_backward(T* logits, const int32_t* targets, int width, bool kept) {
  const auto row = keep<T>(logits, width, kept);
  const float2 e = exponentials<T, N>(row, width);
  const int target = targets[blockIdx.x];
  for (int c = int(threadIdx.x) * N; c < width; c += int(blockDim.x) * N) {
    auto p = row.template again<N>(c);
    for (int j = 0; j < N; ++j)
      p.v[j] = narrowed<T>(__expf(widened(p.v[j]) - e.x) / e.y - (c + j == target ? 1.0f : 0.0f));
    store(logits + int64_t(blockIdx.x) * width + c, p);
  }
}

template <class T, int N>
__global__ void embedding(const T* table, const int32_t* tokens, T* y, int width) {
  const T* from = table + int64_t(tokens[blockIdx.x]) * width;
  for (int c = int(threadIdx.x) * N; c < width; c += int(blockDim.x) * N)
    store(y + int64_t(blockIdx.x) * width + c, load<N>(from + c));
}

template <class T, int N>
__global__ void embedding_backward(const int32_t* tokens, const T* dy, float* gradient, int width) {
  float* to = gradient + int64_t(tokens[blockIdx.x]) * width;
  for (int c = int(threadIdx.x) * N; c < width; c += int(blockDim.x) * N) {
    const auto p = load<N>(dy + int64_t(blockIdx.x) * width + c);
    for (int j = 0; j < N; ++j) atomicAdd(to + c + j, widened(p.v[j]));
  }
}

template <class T, int N>
__global__ void rope(const T* x, const float* cosines, const float* sines, T* y, int width, int head,
                     int positions) {
  const int64_t base = int64_t(blockIdx.x) * width;
  const int at = int(blockIdx.x % unsigned(positions)) * (head / 2);
  for (int c = int(threadIdx.x) * N; c < width; c += int(blockDim.x) * N) {
    auto p = load<N>(x + base + c);
    for (int j = 0; j < N; j += 2) {
      const int pair = at + (c + j) % head / 2;
      const float a = widened(p.v[j]), b = widened(p.v[j + 1]);
      p.v[j] = narrowed<T>(a * cosines[pair] - b * sines[pair]);
      p.v[j + 1] = narrowed<T>(a * sines[pair] + b * cosines[pair]);
    }
    store(y + base + c, p);
  }
}

__global__ void square_sum(const float* x, float* result, int64_t count) {
  const int64_t thread = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t threads = int64_t(gridDim.x) * blockDim.x, whole = count / 4;
  float sum = 0;
  for (int64_t i = thread; i < whole; i += threads) {
    const auto p = load<4>(x + i * 4);
    for (int j = 0; j < 4; ++j) sum += p.v[j] * p.v[j];
  }
  if (const int64_t i = whole * 4 + thread; i < count) sum += x[i] * x[i];
  sum = sum_over_block(sum);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

// How the rows of a call are laid over blocks.
struct Rows {
  unsigned rows;
  int width, threads;
  bool kept;
  size_t shared;
};

Rows rows_of(const MemoryCall& call, int pack, int kept_rows, size_t element) {
  Rows r{unsigned(call.shape.rows), int(call.shape.width), 0, false, 0};
  const int packs = (r.width + pack - 1) / pack;
  r.threads = std::clamp((packs + 63) / 64 * 32, 32, 1024);  // two packs a thread or more
  const size_t bytes = size_t(kept_rows) * size_t(r.width) * element;
  r.kept = kept_rows > 0 && bytes <= kKept;
  r.shared = r.kept ? bytes : 0;
  return r;
}

template <class T, int N>
void launch_norm_backward(const MemoryCall& call, std::span<const Tensor> o, cudaStream_t stream) {
  const Rows r = rows_of(call, N, 2, sizeof(T));
  norm_backward<T, N><<<r.rows, r.threads, r.shared, stream>>>(
      in<T>(o, 0), in<T>(o, 1), in<T>(o, 2), in<float>(o, 3), in<float>(o, 4), out<T>(o, 5), r.width, r.kept);
  for (int i : {6, 7})
    check(cudaMemsetAsync(o[size_t(i)].data, 0, size_t(o[size_t(i)].spec.bytes()), stream), "clear sums");
  const unsigned across = unsigned((r.width + 32 * N - 1) / (32 * N));
  const int64_t rows = r.rows, down = std::clamp<int64_t>(1024 / across, 1, (rows + kSumRows - 1) / kSumRows);
  const int64_t rows_a_block = (rows + down - 1) / down;
  norm_sums<T, N><<<dim3(across, unsigned(down)), dim3(32, kSumRows), 0, stream>>>(
      in<T>(o, 0), in<T>(o, 1), in<float>(o, 3), in<float>(o, 4), out<float>(o, 6), out<float>(o, 7), rows,
      r.width, rows_a_block);
}

// What goes the same way for every pack.
template <class T, int N>
bool run_packed(const MemoryCall& call, std::span<const Tensor> o, cudaStream_t stream) {
  const Rows one = rows_of(call, N, 1, sizeof(T)), two = rows_of(call, N, 2, sizeof(T));
  switch (call.kernel) {
    case MemoryKernel::norm:
      norm<T, N><<<one.rows, one.threads, one.shared, stream>>>(in<T>(o, 0), in<T>(o, 1), in<T>(o, 2),
                                                                out<T>(o, 3), out<float>(o, 4),
                                                                out<float>(o, 5), one.width, one.kept);
      return true;
    case MemoryKernel::norm_backward:
      launch_norm_backward<T, N>(call, o, stream);
      return true;
    case MemoryKernel::softmax:
      softmax<T, N>
          <<<one.rows, one.threads, one.shared, stream>>>(in<T>(o, 0), out<T>(o, 1), one.width, one.kept);
      return true;
    case MemoryKernel::softmax_backward:
      softmax_backward<T, N><<<two.rows, two.threads, two.shared, stream>>>(
          in<T>(o, 0), in<T>(o, 1), out<T>(o, 2), two.width, two.kept);
      return true;
    case MemoryKernel::cross_entropy:
      cross_entropy<T, N>
          <<<one.rows, one.threads, 0, stream>>>(in<T>(o, 0), in<int32_t>(o, 1), out<float>(o, 2), one.width);
      return true;
    case MemoryKernel::cross_entropy_backward:
      cross_entropy_backward<T, N><<<one.rows, one.threads, one.shared, stream>>>(
          out<T>(o, 0), in<int32_t>(o, 1), one.width, one.kept);
      return true;
    case MemoryKernel::embedding:
      embedding<T, N>
          <<<one.rows, one.threads, 0, stream>>>(in<T>(o, 0), in<int32_t>(o, 1), out<T>(o, 2), one.width);
      return true;
    case MemoryKernel::embedding_backward:
      embedding_backward<T, N>
          <<<one.rows, one.threads, 0, stream>>>(in<int32_t>(o, 0), in<T>(o, 1), out<float>(o, 2), one.width);
      return true;
    default:
      return false;
  }
}

template <class T, int N>
void launch_rope(const MemoryCall& call, std::span<const Tensor> o, cudaStream_t stream) {
  const Rows r = rows_of(call, N, 0, sizeof(T));
  rope<T, N><<<r.rows, r.threads, 0, stream>>>(in<T>(o, 0), in<float>(o, 1), in<float>(o, 2), out<T>(o, 3),
                                               r.width, int(rope_head(r.width)),
                                               int(rope_positions(int64_t(r.rows))));
}

template <class T>
bool run(const MemoryCall& call, std::span<const Tensor> operands, cudaStream_t stream) {
  constexpr int N = 16 / sizeof(T);
  const bool whole = int64_t(call.shape.width) % N == 0;
  if (call.kernel == MemoryKernel::rope) {
    whole ? launch_rope<T, N>(call, operands, stream) : launch_rope<T, 2>(call, operands, stream);
    return true;
  }
  return whole ? run_packed<T, N>(call, operands, stream) : run_packed<T, 1>(call, operands, stream);
}

}  // namespace

bool run_rows(const MemoryCall& call, std::span<const Tensor> operands, cudaStream_t stream) {
  if (call.kernel == MemoryKernel::square_sum) {
    const int64_t count = operands[0].spec.count;
    check(cudaMemsetAsync(operands[1].data, 0, sizeof(float), stream), "clear a sum");
    const unsigned blocks = unsigned(std::clamp<int64_t>(count / 4096, 1, 2048));
    square_sum<<<blocks, 256, 0, stream>>>(in<float>(operands, 0), out<float>(operands, 1), count);
    return true;
  }
  if (call.dtype == DType::fp16) return run<__half>(call, operands, stream);
  if (call.dtype == DType::bf16) return run<__nv_bfloat16>(call, operands, stream);
  return run<float>(call, operands, stream);
}

}  // namespace rehearse::calibration::cuda
