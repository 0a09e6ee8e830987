#include "calibration/fit/document.hpp"

namespace rehearse::calibration {
namespace {

constexpr const char* kNccl = "NCCL 2.30.7 src/graph/tuning.cc";
constexpr const char* kNcclNetwork = "NCCL 2.30.7 src/graph/tuning.cc, less the 2.7 us of the link";

struct Default {
  Basis basis;
  const char *path, *value, *source;
};
constexpr Default kDefaults[] = {
    {Basis::guess, "device.memory", "16 GiB", "not told by the samples"},
    {Basis::guess, "device.hbm", "100 GB/s", "not told by the samples"},
    {Basis::guess, "device.nvlink", "10 GB/s", "not told by the samples"},
    {Basis::guess, "device.nvlink_latency", "0.6 us", kNccl},
    {Basis::guess, "device.sms", "1", "not told by the samples"},
    {Basis::guess, "device.framework", "3 GiB", "CUDA context, NCCL buffers (about 0.4 GB), allocator slack"},
    {Basis::guess, "device.attention_backward", "3",
     "2.5 times the FLOPs of the forward at 1/1.2 of its speed"},
    {Basis::guess, "device.nvlink_efficiency", "0.77", "as on A100"},
    {Basis::guess, "device.p2p_nvlink_latency", "7.4 us", "as on A100"},
    {Basis::guess, "device.p2p_network_latency", "9 us",
     "NCCL send and receive between nodes of H100, less the link's"},
    {Basis::guess, "algorithms.ring-ll.base", "6.6 us", kNccl},
    {Basis::guess, "algorithms.ring-ll.hop_nvlink", "0.6 us", kNccl},
    {Basis::guess, "algorithms.ring-ll.hop_network", "0 us", kNcclNetwork},
    {Basis::datasheet, "algorithms.ring-ll.payload", "0.5", "LL: 4 bytes of flag to 4 bytes of data"},
    {Basis::guess, "algorithms.ring-ll128.base", "14 us", kNccl},
    {Basis::guess, "algorithms.ring-ll128.hop_nvlink", "1.9 us", kNccl},
    {Basis::guess, "algorithms.ring-ll128.hop_network", "1.3 us", kNcclNetwork},
    {Basis::datasheet, "algorithms.ring-ll128.payload", "0.9375", "LL128: 120 of 128 bytes"},
    {Basis::guess, "algorithms.ring-simple.base", "8.4 us", kNccl},
    {Basis::guess, "algorithms.ring-simple.hop_nvlink", "3.4 us", kNccl},
    {Basis::guess, "algorithms.ring-simple.hop_network", "11.3 us", kNcclNetwork},
    {Basis::datasheet, "algorithms.ring-simple.payload", "1", "Simple: no flags in the data"},
    {Basis::guess, "algorithms.tree-ll.base", "6.8 us", kNccl},
    {Basis::guess, "algorithms.tree-ll.hop_nvlink", "0.6 us", kNccl},
    {Basis::guess, "algorithms.tree-ll.hop_network", "2.3 us", kNcclNetwork},
    {Basis::datasheet, "algorithms.tree-ll.payload", "0.5", "LL: 4 bytes of flag to 4 bytes of data"},
    {Basis::guess, "algorithms.tree-ll128.base", "14 us", kNccl},
    {Basis::guess, "algorithms.tree-ll128.hop_nvlink", "1.25 us", kNccl},
    {Basis::guess, "algorithms.tree-ll128.hop_network", "5.8 us", kNcclNetwork},
    {Basis::datasheet, "algorithms.tree-ll128.payload", "0.9375", "LL128: 120 of 128 bytes"},
    {Basis::guess, "algorithms.tree-simple.base", "8.4 us", kNccl},
    {Basis::guess, "algorithms.tree-simple.hop_nvlink", "4 us", kNccl},
    {Basis::guess, "algorithms.tree-simple.hop_network", "11.3 us", kNcclNetwork},
    {Basis::guess, "algorithms.tree-simple.payload", "0.92",
     "NCCL 2.30.7 src/graph/tuning.cc: tree at 0.92 of the ring"},
    {Basis::guess, "stacks.gemm_scale", "1", "as measured"},
    {Basis::guess, "stacks.memory_efficiency", "0.8", "stream kernels reach 0.8 to 0.95"},
    {Basis::guess, "stacks.kernel_floor", "3 us", "2.3 us back to back in a stream plus ramp (gpu-benches)"},
    {Basis::guess, "stacks.host_per_kernel", "10 us", "eager PyTorch launches from C++ dispatch"},
    {Basis::guess, "stacks.overlap_slowdown", "0.2", "published mean 0.19, largest 0.4 (arXiv 2507.03114)"},
    {Basis::guess, "stacks.network_efficiency", "0.85", "large messages reach 0.8 to 0.95 of the line"},
    {Basis::guess, "stacks.p2p_efficiency", "0.85", "as network_efficiency"},
    {Basis::guess, "stacks.wgrad_scale", "1.05",
     "NT against TN with fp32 output (SimuMax, A100 PCIe and B200)"},
    {Basis::guess, "stacks.grad_accumulate_bytes", "6", "accumulation fused into the weight-gradient GEMM"},
    {Basis::guess, "stacks.loss_bytes_per_logit", "14", "fused vocabulary-parallel cross entropy"},
    {Basis::guess, "stacks.optimizer_bytes_per_param", "36", "fused Adam on fp32 state, 28, norm and casts"},
    {Basis::guess, "stacks.straggler_per_doubling", "0", "0 to 0.008 seen on InfiniBand, 0.02 on RoCE"},
    {Basis::datasheet, "stacks.blocking_launches", "0", "CUDA's default: launches are asynchronous"},
};

}  // namespace

const std::vector<NamedConstant>& default_constants() {
  static const std::vector<NamedConstant> kAll = [] {
    std::vector<NamedConstant> all;
    for (const auto& d : kDefaults) all.push_back({d.path, d.value, d.basis, d.source});
    return all;
  }();
  return kAll;
}

}  // namespace rehearse::calibration
