#include "calibration/backends/cuda/recording.hpp"

#include <algorithm>
#include <chrono>

namespace rehearse::calibration::cuda {

RecordedGraph record_graph(const Stream& stream, const std::function<void()>& issue) {
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeRelaxed), "record a graph");
  try {
    issue();
  } catch (...) {
    cudaStreamEndCapture(stream.get(), &graph);
    if (graph) cudaGraphDestroy(graph);
    cudaGetLastError();
    throw;
  }
  check(cudaStreamEndCapture(stream.get(), &graph), "record a graph");
  cudaGraphExec_t executable = nullptr;
  const cudaError_t status = cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphDestroy(graph);
  check(status, "instantiate a graph");
  return RecordedGraph(executable);
}

bool Recording::holds(std::span<const Call> calls, int generation) const {
  if (!graph_ || generation != generation_ || calls.size() != calls_.size()) return false;
  for (size_t i = 0; i < calls.size(); ++i) {
    const Operands& operands = *calls[i].operands;
    if (operands.size() != calls_[i].data.size() || !(*calls[i].work == calls_[i].work)) return false;
    for (size_t k = 0; k < operands.size(); ++k)
      if (operands[k].data != calls_[i].data[k]) return false;
  }
  return true;
}

void Recording::keep(std::span<const Call> calls, int generation, RecordedGraph graph) {
  calls_.clear();
  for (const Call& call : calls) {
    Kept& kept = calls_.emplace_back(Kept{*call.work, {}});
    for (const Tensor& tensor : *call.operands) kept.data.push_back(tensor.data);
  }
  generation_ = generation;
  graph_ = std::move(graph);
}

void Recording::replay(const Stream& stream) const {
  check(cudaGraphLaunch(graph_.get(), stream.get()), "replay a graph");
}

Gate::Gate(const Stream& stream) : stream_(stream.get()) {
  check(cudaLaunchHostFunc(stream_, &Gate::hold, this), "hold a stream back");
}
Gate::~Gate() {
  open();
  cudaStreamSynchronize(stream_);  // the held function still looks at this
}

void Gate::open() {
  {
    const std::lock_guard lock(mutex_);
    open_ = true;
  }
  opened_.notify_all();
}

void Gate::hold(void* gate) {
  auto& self = *static_cast<Gate*>(gate);
  std::unique_lock lock(self.mutex_);
  self.opened_.wait_for(lock, std::chrono::seconds(2), [&] { return self.open_; });
}

}  // namespace rehearse::calibration::cuda
