#include "calibration/backends/cuda/cudnn_graph.hpp"

#include <algorithm>
#include <iterator>

#include "calibration/backends/backend.hpp"

namespace rehearse::calibration::cuda {

namespace {

Descriptor make(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t descriptor = nullptr;
  check_cudnn(cudnnBackendCreateDescriptor(type, &descriptor), "create a descriptor");
  return Descriptor(descriptor);
}

void set(const Descriptor& descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
         int64_t count, const void* values) {
  check_cudnn(cudnnBackendSetAttribute(descriptor.get(), name, type, count, values), "set an attribute");
}

void set(const Descriptor& descriptor, cudnnBackendAttributeName_t name, void* other) {
  set(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other);
}

void finalize(const Descriptor& descriptor, const char* what) {
  check_cudnn(cudnnBackendFinalize(descriptor.get()), what);
}

Extents packed(const Extents& dims) { return {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1}; }

}  // namespace

void check_cudnn(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  char reason[512] = "";
  cudnnGetLastErrorString(reason, sizeof reason);
  throw BackendError(std::string("cuDNN: cannot ") + what + ": " + cudnnGetErrorString(status) +
                     (reason[0] ? std::string(" (") + reason + ")" : std::string()));
}

CudnnTarget target_of_properties(const std::string& json) {
  CudnnTarget target{nullptr, make(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR)};
  set(target.properties, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, int64_t(json.size()),
      json.data());
  finalize(target.properties, "read the device's properties");
  return target;
}

CudnnGraph::Id CudnnGraph::add(cudnnDataType_t type, const Extents& dims, const Extents& strides, bool stored,
                               bool by_value) {
  const Id id = Id(tensors_.size()) + 1;
  const int64_t alignment = 16;
  const bool is_virtual = !stored && !by_value;
  Descriptor t = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  set(t, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id);
  set(t, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
  set(t, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dims.data());
  set(t, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides.data());
  set(t, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
  set(t, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
  set(t, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &by_value);
  finalize(t, "describe a tensor");
  tensors_.push_back(std::move(t));
  return id;
}

CudnnGraph::Id CudnnGraph::tensor(cudnnDataType_t type, const Extents& dims, const Extents& strides) {
  return add(type, dims, strides, true, false);
}
CudnnGraph::Id CudnnGraph::between(cudnnDataType_t type, const Extents& dims, const Extents& strides) {
  return add(type, dims, strides, false, false);
}
CudnnGraph::Id CudnnGraph::between(cudnnDataType_t type, const Extents& dims) {
  return add(type, dims, packed(dims), false, false);
}
CudnnGraph::Id CudnnGraph::scalar(float value) {
  const Id id = add(CUDNN_DATA_FLOAT, {1, 1, 1, 1}, {1, 1, 1, 1}, false, true);
  scalars_.emplace_back(id, value);
  return id;
}

void CudnnGraph::matmul(Id a, Id b, Id c) {
  const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  Descriptor how = make(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  set(how, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute);
  finalize(how, "describe a matmul");
  Descriptor op = make(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  set(op, CUDNN_ATTR_OPERATION_MATMUL_ADESC, at(a));
  set(op, CUDNN_ATTR_OPERATION_MATMUL_BDESC, at(b));
  set(op, CUDNN_ATTR_OPERATION_MATMUL_CDESC, at(c));
  set(op, CUDNN_ATTR_OPERATION_MATMUL_DESC, how.get());
  finalize(op, "add a matmul");
  operations_.push_back(op.get());
  others_.push_back(std::move(how));
  others_.push_back(std::move(op));
}

void CudnnGraph::reduce(cudnnReduceTensorOp_t reduction, Id x, Id y) {
  const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  Descriptor how = make(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  set(how, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &reduction);
  set(how, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute);
  finalize(how, "describe a reduction");
  Descriptor op = make(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  set(op, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, at(x));
  set(op, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, at(y));
  set(op, CUDNN_ATTR_OPERATION_REDUCTION_DESC, how.get());
  finalize(op, "add a reduction");
  operations_.push_back(op.get());
  others_.push_back(std::move(how));
  others_.push_back(std::move(op));
}

void CudnnGraph::reshape(Id x, Id y) {
  Descriptor op = make(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  set(op, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, at(x));
  set(op, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, at(y));
  finalize(op, "add a reshape");
  operations_.push_back(op.get());
  others_.push_back(std::move(op));
}

void CudnnGraph::pointwise(cudnnPointwiseMode_t mode, std::initializer_list<Id> inputs, Id y,
                           cudnnDataType_t compute) {
  static constexpr cudnnBackendAttributeName_t kInputs[] = {CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
                                                            CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                                                            CUDNN_ATTR_OPERATION_POINTWISE_TDESC};
  Descriptor how = make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  set(how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
  set(how, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &compute);
  finalize(how, "describe a pointwise operation");
  Descriptor op = make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  set(op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how.get());
  for (size_t i = 0; i < std::min(inputs.size(), std::size(kInputs)); ++i)
    set(op, kInputs[i], at(inputs.begin()[i]));
  set(op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, at(y));
  finalize(op, "add a pointwise operation");
  operations_.push_back(op.get());
  others_.push_back(std::move(how));
  others_.push_back(std::move(op));
}

void CudnnGraph::index(int64_t axis, Id x, Id y) {
  const cudnnPointwiseMode_t mode = CUDNN_POINTWISE_GEN_INDEX;
  const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  Descriptor how = make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  set(how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
  set(how, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &compute);
  set(how, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, &axis);
  finalize(how, "describe an index");
  Descriptor op = make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  set(op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how.get());
  set(op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, at(x));
  set(op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, at(y));
  finalize(op, "add an index");
  operations_.push_back(op.get());
  others_.push_back(std::move(how));
  others_.push_back(std::move(op));
}

Descriptor CudnnGraph::operation_graph(const CudnnTarget& target) const {
  Descriptor graph = make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  set(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, int64_t(operations_.size()),
      operations_.data());
  if (target.handle) set(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &target.handle);
  finalize(graph, "put the graph together");
  return graph;
}

std::vector<Descriptor> CudnnGraph::engines(const Descriptor& graph, const CudnnTarget& target) const {
  const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
  const Descriptor heuristics = make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  set(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.get());
  set(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  if (target.properties) set(heuristics, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, target.properties.get());
  finalize(heuristics, "ask for engines");
  std::vector<Descriptor> configurations;
  constexpr int most = 8;
  std::vector<void*> raw;
  raw.reserve(most);
  for (int i = 0; i < most; ++i)
    raw.push_back(configurations.emplace_back(make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)).get());
  int64_t found = 0;
  check_cudnn(
      cudnnBackendGetAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                               int64_t(raw.size()), &found, raw.data()),
      "list the engines");
  configurations.resize(std::min(configurations.size(), size_t(found)));
  return configurations;
}

size_t CudnnGraph::engines(const CudnnTarget& target) const {
  return engines(operation_graph(target), target).size();
}

CudnnPlan CudnnGraph::plan(const CudnnTarget& target) const {
  const Descriptor graph = operation_graph(target);
  const std::vector<Descriptor> found = engines(graph, target);
  if (found.empty()) throw BackendError("cuDNN: no engine runs this graph on this device");
  for (const Descriptor& engine : found) {
    CudnnPlan plan;
    plan.plan_ = make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    if (target.handle)
      set(plan.plan_, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &target.handle);
    if (target.properties) set(plan.plan_, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, target.properties.get());
    set(plan.plan_, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, engine.get());
    const cudnnStatus_t status = cudnnBackendFinalize(plan.plan_.get());
    if (status != CUDNN_STATUS_SUCCESS && &engine != &found.back()) continue;  // the next engine may do
    check_cudnn(status, "build a plan");
    int64_t count = 0;
    check_cudnn(cudnnBackendGetAttribute(plan.plan_.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                         CUDNN_TYPE_INT64, 1, &count, &plan.workspace_bytes_),
                "ask for the workspace");
    plan.scalars_ = scalars_;
    return plan;
  }
  throw BackendError("cuDNN: no plan was built");
}

void CudnnPlan::run(cudnnHandle_t handle, const std::vector<std::pair<int64_t, void*>>& tensors,
                    void* workspace) {
  std::vector<int64_t> ids;
  std::vector<void*> addresses;
  for (const auto& [id, address] : tensors) ids.push_back(id), addresses.push_back(address);
  for (auto& [id, value] : scalars_) ids.push_back(id), addresses.push_back(&value);
  const Descriptor pack = make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, int64_t(ids.size()), ids.data());
  set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, int64_t(addresses.size()),
      addresses.data());
  set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  finalize(pack, "bind the tensors");
  check_cudnn(cudnnBackendExecute(handle, plan_.get(), pack.get()), "run a plan");
}

}  // namespace rehearse::calibration::cuda
