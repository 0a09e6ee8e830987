// Collectives of the host backend over groups of ranks: each result from what the members hold.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "calibration/work/values.hpp"
#include "tests/calibration/ranks/job.hpp"

namespace rehearse::calibration {
namespace {

using Collectives = JobTest;
using testing::HasSubstr;
using testing::Optional;

// Element i of what a rank sends.
double held(const OperandSpec& spec, int rank, int64_t i) {
  return double(float(value_at(seed_on(spec.seed, rank), uint64_t(i)) * spec.scale));
}

struct Place {
  const std::vector<int>& members;
  int index;  // of this rank
  int64_t share;
};

// What element i of the result is; NaN where it is not said.
double expected(const CollectiveCall& call, const OperandSpec& sent, const Place& p, int64_t i) {
  const auto n = int64_t(p.members.size());
  const auto sum = [&](int64_t at) {
    double total = 0;
    for (int member : p.members) total += held(sent, member, at);
    return total;
  };
  switch (call.op) {
    case CollectiveOp::all_reduce:
      return sum(i);
    case CollectiveOp::all_gather:
      return held(sent, p.members[size_t(i / p.share)], call.in_place ? i : i % p.share);
    case CollectiveOp::reduce_scatter:
      if (!call.in_place) return sum(p.index * p.share + i);
      return i / p.share == p.index ? sum(i) : NAN;
    case CollectiveOp::all_to_all:
      return held(sent, p.members[size_t(i / p.share)], p.index * p.share + i % p.share);
    case CollectiveOp::send_recv:
      return held(sent, p.members[size_t((p.index + n - 1) % n)], i);
    case CollectiveOp::broadcast:
      return held(sent, p.members[0], i);
  }
  return NAN;
}

class CollectivesOf : public Collectives {
 protected:
  void check(const CollectiveCall& call) {
    SCOPED_TRACE(point_of(call));
    ASSERT_EQ(backend_->refuses(call), std::nullopt);
    const Work work = call;
    const Operands list = operands(work);
    const Call one{&work, &list};
    backend_->time({&one, 1}, Clocking::stream);
    const auto members = members_of(call.group, rank_, size_);
    const auto result = read(list.back());
    const auto at = std::find(members.begin(), members.end(), rank_);
    if (at == members.end()) {
      // Nothing has come to a rank that is not asked.
      for (double x : result) ASSERT_EQ(call.in_place ? 0 : x, 0);
      return;
    }
    const int64_t most = std::max(list.front().spec.count, list.back().spec.count);
    const Place place{members, int(at - members.begin()), most / int64_t(members.size())};
    const OperandSpec sent = operands_of(work).front();
    for (int64_t i = 0; i < int64_t(result.size()); ++i) {
      const double value = expected(call, sent, place, i);
      if (std::isnan(value)) continue;
      ASSERT_NEAR(result[size_t(i)], value, 1e-5) << "element " << i;
    }
  }
  void check_all_operations(const Group& group) {
    for (auto op : {CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter,
                    CollectiveOp::all_to_all, CollectiveOp::send_recv, CollectiveOp::broadcast})
      for (bool in_place : {false, true})
        for (double bytes : {4.0, 52.0, 400000.0}) check({op, DType::fp32, bytes, group, in_place});
  }
};

TEST_F(CollectivesOf, TheWholeJob) { check_all_operations({size_, 1, true, 1, size_}); }

TEST_F(CollectivesOf, PairsSideBySide) {
  const Group pairs{2, 1, true, 1, 2};
  if (size_ % 2)
    EXPECT_THAT(backend_->refuses(CollectiveCall{CollectiveOp::all_reduce, DType::fp32, 64, pairs}),
                Optional(HasSubstr("tile")));
  else
    check_all_operations(pairs);
}

TEST_F(CollectivesOf, StridedPairs) {
  if (size_ == 4) check_all_operations({2, 2, true, 1, 2});
}

TEST_F(CollectivesOf, TheFirstPairAlone) { check_all_operations({2, 1, false, 1, 2}); }

TEST_F(CollectivesOf, NodesThatAreNotThereAreRefused) {
  EXPECT_THAT(
      backend_->refuses(CollectiveCall{CollectiveOp::all_reduce, DType::fp32, 64, {2, 1, false, 2, 1}}),
      Optional(HasSubstr("nodes")));
}

// The least of some turns; more of them where other work runs beside, until all ranks have seen quiet ones.
TEST_F(Collectives, TakeLongerTheMoreTheyMove) {
  struct Timed {
    Work work;
    Operands list;
    double least = 1e9;
  };
  const auto of = [&](double bytes) {
    const Work work =
        CollectiveCall{CollectiveOp::all_reduce, DType::fp32, bytes, {size_, 1, true, 1, size_}};
    return Timed{work, operands(work)};
  };
  const auto turn = [&](Timed& timed) {
    const std::vector<Call> calls(3, Call{&timed.work, &timed.list});
    timed.least = std::min(timed.least, backend_->time(calls, Clocking::stream).device_s);
  };
  Timed small = of(1e3), large = of(8e6);
  for (int turns = 0; turns < 100; ++turns) {
    turn(small), turn(large);
    if (turns >= 5 && !job().any(large.least <= 2 * small.least)) break;
  }
  EXPECT_GT(large.least, 2 * small.least);
}

}  // namespace
}  // namespace rehearse::calibration
