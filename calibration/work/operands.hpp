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
//              C[m][n] of the type (fp32 for tf32, bf16 for fp8); weight gradients fp32; `accumulate` adds
//              to C. Sums in fp32.
//   attention  forward: Q, K, V [batch][sequence][heads][head_dim] (K, V: kv_heads), O, log-sum-exp
//              [batch][heads][sequence] fp32; backward: the same with O and log-sum-exp as inputs, then dO,
//              dQ, dK, dV. Scores are scaled by 1/sqrt(head_dim); log-sum-exp is of scaled scores, natural.
//              Query head h reads key-value head h / (heads / kv_heads). Causal: key j <= query i. A forward
//              call on the first five fills what the backward takes; until then O is random and the
//              log-sum-exp 0, and the formula holds all the same: P = exp(S - lse), dV = P^T dO, dS = P (dO
//              V^T - sum(dO O)), dQ = dS K scale, dK = dS^T Q scale.
//   memory     the table below
//   collective send buffer, receive buffer (in place: one buffer, of the larger size); of send_recv both
//              are messages
//   launch     none
//   overlap    those of the kernel, then those of the collective
//
// Memory kernels: r rows, w columns, row-major; t = the call's type, f = fp32; [r w] where no type stands is
// of t. Arithmetic in fp32, results rounded once. "+=" reads and writes. Masks are bytes.
//   copy                    x[r w], y[r w]: y = x
//   add                     a[r w], b[r w], y[r w]: y = a + b
//   norm                    x[r w], gain[w], bias[w], y[r w], mean f[r], rstd f[r]: mean and
//                           rstd = 1/sqrt(variance + 1e-5) of the row (variance over w), y = (x - mean) rstd
//                           gain + bias
//   norm_backward           x[r w], dy[r w], gain[w], mean f[r], rstd f[r], dx[r w], dgain f[w], dbias f[w]:
//                           h = (x - mean) rstd with mean and rstd as given, g = dy gain,
//                           dx = rstd (g - avg(g) - h avg(g h)) (averages of the row), dgain = sum over rows
//                           of dy h, dbias = sum over rows of dy
//   softmax                 x[r w], y[r w]: columns c <= r mod w take part, the others become 0;
//                           y = exp(x - max) / sum
//   softmax_backward        y[r w], dy[r w], dx[r w]: dx = y (dy - sum(y dy)), all columns
//   dropout                 x[r w], mask[r w], y[r w]: y = x mask / 0.9
//   dropout_backward        dy[r w], mask[r w], dx[r w]: dx = dy mask / 0.9
//   dropout_add             residual[r w], x[r w], mask[r w], y[r w]: y = residual + x mask / 0.9
//   gelu                    x[r w], y[r w]: y = x (1 + tanh(u)) / 2, u = sqrt(2/pi) (x + 0.044715 x^3)
//   gelu_backward           x[r w], dy[r w], dx[r w]: dx = dy (1 + tanh(u) + x (1 - tanh(u)^2) sqrt(2/pi)
//                           (1 + 0.134145 x^2)) / 2
//   swiglu                  a[r w], b[r w], y[r w]: y = a s b, s = 1 / (1 + exp(-a))
//   swiglu_backward         a[r w], b[r w], dy[r w], da[r w], db[r w]: da = dy b s (1 + a (1 - s)),
//                           db = dy a s
//   rope                    x[r w], cos f[p h/2], sin f[p h/2], y[r w]: heads of h = rope_head(w) columns;
//                           row r has position r mod p, p = rope_positions(r); pair j of a head:
//                           y[2j] = x[2j] cos[j] - x[2j+1] sin[j], y[2j+1] = x[2j] sin[j] + x[2j+1] cos[j].
//                           w is even
//   embedding               table[v w], tokens[r] below v, y[r w]: y = table[token]; v = kEmbeddingRows
//   embedding_backward      tokens[r] below v, dy[r w], gradient f[v w]: gradient[token] += dy
//   cross_entropy           logits[r w], targets[r] below w, loss f[r]: log(sum(exp(logits))) -
//                           logits[target]
//   cross_entropy_backward  logits[r w], targets[r] below w: logits = exp(logits - max) / sum - (1 at target)
//   accumulate              gradient[r w], main f[r w]: main += gradient
//   square_sum              gradient f[r w], sum f[1]: sum = sum(gradient^2)
//   adam                    gradient f[r w], master f[r w], first f[r w], second f[r w], weights[r w]:
//                           first = 0.9 first + 0.1 gradient, second = 0.95 |second| + 0.05 gradient^2,
//                           master -= 1e-3 (first / (sqrt(second) + 1e-8) + 0.1 master), weights = master
//                           (|second|: contents are random of either sign, second moments are not)
std::vector<OperandSpec> operands_of(const Work& work);

inline constexpr int64_t kEmbeddingRows = 16384;
constexpr int64_t rope_head(int64_t width) { return width % 128 == 0 ? 128 : width; }
constexpr int64_t rope_positions(int64_t rows) { return rows < 2048 ? rows : 2048; }

// The ranks of the group that `rank` is in, ascending; empty where it takes no part (not concurrent and
// another group than that of rank 0, or beyond the last whole group).
std::vector<int> members_of(const Group& group, int rank, int ranks);

// Seed of the contents on a rank: ranks hold different data, so that a collective that moves nothing is seen.
constexpr uint64_t seed_on(uint64_t seed, int rank) { return seed + 1000003u * uint64_t(rank); }

// A buffer on the device that holds an operand.
struct Tensor {
  OperandSpec spec;
  void* data = nullptr;
};
using Operands = std::vector<Tensor>;

}  // namespace rehearse::calibration
