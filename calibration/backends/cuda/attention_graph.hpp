// Fused attention as cuDNN graphs: the chains of matmuls, pointwise operations and reductions that its
// flash-attention engines recognise.
#pragma once
#include "calibration/backends/cuda/cudnn_graph.hpp"
#include "sim/spec/kernel.hpp"

namespace rehearse::calibration::cuda {

// A graph with the identifiers of its operands in the order of operands.hpp, and the scratch tensors that the
// caller lends beside cuDNN's own workspace.
struct AttentionGraph {
  CudnnGraph graph;
  std::vector<int64_t> operands;
  std::vector<std::pair<int64_t, int64_t>> scratch;  // identifier, bytes
};

// O = softmax(scale Q K^T, masked) V, and the log-sum-exp of each row.
AttentionGraph attention_forward(const AttentionCall& call);
// dQ, dK, dV from Q, K, V, O, log-sum-exp and dO.
AttentionGraph attention_backward(const AttentionCall& call);

}  // namespace rehearse::calibration::cuda
