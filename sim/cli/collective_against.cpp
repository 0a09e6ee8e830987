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

double bus_factor(CollectiveOp op, double n) {
  if (op == CollectiveOp::all_reduce) return 2 * (n - 1) / n;
  return op == CollectiveOp::send_recv || op == CollectiveOp::broadcast ? 1 : (n - 1) / n;
}

void check_measured(const MeasuredCollective& measured, const std::string& file,
                    const AskedCollective& asked) {
  const std::string is = quote(file) + " is of ";
  if (measured.op && *measured.op != asked.op)
    refuse_at(measured.of_op, is + word_of(*measured.op) + ", not " + word_of(asked.op));
  const bool reduces = asked.op == CollectiveOp::all_reduce || asked.op == CollectiveOp::reduce_scatter;
  if (measured.reduces && *measured.reduces != reduces)
    refuse_at(measured.of_reduces, is + (reduces ? "an operation that does not reduce" : "one that reduces") +
                                       ", not of " + word_of(asked.op));
  if (measured.ranks && measured.ranks != asked.ranks)
    refuse_at(measured.of_ranks, fmt::format("{}{} ranks, not {}", is, measured.ranks, asked.ranks),
              fmt::format("say --ranks {}, if the topology is that of the measurement", measured.ranks));
  if (measured.nodes && measured.nodes != asked.hosts && measured.nodes != asked.domains)
    refuse_at(
        measured.of_ranks,
        fmt::format("{}{} host{}, not {}", is, measured.nodes, measured.nodes == 1 ? "" : "s", asked.hosts),
        asked.ranks % measured.nodes
            ? ""
            : fmt::format("--per-node says how many ranks a host has: {}", asked.ranks / measured.nodes));
  const double factor = bus_factor(asked.op, asked.ranks);
  for (const auto& row : measured.rows)
    if (row.bus_factor > 0 && std::abs(row.bus_factor / factor - 1) > 0.03)
      refuse_at(row.place,
                fmt::format("busbw is {:.3f} x size / time, which of {} over {} ranks is {:.3f}",
                            row.bus_factor, word_of(asked.op), asked.ranks, factor),
                "a log of another operation or of another number of ranks");
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
