// The backend on NVIDIA GPUs: kernels by cuBLASLt, cuDNN and its own code, collectives by NCCL.
#pragma once
#include <vector>

#include "calibration/backends/backend.hpp"
#include "calibration/backends/cuda/attention.hpp"
#include "calibration/backends/cuda/collectives.hpp"
#include "calibration/backends/cuda/device.hpp"
#include "calibration/backends/cuda/gemm.hpp"
#include "calibration/backends/cuda/recording.hpp"

namespace rehearse::calibration::cuda {

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(Ranks& ranks);
  ~CudaBackend() override;

  Environment environment() override;
  std::optional<std::string> refuses(const Work& work) const override;
  void* allocate(size_t bytes) override;
  void release(void* data) override;
  void fill(const Tensor& tensor) override;
  std::vector<double> read(const Tensor& tensor, int64_t first, int64_t count) override;
  Elapsed time(std::span<const Call> calls, Clocking clocking) override;
  std::pair<Elapsed, Elapsed> time_beside(std::span<const Call> kernels, std::span<const Call> collectives,
                                          int channels) override;
  std::vector<Span> execute(std::span<const Step> steps) override;
  Health health() override;

 private:
  // A queue of work and the workspace of what runs there.
  struct Lane {
    Stream stream = make_stream();
    std::unique_ptr<Scratch> scratch = std::make_unique<Scratch>();
  };

  Lane& lane(int index);
  // What cannot happen while a stream is recorded or timed: plans, workspaces, communicators.
  void prepare(const Call& call, Lane& lane, int channels);
  void prepare(std::span<const Call> calls, Lane& lane, int channels);
  void issue(const Call& call, Lane& lane, int channels);
  void record_calls(std::span<const Call> calls, Lane& lane);
  void finish(const Event& last, bool collectives);
  void have_events(size_t count);

  Ranks& ranks_;
  Device device_;
  Nvml nvml_;
  std::unique_ptr<Gemms> gemms_;
  std::unique_ptr<Attentions> attentions_;
  std::unique_ptr<Collectives> collectives_;
  std::vector<Lane> lanes_;
  std::vector<Event> events_;
  Recording recording_;
};

}  // namespace rehearse::calibration::cuda
