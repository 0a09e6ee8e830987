// What the figures of a report rest on: every constant and table of the profile with its basis.
#pragma once
#include "sim/account/report.hpp"

namespace rehearse {

struct NamedConstant {
  std::string name;
  double value = 0;
  Basis basis = Basis::guess;
  std::string source;
};
std::vector<NamedConstant> constants_of(const Scenario& scenario);

struct TableGroup {  // tables of one kind that share their origin
  std::string what;  // "gemm bf16", "attention", "all_reduce"
  int tables = 0;
  int rows = 0;
  Basis basis = Basis::measured;
  std::string source, licence;
};
std::vector<TableGroup> tables_of(const DeviceProfile& profile);

}  // namespace rehearse
