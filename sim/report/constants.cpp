#include "sim/report/constants.hpp"

#include <algorithm>
#include <tuple>

#include "sim/report/names.hpp"

namespace rehearse {

std::vector<NamedConstant> constants_of(const Scenario& scenario) {
  std::vector<NamedConstant> list;
  const auto add = [&](std::string name, const Constant& c) {
    list.push_back({std::move(name), c.value, c.basis, c.source});
  };
  const DeviceProfile& p = *scenario.profile;
  add("memory_bytes", p.memory_bytes);
  add("hbm_bytes_per_s", p.hbm_bytes_per_s);
  add("nvlink_bytes_per_s", p.nvlink_bytes_per_s);
  add("framework_bytes", p.framework_bytes);
  for (const auto& [dtype, flops] : p.peak_flops) add("peak_flops." + std::string(dtype_name(dtype)), flops);
  add("attention_backward", p.attention_backward);
  add("odd_head_flops", p.odd_head_flops);
  add("nvlink_efficiency", p.nvlink_efficiency);
  add("p2p_nvlink_latency_s", p.p2p_nvlink_latency_s);
  add("p2p_network_latency_s", p.p2p_network_latency_s);
  for (const auto& a : p.algorithms) {
    add("algorithms." + a.name + ".base_s", a.base_s);
    add("algorithms." + a.name + ".hop_nvlink_s", a.hop_nvlink_s);
    add("algorithms." + a.name + ".hop_network_s", a.hop_network_s);
    add("algorithms." + a.name + ".payload", a.payload);
  }
  const Stack& s = scenario.stack;
  add("stack.gemm_scale", s.gemm_scale);
  add("stack.memory_efficiency", s.memory_efficiency);
  add("stack.kernel_floor_s", s.kernel_floor_s);
  add("stack.host_per_kernel_s", s.host_per_kernel_s);
  add("stack.host_per_exchange_s", s.host_per_exchange_s);
  add("stack.overlap_slowdown", s.overlap_slowdown);
  add("stack.network_efficiency", s.network_efficiency);
  add("stack.p2p_efficiency", s.p2p_efficiency);
  add("stack.wgrad_scale", s.wgrad_scale);
  add("stack.grad_accumulate_bytes", s.grad_accumulate_bytes);
  add("stack.loss_bytes_per_logit", s.loss_bytes_per_logit);
  add("stack.optimizer_bytes_per_param", s.optimizer_bytes_per_param);
  add("stack.straggler_per_doubling", s.straggler_per_doubling);
  add("stack.blocking_launches", s.blocking_launches);
  return list;
}

std::vector<TableGroup> tables_of(const DeviceProfile& profile) {
  std::vector<TableGroup> groups;
  const auto add = [&](const std::string& what, size_t rows, const auto& table) {
    auto group = std::find_if(groups.begin(), groups.end(), [&](const TableGroup& g) {
      return std::tie(g.what, g.basis, g.source, g.licence) ==
             std::tie(what, table.basis, table.source, table.licence);
    });
    if (group == groups.end())
      group = groups.insert(groups.end(), {what, 0, 0, table.basis, table.source, table.licence});
    group->tables += 1;
    group->rows += int(rows);
  };
  for (const auto& t : profile.gemm) add("gemm " + std::string(dtype_name(t.dtype)), t.rows.size(), t);
  for (const auto& t : profile.batched_gemm)
    add("batched gemm " + std::string(dtype_name(t.dtype)), t.rows.size(), t);
  for (const auto& t : profile.memory) add(std::string(name_of(t.kernel)), t.rows.size(), t);
  for (const auto& t : profile.attention) add("attention", t.rows.size(), t);
  for (const auto& t : profile.collectives) add(std::string(collective_name(t.op)), t.bytes.size(), t);
  return groups;
}

}  // namespace rehearse
