#include "calibration/backends/cuda/gemm.hpp"

#include <algorithm>
#include <limits>

#include "calibration/backends/cuda/cuda.hpp"
#include "calibration/backends/cuda/layout.hpp"

namespace rehearse::calibration::cuda {

namespace {

void check_blas(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw BackendError(std::string("cuBLASLt: cannot ") + what + ": " + cublasLtGetStatusString(status));
}

struct MatrixDeleter {
  void operator()(cublasLtMatrixLayout_t layout) const { cublasLtMatrixLayoutDestroy(layout); }
};
struct OperationDeleter {
  void operator()(cublasLtMatmulDesc_t operation) const { cublasLtMatmulDescDestroy(operation); }
};
struct PreferenceDeleter {
  void operator()(cublasLtMatmulPreference_t preference) const {
    cublasLtMatmulPreferenceDestroy(preference);
  }
};
using MatrixLayout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, MatrixDeleter>;
using Operation = std::unique_ptr<cublasLtMatmulDescOpaque_t, OperationDeleter>;
using Preference = std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, PreferenceDeleter>;

cudaDataType_t stored_as(DType type) {
  switch (type) {
    case DType::fp16:
      return CUDA_R_16F;
    case DType::bf16:
      return CUDA_R_16BF;
    case DType::fp8:
      return CUDA_R_8F_E4M3;
    case DType::fp32:
    case DType::tf32:
      break;
  }
  return CUDA_R_32F;
}

// As operands.hpp says: fp32 for weight gradients and tf32, bf16 for fp8, else the type.
cudaDataType_t result_of(const GemmCall& call) {
  if (call.role == GemmRole::weight_gradient) return CUDA_R_32F;
  return call.dtype == DType::fp8 ? CUDA_R_16BF : stored_as(call.dtype);
}

MatrixLayout describe(const Matrix& matrix, cudaDataType_t type, int64_t batch) {
  cublasLtMatrixLayout_t layout = nullptr;
  check_blas(cublasLtMatrixLayoutCreate(&layout, type, uint64_t(matrix.rows), uint64_t(matrix.columns),
                                        matrix.leading),
             "describe a matrix");
  MatrixLayout owned(layout);
  const auto count = int32_t(batch);
  check_blas(
      cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
      "set a batch");
  check_blas(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                              &matrix.stride, sizeof matrix.stride),
             "set a batch");
  return owned;
}

Operation describe(const GemmLayout& layout, DType type) {
  const cublasComputeType_t compute = type == DType::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  cublasLtMatmulDesc_t operation = nullptr;
  check_blas(cublasLtMatmulDescCreate(&operation, compute, CUDA_R_32F), "describe a GEMM");
  Operation owned(operation);
  const auto transpose = [&](cublasLtMatmulDescAttributes_t name, const Matrix& matrix) {
    const cublasOperation_t op = matrix.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    check_blas(cublasLtMatmulDescSetAttribute(operation, name, &op, sizeof op), "describe a GEMM");
  };
  transpose(CUBLASLT_MATMUL_DESC_TRANSA, layout.first);
  transpose(CUBLASLT_MATMUL_DESC_TRANSB, layout.second);
  return owned;
}

}  // namespace

struct Gemms::Plan {
  Operation operation;
  MatrixLayout first, second, result;
  std::vector<cublasLtMatmulAlgo_t> algorithms;  // best first; one once chosen
  std::string refused;                           // why there are none

  cublasStatus_t run(cublasLtHandle_t handle, const GemmCall& call, const cublasLtMatmulAlgo_t& algorithm,
                     std::span<const Tensor> operands, void* into, void* workspace,
                     cudaStream_t stream) const {
    const float alpha = 1, beta = call.accumulate ? 1 : 0;
    return cublasLtMatmul(handle, operation.get(), &alpha, operands[1].data, first.get(), operands[0].data,
                          second.get(), &beta, operands[2].data, result.get(), into, result.get(), &algorithm,
                          workspace, kWorkspace, stream);
  }
};

Gemms::Gemms(int candidates) : candidates_(candidates) { check_blas(cublasLtCreate(&handle_), "start"); }
Gemms::~Gemms() {
  plans_.clear();
  cublasLtDestroy(handle_);
}

