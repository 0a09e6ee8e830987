#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

#include "sim/engine/engine.hpp"
#include "tests/support/engine_graph.hpp"

namespace rehearse::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string error_of(const TaskGraph& graph) {
  try {
    run_ideal(graph);
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "";
}

TEST(EngineIdeal, NothingToDo) {
  GraphBuilder b;
  const Timeline t = run_ideal(b.build());
  EXPECT_EQ(t.step, 0);
  EXPECT_EQ(t.engine, "ideal");
  EXPECT_EQ(t.events, 0);
}

TEST(EngineIdeal, TaskStartsWhenItsLastPredecessorEnds) {
  GraphBuilder b;
  const int32_t quick = b.fixed(1), slow = b.fixed(3), both = b.fixed(2, {quick, slow}),
                after_quick = b.fixed(1, {quick});
  const Timeline t = run_ideal(b.build());
  EXPECT_EQ(t.start[both], 3);
  EXPECT_EQ(t.end[both], 5);
  EXPECT_EQ(t.start[after_quick], 1);
  EXPECT_EQ(t.step, 5);
  EXPECT_EQ(t.events, 4);
}

TEST(EngineIdeal, EdgeGivenTwiceCountsTwice) {
  GraphBuilder b;
  const int32_t first = b.fixed(1), second = b.fixed(1, {first, first});
  EXPECT_EQ(run_ideal(b.build()).end[second], 2);
}

TEST(EngineIdeal, FlowTakesLatencyAndBytesOverItsNarrowestLink) {
  GraphBuilder b;
  const int32_t wide = b.link(100), narrow = b.link(50);
  const int32_t both = b.route({{wide, 1}, {narrow, 1}}), doubled = b.route({{wide, 4}, {narrow, 1}});
  const int32_t plain = b.flow(both, 200, {}, 0.5), weighted = b.flow(doubled, 200, {}, 0.5);
  const int32_t capped = b.flow(both, 200, {}, 0.5, 10), cap_above = b.flow(both, 200, {}, 0.5, 1000);
  const Timeline t = run_ideal(b.build());
  EXPECT_EQ(t.end[plain], 4.5);
  EXPECT_EQ(t.end[weighted], 8.5);
  EXPECT_EQ(t.end[capped], 20.5);
  EXPECT_EQ(t.end[cap_above], 4.5);
  EXPECT_EQ(t.flows, 4);
  EXPECT_EQ(t.link_flows, 8);
}

TEST(EngineIdeal, FlowWithoutBytesOrLinks) {
  GraphBuilder b;
  const int32_t link = b.link(100), route = b.route({{link, 1}}), nowhere = b.route({});
  const int32_t empty = b.flow(route, 0, {}, 0.25), local = b.flow(nowhere, 100, {}, 0.25);
  const int32_t routeless = b.flow(-1, 100, {}, 0.25), paced = b.flow(-1, 100, {}, 0.25, 50);
  const Timeline t = run_ideal(b.build());
  EXPECT_EQ(t.end[empty], 0.25);
  EXPECT_EQ(t.end[local], 0.25);
  EXPECT_EQ(t.end[routeless], 0.25);
  EXPECT_EQ(t.end[paced], 2.25);
}

TEST(EngineIdeal, CycleIsNamed) {
  GraphBuilder b;
  const int32_t head = b.fixed(1);
  const int32_t one = b.run(b.program(1, 1), b.units({b.unit()}), 1, {head}), two = b.fixed(1, {one});
  b.graph.tasks[one].chunk = ChunkId(3);
  b.graph.tasks[one].micro = MicroBatch(7);
  b.edge(two, one);
  const int32_t tail = b.fixed(1, {two});
  EXPECT_EQ(tail, 3);
  EXPECT_EQ(error_of(b.build()),
            "the task graph cannot progress: 3 tasks are blocked\n"
            "  run task 1 (F, chunk 3, micro-batch 7) waits for fixed task 2\n"
            "  fixed task 2 waits for run task 1 (F, chunk 3, micro-batch 7)\n"
            "  fixed task 3 waits for fixed task 2");
}

TEST(EngineIdeal, TenBlockedTasksAreNamedAtMost) {
  GraphBuilder b;
  int32_t last = b.fixed(1);
  b.edge(last, last);
  for (int i = 0; i < 20; ++i) last = b.fixed(1, {last});
  EXPECT_THAT(error_of(b.build()),
              AllOf(HasSubstr("21 tasks are blocked"), HasSubstr("fixed task 9 waits for"),
                    Not(HasSubstr("fixed task 10 waits"))));
}

TEST(EngineIdeal, ImpossibleTasksAreNamed) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  {
    GraphBuilder b;
    b.fixed(nan);
    EXPECT_THAT(error_of(b.build()), HasSubstr("fixed task 0 has no finite duration"));
  }
  {
    GraphBuilder b;
    b.fixed(-1);
    EXPECT_THAT(error_of(b.build()), HasSubstr("fixed task 0 has no finite duration"));
  }
  {
    GraphBuilder b;
    b.flow(b.route({{b.link(0), 1}}), 5);
    EXPECT_THAT(error_of(b.build()), HasSubstr("flow task 0 crosses a link that carries nothing"));
  }
  {
    GraphBuilder b;
    b.flow(-1, nan);
    EXPECT_THAT(error_of(b.build()), HasSubstr("flow task 0 has no finite amount"));
  }
  {
    GraphBuilder b;
    b.fixed(1);
    EXPECT_THAT(error_of(b.graph), HasSubstr("has 1 tasks but edges for 0"));
  }
}

}  // namespace
}  // namespace rehearse::test
