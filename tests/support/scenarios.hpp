// Small scenarios made in code, for tests that are about numbers rather than about reading files.
#pragma once
#include <memory>

#include "sim/plan/layout.hpp"
#include "sim/spec/scenario.hpp"

namespace rehearse::test {

// A device without tables: every cost is a closed form of the constants below.
inline std::shared_ptr<const DeviceProfile> plain_profile() {
  auto profile = std::make_shared<DeviceProfile>();
  const auto c = [](double value) { return Constant{value, Basis::guess, "test"}; };
  profile->name = "plain";
  profile->memory_bytes = c(80 * kGibi);
  profile->hbm_bytes_per_s = c(2e12);
  profile->nvlink_bytes_per_s = c(300e9);
  profile->nvlink_latency_s = c(1e-6);
  profile->framework_bytes = c(1e9);
  for (DType t : {DType::fp32, DType::fp16, DType::bf16}) profile->peak_flops.emplace_back(t, c(312e12));
  profile->attention_backward = c(2.5);
  profile->odd_head_flops = c(11.5e12);
  profile->algorithms.push_back(
      {"ring-simple", Algorithm::ring, Protocol::simple, c(8e-6), c(3e-6), c(14e-6), c(1)});
  profile->nvlink_efficiency = c(0.8);
  profile->p2p_nvlink_latency_s = c(8e-6);
  profile->p2p_network_latency_s = c(20e-6);
  Stack stack;
  stack.name = "plain";
  stack.gemm_scale = c(1), stack.memory_efficiency = c(0.7), stack.kernel_floor_s = c(3e-6);
  stack.host_per_kernel_s = c(5e-6), stack.overlap_slowdown = c(0.2), stack.network_efficiency = c(0.85);
  stack.p2p_efficiency = c(0.8), stack.wgrad_scale = c(1.05), stack.grad_accumulate_bytes = c(12);
  stack.loss_bytes_per_logit = c(20), stack.optimizer_bytes_per_param = c(50),
  stack.straggler_per_doubling = c(0);
  stack.blocking_launches = c(0);
  profile->stacks = {stack};
  profile->default_stack = "plain";
  return profile;
}

inline Scenario small_scenario() {
  Scenario s;
  s.name = "small";
  s.profile = plain_profile();
  s.stack = s.profile->stacks[0];
  s.model = {.name = "tiny",
             .layers = 8,
             .hidden = 512,
             .heads = 8,
             .kv_heads = 8,
             .head_dim = 64,
             .ffn = 2048,
             .vocab = 4096,
             .sequence = 256};
  s.cluster.name = "two-nodes";
  s.cluster.nodes = 1;
  s.cluster.gpus_per_node = 8;
  s.cluster.nvlink = BytesPerSec(300e9);
  s.cluster.nvlink_latency = Seconds(1e-6);
  s.cluster.nics_per_node = 8;
  s.cluster.nic = BytesPerSec(25e9);
  s.cluster.nic_latency = Seconds(2e-6);
  s.batch = {.global = 8, .micro = 1, .sequence = 256};
  s.grad_bucket = Bytes(4e6);
  return s;
}

// 175B, TP 8 x PP 8 x DP 16 on 128 nodes, full recompute; `batch` sequences a step.
inline Scenario scenario_of_175b(int batch) {
  Scenario s = small_scenario();
  s.model = {.name = "gpt3-175b",
             .layers = 96,
             .hidden = 12288,
             .heads = 96,
             .kv_heads = 96,
             .head_dim = 128,
             .ffn = 49152,
             .vocab = 51200,
             .sequence = 2048};
  s.layout.tp = 8, s.layout.pp = 8, s.layout.dp = 16;
  s.cluster.nodes = 128;
  s.batch = {.global = batch, .micro = 1, .sequence = 2048};
  s.recompute.kind = RecomputeKind::full;
  s.grad_bucket = Bytes(160e6);
  return s;
}

}  // namespace rehearse::test
