// CUDA errors as BackendErrors, and what owns streams, events and memory.
#pragma once
#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <utility>

#include "calibration/backends/backend.hpp"

namespace rehearse::calibration::cuda {

inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // clears what is not sticky
  throw BackendError(std::string("CUDA: cannot ") + what + ": " + cudaGetErrorString(status));
}

struct StreamDeleter {
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
};
struct EventDeleter {
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
};
using Stream = std::unique_ptr<CUstream_st, StreamDeleter>;
using Event = std::unique_ptr<CUevent_st, EventDeleter>;

inline Stream make_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "create a stream");
  return Stream(stream);
}
inline Event make_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event), "create an event");
  return Event(event);
}
inline void record(const Event& event, const Stream& stream) {
  check(cudaEventRecord(event.get(), stream.get()), "record an event");
}
inline void wait(const Stream& stream, const Event& event) {
  check(cudaStreamWaitEvent(stream.get(), event.get(), 0), "wait for an event");
}
inline double seconds_between(const Event& start, const Event& stop) {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, start.get(), stop.get()), "read two events");
  return double(milliseconds) * 1e-3;
}

// Device memory that grows on demand. What stood in it is lost. Whoever keeps addresses of it (a recorded
// graph) asks for the generation, which changes with each growth.
class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { cudaFree(data_); }
  void* of(size_t bytes) {
    if (bytes <= bytes_) return data_;
    check(cudaDeviceSynchronize(), "wait for the device");
    cudaFree(data_);
    data_ = nullptr;
    bytes_ = 0;
    ++generation_;
    check(cudaMalloc(&data_, bytes), "allocate a workspace");
    bytes_ = bytes;
    return data_;
  }
  int generation() const { return generation_; }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
  int generation_ = 0;
};

}  // namespace rehearse::calibration::cuda
