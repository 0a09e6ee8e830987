#include "sim/account/constants.hpp"

#include <algorithm>
#include <tuple>

#include "sim/account/names.hpp"
#include "sim/spec/constants.hpp"

namespace rehearse {

std::vector<NamedConstant> constants_of(const Scenario& scenario) {
  std::vector<NamedConstant> list;
  const auto add = [&](std::string name, const Constant& c) {
    list.push_back({std::move(name), c.value, c.basis, c.source});
  };
  const auto add_all = [&](const std::string& prefix, const auto& rows, const auto& holder) {
    for (const auto& row : rows) {
      const Constant& c = holder.*row.field;
      if (row.may_miss && c.value == 0) continue;
      add(prefix + std::string(row.key) + std::string(suffix_of(row.unit)), c);
    }
  };
  const DeviceProfile& p = *scenario.profile;
  add_all("", kDeviceConstants, p);
  for (const auto& [dtype, flops] : p.peak_flops) add("peak_flops." + std::string(dtype_name(dtype)), flops);
  for (const auto& a : p.algorithms) add_all("algorithms." + a.name + ".", kAlgorithmConstants, a);
  add_all("stack.", kStackConstants, scenario.stack);
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
