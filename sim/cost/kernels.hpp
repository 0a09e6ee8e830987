// Times of single kernels on one device. Pure functions of profile, stack and shape; seconds of device time,
// host cost apart. Elements and tokens are counts; FLOPs of a GEMM are 2 m n k.
#pragma once
#include "sim/spec/profile.hpp"

namespace rehearse {

struct KernelTime {
  Seconds time;
  Basis basis = Basis::guess;
  bool outside = false;  // more than a factor 2 beyond the measured range in some dimension
};

// max(FLOPs / peak, bytes of A, B and C once / HBM bandwidth), all `batch` together; C has the width of A and
// B.
Seconds gemm_roofline(const DeviceProfile& profile, DType dtype, const GemmShape& shape);

// The roofline as tiles see it, to which measured times are compared: 6 us + max(padded FLOPs / peak x
// sqrt(begun waves / waves), bytes / HBM bandwidth). m is padded to 128 rows and n to 256 columns, or to 128
// at 1.2 of the cost where that is less (64 at 1.4 where n is no more); waves = tiles / SMs. The root and the
// costs were chosen on tables of A100, H100, H200 and B200: kernels that split k or hold two tiles an SM blur
// the last wave, and half of its logarithm left the least error.
Seconds gemm_reference(const DeviceProfile& profile, DType dtype, const GemmShape& shape);

// A measured shape has its measured time (basis measured). Else time / reference is read, in the logarithm,
// off a plane in log2(m), log2(n), log2(k) through the 7 nearest measured shapes, weighted by 1/distance;
// distance over log2(m), log2(n) and, less, log2(k), and over the logarithms of m's padding and of begun over
// whole waves, which tell kernels apart (weights in kernels.cpp); times the reference of the shape (basis
// fitted); never faster than the peak. Without a shape within an octave in each dimension: the mean of the
// nearest. fp16 and bf16 share a table. A type without a table runs at the 16-bit surface's share of its own
// reference (basis guess). A batch is looked up in the table of batched GEMMs by the same rule, log2(batch)
// being one more coordinate; without one as one GEMM whose rows are stacked, (batch m, n, k), with the
// batch's own reference (basis guess); where n or k is not a multiple of 8 it runs at
// DeviceProfile::odd_head_flops. A table of the role leads; where a general one serves, weight gradients take
// Stack::wgrad_scale. All take Stack::gemm_scale, none ends before Stack::kernel_floor_s. Throws
// std::invalid_argument where the profile has no peak for `dtype` or a dimension is not positive.
KernelTime gemm(const DeviceProfile& profile, const Stack& stack, DType dtype, GemmShape shape,
                GemmRole role);

// Fused attention over `sequence` queries and keys. FLOPs 4 batch heads sequence^2 head_dim, half
// when causal; time / (5 us + roofline) is the mean of the 6 nearest measured ones in log2(sequence, batch x
// heads, heads / kv_heads, head_dim, batch), weighted by 1/distance. Backward is
// DeviceProfile::attention_backward times forward. Without a table 60 % of the roofline is assumed (basis
// guess).
KernelTime attention(const DeviceProfile& profile, const Stack& stack, DType dtype, AttentionShape shape,
                     bool backward);

// A pass over `moved` bytes. With a table of the kernel and type: a measured shape has its measured time,
// else time / (Stack::kernel_floor_s + elements x the table's least time an element) is the mean of the 6
// nearest in log2(rows) and log2(width). Without: Stack::kernel_floor_s + moved / (Stack::memory_efficiency x
// HBM bandwidth).
KernelTime memory_pass(const DeviceProfile& profile, const Stack& stack, const MemoryCall& call, Bytes moved);

}  // namespace rehearse
