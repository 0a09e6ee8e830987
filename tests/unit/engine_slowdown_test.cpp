// Compute slowed by a collective beside it; every expectation is worked out by hand.
#include <gtest/gtest.h>

#include "sim/engine/engine.hpp"
#include "tests/support/engine_graph.hpp"

namespace rehearse::test {
namespace {

// A unit whose program takes 10 s plain and 20 s slowed.
struct Slowdown : ::testing::Test {
  GraphBuilder b;
  int32_t program = b.program(10, 20);
  int32_t unit = b.units({b.unit()});
  int32_t other = b.units({b.unit()});
};

TEST_F(Slowdown, BesideItAllTheTime) {
  const int32_t run = b.run(program, unit, 10);
  b.slower(unit, 30);
  const Timeline t = run_ideal(b.build());
  EXPECT_EQ(t.end[run], 20);
  ASSERT_EQ(t.slowed.size(), 1U);
  EXPECT_EQ(t.slowed[0].task, run);
  EXPECT_EQ(t.slowed[0].from, 0);
  EXPECT_EQ(t.slowed[0].to, 20);
}

TEST_F(Slowdown, BeginsAndEndsWithin) {  // 4 s plain, 6 s at half speed = 3 s of work, 3 s plain
  const int32_t run = b.run(program, unit, 10);
  b.slower(unit, 6, {b.fixed(4)});
  const Timeline t = run_ideal(b.build());
  EXPECT_EQ(t.end[run], 13);
  ASSERT_EQ(t.slowed.size(), 1U);
  EXPECT_EQ(t.slowed[0].from, 4);
  EXPECT_EQ(t.slowed[0].to, 10);
}

TEST_F(Slowdown, RunStartsWhileSlowed) {  // slowed from 2 to 6: 2 s of work, 8 s plain
  const int32_t run = b.run(program, unit, 10, {b.fixed(2)});
  b.slower(unit, 6);
  const Timeline t = run_ideal(b.build());
  EXPECT_EQ(t.end[run], 14);
  ASSERT_EQ(t.slowed.size(), 1U);
  EXPECT_EQ(t.slowed[0].from, 2);
  EXPECT_EQ(t.slowed[0].to, 6);
}

TEST_F(Slowdown,
       TwoCollectivesSlowNoMoreThanOne) {  // one from 1 to 5, one from 3 to 8: half speed from 1 to 8
  const int32_t run = b.run(program, unit, 10);
  b.slower(unit, 4, {b.fixed(1)});
  b.slower(unit, 5, {b.fixed(3)});
  const Timeline t = run_ideal(b.build());
  EXPECT_EQ(t.end[run], 13.5);
  ASSERT_EQ(t.slowed.size(), 1U);
  EXPECT_EQ(t.slowed[0].from, 1);
  EXPECT_EQ(t.slowed[0].to, 8);
}

TEST_F(Slowdown, BackToBackCollectivesAreOneStretch) {
  const int32_t run = b.run(program, unit, 10);
  b.slower(unit, 2, {b.slower(unit, 2)});
  const Timeline t = run_ideal(b.build());
  EXPECT_EQ(t.end[run], 12);
  ASSERT_EQ(t.slowed.size(), 1U);
  EXPECT_EQ(t.slowed[0].to, 4);
}

TEST_F(Slowdown, ApartCollectivesAreTwoStretches) {
  const int32_t run = b.run(program, unit, 10);
  const int32_t first = b.slower(unit, 2);
  b.slower(unit, 2, {b.fixed(1, {first})});
  const Timeline t = run_ideal(b.build());
  EXPECT_EQ(t.end[run], 12);
  ASSERT_EQ(t.slowed.size(), 2U);
  EXPECT_EQ(t.slowed[1].from, 3);
  EXPECT_EQ(t.slowed[1].to, 5);
}

TEST_F(Slowdown, PartOfAProgramScalesByItsRatio) {
  const int32_t run = b.run(program, unit, 4);
  b.slower(unit, 30);
  EXPECT_EQ(run_ideal(b.build()).end[run], 8);
}

TEST_F(Slowdown, CollectiveThatEndsWithTheRunChangesNothingMore) {
  const int32_t run = b.run(program, unit, 10);
  b.slower(unit, 20);
  const int32_t next = b.run(program, unit, 10, {run});
  const Timeline t = run_ideal(b.build());
  EXPECT_EQ(t.end[run], 20);
  EXPECT_EQ(t.end[next], 30);
  EXPECT_EQ(t.slowed.size(), 1U);
}

TEST_F(Slowdown, OnlyItsUnits) {
  const int32_t run = b.run(program, other, 10);
  b.slower(unit, 30);
  const Timeline t = run_ideal(b.build());
  EXPECT_EQ(t.end[run], 10);
  EXPECT_TRUE(t.slowed.empty());
}

TEST_F(Slowdown, OnlyComputeThatCanBeSlowed) {
  const int32_t hardy = b.run(b.program(10, 10), unit, 10);
  const int32_t elsewhere = b.run(program, unit, 10);
  b.graph.tasks[elsewhere].stream = Stream::tp;
  const int32_t fixed = b.fixed(10);
  b.graph.tasks[fixed].units = unit;
  b.slower(unit, 30);
  const Timeline t = run_ideal(b.build());
  EXPECT_EQ(t.end[hardy], 10);
  EXPECT_EQ(t.end[elsewhere], 10);
  EXPECT_EQ(t.end[fixed], 10);
}

TEST_F(Slowdown, AFlowSlowsFromItsStartWithItsLatency) {  // 1 s latency + 3 s bytes, over both units
  const int32_t here = b.run(program, unit, 10), there = b.run(program, other, 10);
  const int32_t flow = b.flow(b.route({{b.link(100), 1}}), 300, {}, 1);
  b.graph.tasks[flow].units = b.units({0, 1});
  b.graph.tasks[flow].slows = true;
  const Timeline t = run_ideal(b.build());
  EXPECT_EQ(t.end[here], 12);
  EXPECT_EQ(t.end[there], 12);
  EXPECT_EQ(t.slowed.size(), 2U);
}

TEST_F(Slowdown, RunOfSeveralUnitsIsSlowedByAny) {  // slowed from 0 to 4 by one, from 2 to 6 by the other
  const int32_t run = b.run(program, b.units({0, 1}), 10);
  b.slower(unit, 4);
  b.slower(other, 4, {b.fixed(2)});
  const Timeline t = run_ideal(b.build());
  EXPECT_EQ(t.end[run], 13);
  EXPECT_EQ(t.slowed.size(), 1U);
}

}  // namespace
}  // namespace rehearse::test
