#include "sim/cli/collective_against.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sim/base/text.hpp"
#include "sim/io/nccl_log.hpp"
#include "sim/spec/names.hpp"

namespace rehearse {
namespace {

[[noreturn]] void refuse_at(const Place& place, const std::string& message, const std::string& hint = {}) {
  throw InputErrors(InputError{place, "", "E-AGAINST", message, hint});
}

std::string word_of(CollectiveOp op) { return std::string(name_of(kOpNames, op)); }

}  // namespace

void check_measured(const MeasuredCollective& measured, const std::string& file,
                    const AskedCollective& asked) {
  const std::string is = quote(file) + " is of ";
  if (measured.op && *measured.op != asked.op)
    refuse_at(measured.of_op, is + word_of(*measured.op) + ", not " + word_of(asked.op));
  if (measured.ranks && measured.ranks != asked.ranks)
    refuse_at(measured.of_ranks, fmt::format("{}{} ranks, not {}", is, measured.ranks, asked.ranks),
              fmt::format("if the topology is that of the measurement: try --ranks {}", measured.ranks));
  if (measured.nodes && measured.nodes != asked.hosts && measured.nodes != asked.domains)
    refuse_at(
        measured.of_ranks,
        fmt::format("{}{} host{}, not {}", is, measured.nodes, measured.nodes == 1 ? "" : "s", asked.hosts),
        asked.ranks % measured.nodes
            ? ""
            : fmt::format("for the ranks of a host: try --per-node {}", asked.ranks / measured.nodes));
}

std::string other_gpu(const MeasuredCollective& measured, const std::string& file,
                      const DeviceProfile& profile) {
  const auto theirs = architecture_in(measured.gpu);
  if (!theirs || !profile.architecture || *theirs == *profile.architecture) return "";
  return fmt::format("{} is of {} ({}), profile {} is of {} [W-PROFILE-GPU]", quote(file),
                     printable(measured.gpu), name_of(kArchitectureNames, *theirs), profile.name,
                     name_of(kArchitectureNames, *profile.architecture));
}

}  // namespace rehearse
