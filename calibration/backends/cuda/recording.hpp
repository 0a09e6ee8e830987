// Calls recorded as a CUDA graph, and the gate that lets two streams start together.
#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

#include "calibration/backends/cuda/cuda.hpp"

namespace rehearse::calibration::cuda {

struct GraphDeleter {
  void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
};
using RecordedGraph = std::unique_ptr<CUgraphExec_st, GraphDeleter>;

// What `issue` puts on the stream, recorded and not run.
RecordedGraph record_graph(const Stream& stream, const std::function<void()>& issue);

// A graph and the calls that it holds, by value, since callers reuse addresses.
class Recording {
 public:
  // Whether it holds just these, with workspaces of this generation.
  bool holds(std::span<const Call> calls, int generation) const;
  void keep(std::span<const Call> calls, int generation, RecordedGraph graph);
  void clear() { graph_.reset(); }
  void replay(const Stream& stream) const;

 private:
  struct Kept {
    Work work;
    std::vector<void*> data;
  };
  std::vector<Kept> calls_;
  int generation_ = 0;
  RecordedGraph graph_;
};

// Holds a stream back until it is opened. At the latest after two seconds it opens by itself, so that a
// library which waits for the device while issuing is slow but does not hang.
class Gate {
 public:
  explicit Gate(const Stream& stream);
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  void open();

 private:
  static void hold(void* gate);
  cudaStream_t stream_;
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

}  // namespace rehearse::calibration::cuda
