// cuDNN's backend API in C++: the tensors and operations of a graph, its plan and its execution. Errors are
// BackendErrors with cuDNN's own reason.
#pragma once
#include <cudnn.h>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace rehearse::calibration::cuda {

using Extents = std::array<int64_t, 4>;

struct CudnnDeleter {
  void operator()(void* descriptor) const { cudnnBackendDestroyDescriptor(descriptor); }
};
using Descriptor = std::unique_ptr<void, CudnnDeleter>;

// What a graph is planned for: the device of a handle, or a device that need not be there, by its properties
// as cuDNN's JSON.
struct CudnnTarget {
  cudnnHandle_t handle = nullptr;
  Descriptor properties;
};
CudnnTarget target_of_properties(const std::string& json);

// A plan and what it needs to run.
class CudnnPlan {
 public:
  int64_t workspace_bytes() const { return workspace_bytes_; }
  // `tensors`: identifier and device address of each tensor that is neither virtual nor a scalar. Runs on the
  // handle's stream.
  void run(cudnnHandle_t handle, const std::vector<std::pair<int64_t, void*>>& tensors, void* workspace);

 private:
  friend class CudnnGraph;
  Descriptor plan_;
  int64_t workspace_bytes_ = 0;
  std::vector<std::pair<int64_t, float>> scalars_;
};

class CudnnGraph {
 public:
  using Id = int64_t;
  // Dimensions and strides count elements. Virtual tensors stand between operations and are not stored.
  Id tensor(cudnnDataType_t type, const Extents& dims, const Extents& strides);
  Id between(cudnnDataType_t type, const Extents& dims, const Extents& strides);
  Id between(cudnnDataType_t type, const Extents& dims);  // packed
  Id scalar(float value);

  void matmul(Id a, Id b, Id c);
  void reduce(cudnnReduceTensorOp_t op, Id x, Id y);
  void reshape(Id x, Id y);
  // y = mode(x), mode(x, b), or t ? x : b
  void pointwise(cudnnPointwiseMode_t mode, std::initializer_list<Id> inputs, Id y,
                 cudnnDataType_t compute = CUDNN_DATA_FLOAT);
  // Index of each element along an axis.
  void index(int64_t axis, Id x, Id y);

  // How many engines of cuDNN's heuristics can run the graph on the device. Quick: nothing is compiled.
  size_t engines(const CudnnTarget& target) const;
  // The first plan of cuDNN's heuristics that it can build. Throws BackendError where there is none.
  CudnnPlan plan(const CudnnTarget& target) const;

 private:
  Id add(cudnnDataType_t type, const Extents& dims, const Extents& strides, bool stored, bool by_value);
  void* at(Id id) const { return tensors_[id - 1].get(); }
  Descriptor operation_graph(const CudnnTarget& target) const;
  std::vector<Descriptor> engines(const Descriptor& graph, const CudnnTarget& target) const;

  std::deque<Descriptor> tensors_, others_;
  std::vector<void*> operations_;
  std::vector<std::pair<Id, float>> scalars_;
};

void check_cudnn(cudnnStatus_t status, const char* what);

}  // namespace rehearse::calibration::cuda
