// Whether measured collectives are of what `rehearse collective` was asked.
#pragma once
#include "sim/io/measured_collective.hpp"

namespace rehearse {

struct AskedCollective {
  CollectiveOp op = CollectiveOp::all_reduce;
  int ranks = 0;
  int hosts = 0, domains = 0;  // what NVLink joins is one domain; tables count these as nodes
};

// Throws InputErrors (E-AGAINST), at the line of `file` that says otherwise: of another operation, of other
// numbers of ranks or hosts.
void check_measured(const MeasuredCollective& measured, const std::string& file,
                    const AskedCollective& asked);

// What to say where the GPU that a log names is of another architecture than the profile; else empty.
std::string other_gpu(const MeasuredCollective& measured, const std::string& file,
                      const DeviceProfile& profile);

}  // namespace rehearse