std::string Gemms::version() {
  const size_t v = cublasLtGetVersion();
  return "cuBLASLt " + std::to_string(v / 10000) + "." + std::to_string(v / 100 % 100) + "." +
         std::to_string(v % 100);
}

Gemms::Plan& Gemms::plan_of(const GemmCall& call) {
  const auto same = [&](const auto& entry) { return entry.first == call; };
  if (latest_ < plans_.size() && same(plans_[latest_])) return *plans_[latest_].second;
  latest_ = size_t(std::find_if(plans_.begin(), plans_.end(), same) - plans_.begin());
  if (latest_ < plans_.size()) return *plans_[latest_].second;
  const GemmLayout layout = layout_of(call.role, call.shape);
  auto plan = std::make_unique<Plan>();
  plan->operation = describe(layout, call.dtype);
  plan->first = describe(layout.first, stored_as(call.dtype), layout.batch);
  plan->second = describe(layout.second, stored_as(call.dtype), layout.batch);
  plan->result = describe(layout.result, result_of(call), layout.batch);
  cublasLtMatmulPreference_t raw = nullptr;
  check_blas(cublasLtMatmulPreferenceCreate(&raw), "ask for algorithms");
  const Preference preference(raw);
  const size_t workspace = kWorkspace;
  check_blas(cublasLtMatmulPreferenceSetAttribute(raw, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                                                  sizeof workspace),
             "ask for algorithms");
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<size_t>(candidates_));
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      handle_, plan->operation.get(), plan->first.get(), plan->second.get(), plan->result.get(),
      plan->result.get(), raw, candidates_, results.data(), &found);
  for (int i = 0; i < found; ++i)
    if (results[size_t(i)].state == CUBLAS_STATUS_SUCCESS)
      plan->algorithms.push_back(results[size_t(i)].algo);
  if (plan->algorithms.empty())
    plan->refused = std::string("cuBLASLt has no algorithm for it") +
                    (status == CUBLAS_STATUS_SUCCESS ? std::string()
                                                     : std::string(": ") + cublasLtGetStatusString(status));
  return *plans_.emplace_back(call, std::move(plan)).second;
}

std::optional<std::string> Gemms::refuses(const GemmCall& call) {
  if (call.dtype == DType::fp8 && call.role != GemmRole::forward)
    return "fp8 GEMMs run in the forward layout (TN) alone";
  try {
    const Plan& plan = plan_of(call);
    if (!plan.refused.empty()) return plan.refused;
  } catch (const BackendError& error) {
    return error.what();
  }
  return std::nullopt;
}

void Gemms::prepare(const GemmCall& call, std::span<const Tensor> operands, void* workspace,
                    cudaStream_t stream) {
  Plan& plan = plan_of(call);
  if (plan.algorithms.size() < 2) return;
  // Results go elsewhere, since C may be an input.
  Scratch elsewhere;
  void* into = elsewhere.of(size_t(operands[2].spec.bytes()));
  const Event start = make_event(), stop = make_event();
  double best = std::numeric_limits<double>::infinity();
  cublasLtMatmulAlgo_t chosen = plan.algorithms.front();
  for (const auto& algorithm : plan.algorithms) {
    double fastest = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 4; ++i) {
      check(cudaEventRecord(start.get(), stream), "record an event");
      if (plan.run(handle_, call, algorithm, operands, into, workspace, stream) != CUBLAS_STATUS_SUCCESS)
        break;
      check(cudaEventRecord(stop.get(), stream), "record an event");
      check(cudaEventSynchronize(stop.get()), "run a GEMM");
      if (i > 0) fastest = std::min(fastest, seconds_between(start, stop));  // the first warms up
    }
    if (fastest < best) best = fastest, chosen = algorithm;
  }
  plan.algorithms.assign(1, chosen);
}

void Gemms::run(const GemmCall& call, std::span<const Tensor> operands, void* workspace,
                cudaStream_t stream) {
  const Plan& plan = plan_of(call);
  if (!plan.refused.empty()) throw BackendError(plan.refused);
  check_blas(plan.run(handle_, call, plan.algorithms.front(), operands, operands[2].data, workspace, stream),
             "run a GEMM");
}

}  // namespace rehearse::calibration::cuda
