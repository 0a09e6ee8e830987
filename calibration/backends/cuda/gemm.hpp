// GEMMs by cuBLASLt.
#pragma once
#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "calibration/work/operands.hpp"

namespace rehearse::calibration::cuda {

class Gemms {
 public:
  // `candidates`: of the heuristic's list, so many are timed once for each call, and the fastest is kept; 1:
  // the first, as frameworks do.
  explicit Gemms(int candidates);
  ~Gemms();
  Gemms(const Gemms&) = delete;
  Gemms& operator=(const Gemms&) = delete;

  static constexpr size_t kWorkspace = 64u << 20;
  static std::string version();  // "cuBLASLt 13.1.0"

  std::optional<std::string> refuses(const GemmCall& call);
  // Chooses the algorithm; allocates and waits, so not while a stream is recorded.
  void prepare(const GemmCall& call, std::span<const Tensor> operands, void* workspace, cudaStream_t stream);
  // D = A B (+ C), in place. `workspace`: kWorkspace bytes that no other stream uses meanwhile.
  void run(const GemmCall& call, std::span<const Tensor> operands, void* workspace, cudaStream_t stream);

 private:
  struct Plan;
  Plan& plan_of(const GemmCall& call);

  int candidates_;
  cublasLtHandle_t handle_ = nullptr;
  std::vector<std::pair<GemmCall, std::unique_ptr<Plan>>> plans_;
  size_t latest_ = 0;  // of plans_: calls repeat
};

}  // namespace rehearse::calibration::cuda
