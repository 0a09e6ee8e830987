#include <algorithm>
#include <cmath>

#include "calibration/measure/reference.hpp"
#include "calibration/work/rounding.hpp"
#include "calibration/work/values.hpp"

namespace rehearse::calibration {
namespace {

// All elements of short results; of long ones the two ends of every rank's part and blocks at random.
std::vector<int64_t> looked_at(int64_t first, int64_t count, int parts) {
  constexpr int64_t all = 16384, block = 32;
  std::vector<int64_t> elements;
  const auto add = [&](int64_t from, int64_t to) {
    for (int64_t i = std::max(first, from); i < std::min(first + count, to); ++i) elements.push_back(i);
  };
  if (count <= all) {
    add(first, first + count);
    return elements;
  }
  const int64_t part = count / parts;
  for (int p = 0; p <= parts; ++p) add(first + p * part - block, first + p * part + block);
  for (uint64_t i = 0; i < 64; ++i) {
    const int64_t from = first + int64_t(mixed(9, i) % uint64_t(count));
    add(from, from + block);
  }
  std::sort(elements.begin(), elements.end());
  elements.erase(std::unique(elements.begin(), elements.end()), elements.end());
  return elements;
}

struct Delivery {
  const CollectiveCall& call;
  const std::vector<int>& members;
  size_t mine;              // my place in the group
  const OperandSpec& sent;  // of no rank
  double sent_by(size_t member, int64_t element) const {
    OperandSpec spec = sent;
    spec.seed = seed_on(sent.seed, members[member]);
    return content_at(spec, element);
  }
};

// A sum over the members, rounded at each step in the worst case.
void expect_sum(const Delivery& d, size_t operand, int64_t element, int64_t source, Reference& reference) {
  double sum = 0, magnitude = 0;
  for (size_t i = 0; i < d.members.size(); ++i) {
    const double x = d.sent_by(i, source);
    sum += x;
    magnitude += std::fabs(x);
  }
  const double u = unit_roundoff(d.call.dtype);
  reference.expect_within(operand, element, sum, u * double(d.members.size()) * magnitude + 1e-7);
}

}  // namespace

void expect_collective(const CollectiveCall& call, int rank, int ranks, Reference& reference) {
  const auto members = members_of(call.group, rank, ranks);
  if (members.empty()) return;
  auto base = reference.operands();  // of this rank; the others' differ in their seeds
  for (auto& spec : base) spec.seed -= seed_on(0, rank);
  const auto mine = size_t(std::find(members.begin(), members.end(), rank) - members.begin());
  const Delivery d{call, members, mine, base[0]};
  const size_t receive = call.in_place ? 0 : 1;
  const int size = call.group.size;
  const bool scatters = call.op == CollectiveOp::reduce_scatter;
  const int64_t whole = base[scatters ? 0 : receive].count, part = whole / size;
  const int64_t own = int64_t(mine) * part;  // where my part begins
  const bool kept_in_place = scatters && call.in_place;
  const int64_t first = kept_in_place ? own : 0, count = scatters ? part : whole;
  for (int64_t e : looked_at(first, count, scatters ? 1 : size)) {
    const auto exactly = [&](size_t member, int64_t source) {
      const double x = d.sent_by(member, source);
      reference.expect_within(receive, e, x, 2 * unit_roundoff(call.dtype) * std::fabs(x) + 1e-9);
    };
    switch (call.op) {
      case CollectiveOp::all_reduce:
        expect_sum(d, receive, e, e, reference);
        break;
      case CollectiveOp::reduce_scatter:
        expect_sum(d, receive, e, call.in_place ? e : own + e, reference);
        break;
      case CollectiveOp::all_gather:
        exactly(size_t(e / part), call.in_place ? e : e % part);
        break;
      case CollectiveOp::all_to_all:
        exactly(size_t(e / part), own + e % part);
        break;
      case CollectiveOp::broadcast:
        exactly(0, e);
        break;
      case CollectiveOp::send_recv:
        exactly((mine + members.size() - 1) % members.size(), e);
        break;
    }
  }
}

}  // namespace rehearse::calibration
