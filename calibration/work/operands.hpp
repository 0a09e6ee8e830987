// The buffers that a call works on: their order, sizes and contents. Shared by all backends and by the
// reference, so that a wrong result is seen as such.
#pragma once
#include <cstdint>
#include <vector>

#include "calibration/work/work.hpp"

namespace rehearse::calibration {

// What stands in a buffer before the call.
enum class Content : uint8_t {
  normal,  // value_at(seed, i) x scale, rounded to the type (calibration/work/values.hpp)
  mask,    // bytes, 0 or 1, one in ten 0
  tokens,  // int32, uniform in [0, bound)
  zero,    // results that are overwritten
};

struct OperandSpec {
  const char* name;
  DType dtype = DType::fp32;  // of normal and zero; mask takes 1 byte, tokens 4
  Content content = Content::normal;
  int64_t count = 0;    // elements
  uint64_t seed = 0;    // of normal, mask and tokens
  double scale = 1;     // of normal
  int64_t bound = 0;    // of tokens
  bool output = false;  // written by the call
  double bytes() const;
};

// In the order in which backends take them:
//   gemm       A[batch][m][k] or as its role stores it, B, C. Row-major. forward: A[m][k], B stored [n][k];
//              input_gradient: A[m][k], B stored [k][n]; weight_gradient: A stored [k][m], B stored [k][n].
//              C[m][n] of the type; weight gradients fp32; `accumulate` adds to C.
//   attention  forward: Q, K, V [batch][sequence][heads][head_dim] (K, V: kv_heads), O, log-sum-exp
//              [batch][heads][sequence] fp32; backward: the same with O and log-sum-exp as inputs, then dO,
//              dQ, dK, dV. Scores are scaled by 1/sqrt(head_dim).
//   memory     each kernel's tensors as calibration/work/operands.cpp lists them
//   collective send buffer, receive buffer (in place: one buffer); of send_recv both are messages
//   launch     none
//   overlap    those of the kernel, then those of the collective
std::vector<OperandSpec> operands_of(const Work& work, int ranks);

// A buffer on the device that holds an operand.
struct Tensor {
  OperandSpec spec;
  void* data = nullptr;
};
using Operands = std::vector<Tensor>;

}  // namespace rehearse::calibration
