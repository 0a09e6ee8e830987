// A small invented device with round numbers, for tests of the cost room.
#pragma once
#include "sim/spec/profile.hpp"

namespace rehearse::test {

inline Constant constant(double value, Basis basis = Basis::guess) { return {value, basis, "invented"}; }

inline Stack round_stack() {
  Stack s;
  s.name = "round";
  s.gemm_scale = constant(1);
  s.memory_efficiency = constant(0.5, Basis::fitted);
  s.kernel_floor_s = constant(2e-6);
  s.network_efficiency = constant(0.8);
  s.wgrad_scale = constant(1.25);
  return s;
}

// 100 TFLOP/s, 1 TB/s, NVLink 100 GB/s; no tables.
inline DeviceProfile bare_profile() {
  DeviceProfile p;
  p.name = "round";
  p.hbm_bytes_per_s = constant(1e12, Basis::datasheet);
  p.nvlink_bytes_per_s = constant(100e9, Basis::datasheet);
  p.nvlink_latency_s = constant(1e-6);
  p.sms = constant(100, Basis::datasheet);
  p.peak_flops = {
      {DType::bf16, constant(100e12)}, {DType::fp16, constant(100e12)}, {DType::fp32, constant(10e12)}};
  p.attention_backward = constant(3);
  p.odd_head_flops = constant(10e12);
  p.nvlink_efficiency = constant(0.8);
  p.p2p_nvlink_latency_s = constant(4e-6);
  p.p2p_network_latency_s = constant(9e-6);
  const auto row = [](Algorithm algorithm, Protocol protocol, double base, double nvlink, double network) {
    return CollectiveAlgorithm{"",
                               algorithm,
                               protocol,
                               constant(base),
                               constant(nvlink),
                               constant(network),
                               constant(1 / wire_factor(protocol))};
  };
  p.algorithms = {row(Algorithm::ring, Protocol::ll, 8e-6, 1e-6, 3e-6),
                  row(Algorithm::ring, Protocol::simple, 10e-6, 4e-6, 14e-6),
                  row(Algorithm::tree, Protocol::ll, 8e-6, 1e-6, 5e-6),
                  row(Algorithm::tree, Protocol::simple, 10e-6, 4e-6, 14e-6)};
  p.stacks = {round_stack()};
  p.default_stack = "round";
  return p;
}

// A GEMM table on a grid of powers of two, 512 .. 8192, at exactly twice the roofline.
inline DeviceProfile gridded_profile() {
  DeviceProfile p = bare_profile();
  GemmTable table;
  for (double m = 512; m <= 8192; m *= 2)
    for (double n = 512; n <= 8192; n *= 2)
      for (double k = 512; k <= 8192; k *= 2) {
        const double flops = 2 * m * n * k / 100e12, bytes = 2 * (m * n + m * k + n * k) / 1e12;
        table.rows.emplace_back(m, n, k, 2 * (flops > bytes ? flops : bytes));
      }
  p.gemm.push_back(table);
  return p;
}

inline CollectiveTable collective_table(CollectiveOp op, int ranks, std::vector<double> bytes,
                                        std::vector<double> seconds) {
  CollectiveTable t;
  t.op = op;
  t.per_node = ranks;
  t.bytes = std::move(bytes);
  t.seconds = std::move(seconds);
  return t;
}

}  // namespace rehearse::test
