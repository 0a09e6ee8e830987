// Times of single kernels on one device. Pure functions of profile, stack and shape; seconds of device time,
// host cost apart. Elements and tokens are counts; FLOPs of a GEMM are 2 m n k.
#pragma once
#include "sim/spec/profile.hpp"

namespace rehearse {

enum class GemmRole { forward, input_gradient, weight_gradient };

// C[m,n] = A[m,k] B[k,n], `batch` of them in one kernel (the score and value GEMMs of unfused attention).
struct GemmShape {
  double m, n, k;
  double batch = 1;
};

struct AttentionShape {
  double batch, sequence, heads, kv_heads, head_dim;
  bool causal;
};

struct KernelTime {
  Seconds time;
  Basis basis = Basis::guess;
  bool outside = false;  // more than a factor 2 beyond the measured range in some dimension
};

// max(FLOPs / peak, bytes of A, B and C once / HBM bandwidth), all `batch` together; C has the width of A and
// B.
Seconds gemm_roofline(const DeviceProfile& profile, DType dtype, const GemmShape& shape);

// The roofline as tiles see it, to which measured times are compared: 3 us + max(padded FLOPs / peak x
// sqrt(begun waves / waves), bytes / HBM bandwidth). m is padded to 128 rows and n to 256 columns, or to 128
// at 1.15 of the cost where that is less (64 at 1.4 where n is no more); waves = tiles / SMs. The root and
// the costs were chosen on the A100 table: kernels that split k or hold two tiles an SM blur the last wave,
// and half of its logarithm left the least error.
Seconds gemm_reference(const DeviceProfile& profile, DType dtype, const GemmShape& shape);

// A measured shape has its measured time (basis measured). Else time / reference is interpolated, in the
// logarithm, between the 6 nearest measured shapes with weights 1/distance; distance over log2(m), log2(n),
// 0.7 log2(k) and the logarithm of m's padding; times the reference of the shape (basis fitted). fp16 and
// bf16 share a table. A type without a table runs at the 16-bit surface's share of its own reference (basis
// guess). A batch is looked up as one GEMM whose rows are stacked, (batch m, n, k), with the batch's own
// reference (basis guess: no public 16-bit table of them); where n or k is not a multiple of 8 it runs at
// DeviceProfile::odd_head_flops. Weight gradients take Stack::wgrad_scale, all take Stack::gemm_scale, none
// ends before Stack::kernel_floor_s. Throws std::invalid_argument where the profile has no peak for `dtype`
// or a dimension is not positive.
KernelTime gemm(const DeviceProfile& profile, const Stack& stack, DType dtype, GemmShape shape,
                GemmRole role);

// Fused attention in 16 bit over `sequence` queries and keys. FLOPs 4 batch heads sequence^2 head_dim, half
// when causal; time / roofline interpolated as for GEMMs in log2(sequence, batch x heads, heads / kv_heads,
// head_dim). Backward is DeviceProfile::attention_backward times forward. Without a table 60 % of the
// roofline is assumed (basis guess).
KernelTime attention(const DeviceProfile& profile, const Stack& stack, AttentionShape shape, bool backward);

// Stack::kernel_floor_s + bytes read and written / (Stack::memory_efficiency x HBM bandwidth).
KernelTime memory_pass(const DeviceProfile& profile, const Stack& stack, Bytes moved);

}  // namespace rehearse
