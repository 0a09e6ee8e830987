// Schedules as text, and what is said about bad ones, to the letter.
#include <gtest/gtest.h>

#include "sim/base/error.hpp"
#include "sim/schedule/schedule.hpp"
#include "sim/schedule/transfers.hpp"

namespace rehearse {
namespace {

std::string complaint(std::string_view text, const PipelineShape& shape) {
  try {
    from_csv(text, "s.csv", shape);
  } catch (const InputErrors& e) {
    return e.what();
  }
  return "";
}

TEST(ScheduleText, LongForm) {
  EXPECT_EQ(to_csv(build_schedule("1f1b", {2, 2, 1})),
            "stage,kind,chunk,micro\n"
            "0,F,0,0\n0,F,0,1\n0,B,0,0\n0,B,0,1\n"
            "1,F,1,0\n1,B,1,0\n1,F,1,1\n1,B,1,1\n");
}

TEST(ScheduleText, CompactFormOfPyTorch) {
  const auto schedule = from_csv("0F0, 0F1,,,0B0,,0B1\r\n,1F0,1I0,1W0,1F1,1B1\r\n\r\n", "s.csv", {2, 2, 1});
  ASSERT_EQ(schedule.stages.size(), 2U);
  std::string second;
  for (const Action& a : schedule.stages[1]) second += short_name(a) + " ";
  EXPECT_EQ(second, "1F0 1I0 1W0 1F1 1B1 ");
  EXPECT_EQ(schedule.name, "s.csv");
}

TEST(ScheduleText, ChunksOfTheCompactFormAreGlobal) {
  const auto schedule = from_csv("0F0,2F0,2B0,0B0\n1F0,3F0,3B0,1B0\n", "s.csv", {2, 1, 2});
  EXPECT_EQ(schedule.stages[1][1], (Action{ActionKind::forward, ChunkId(3), MicroBatch(0)}));
}

TEST(ScheduleText, ByteOrderMarkIsSkipped) {
  EXPECT_EQ(from_csv("\xEF\xBB\xBF"
                     "0F0,0B0\n",
                     "s.csv", {1, 1, 1})
                .stages[0]
                .size(),
            2U);
}

// What _PipelineScheduleRuntime runs: sends and receives are kept as they stand, gathers only checked.
TEST(ScheduleText, LoweredFormOfPyTorch) {
  const std::string text =
      "0UNSHARD,0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1,0REDUCE_GRAD,0RESHARD\n"
      "1UNSHARD,1RECV_F0,1F0,1RECV_F1,1I0,1SEND_B0,1W0,1F1,1B1,1SEND_B1,1REDUCE_GRAD\n";
  const Schedule schedule = from_csv(text, "s.csv", {2, 2, 1});
  ASSERT_EQ(schedule.transfers.size(), 2U);
  EXPECT_EQ(schedule.transfers[0].size(), 4U);
  const TransferStep early{false, {ActionKind::forward, ChunkId(1), MicroBatch(1)}, 1};
  EXPECT_EQ(schedule.transfers[1][1], early);
  EXPECT_EQ(to_lowered_csv(schedule),
            "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
            "1RECV_F0,1F0,1RECV_F1,1I0,1SEND_B0,1W0,1F1,1B1,1SEND_B1\n");
  EXPECT_EQ(from_csv(to_lowered_csv(schedule), "t.csv", {2, 2, 1}).transfers, schedule.transfers);
}

TEST(ScheduleText, OverlappedPairsRunOneAfterTheOther) {
  const auto schedule = from_csv("0F0,(0F1;0B0)OVERLAP_F_B,0B1\n", "s.csv", {1, 2, 1});
  EXPECT_EQ(to_compact_csv(schedule), "0F0,0F1,0B0,0B1\n");
  EXPECT_NE(complaint("(0F0;0B0)OVERLAP\n", {1, 1, 1}).find("is no action [E-SCHEDULE-CSV]"),
            std::string::npos);
}

TEST(ScheduleText, CommunicationThatDoesNotFit) {
  const PipelineShape shape{2, 1, 1};
  EXPECT_EQ(complaint("0F0,0SEND_F0,0RECV_B0,0B0\n1F0,1RECV_F0,1B0,1SEND_B0\n", shape),
            "s.csv:2:5: error: 1RECV_F0 stands behind 1F0, which needs it [E-SCHEDULE-COMM]\n"
            "  1F0,1RECV_F0,1B0,1SEND_B0\n"
            "      ^\n");
  EXPECT_NE(complaint("0SEND_F0,0F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n", shape)
                .find("0SEND_F0 stands before 0F0, which makes what it sends"),
            std::string::npos);
  EXPECT_NE(complaint("0F0,0SEND_F0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n", shape)
                .find("0RECV_B0 is missing on stage 0"),
            std::string::npos);
  EXPECT_NE(complaint("0RECV_F0,0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n", shape)
                .find("0RECV_F0 moves nothing"),
            std::string::npos);
  EXPECT_NE(complaint("0F0,0SEND_F0,0RECV_B0,0B0,1SEND_B0\n1RECV_F0,1F0,1B0,1SEND_B0\n", shape)
                .find("1SEND_B0 stands on stage 0, but its chunk lives on stage 1"),
            std::string::npos);
  EXPECT_NE(complaint("0F0,0UNSHARD,0B0\n", {1, 1, 1}).find("does not enclose 0F0"), std::string::npos);
  EXPECT_NE(complaint("0F0,0REDUCE_GRAD,0B0\n", {1, 1, 1}).find("stands before 0B0"), std::string::npos);
  EXPECT_NE(complaint("0SEND_F,0F0,0B0\n", {1, 1, 1}).find("is no action [E-SCHEDULE-CSV]"),
            std::string::npos);
}

TEST(ScheduleText, ReceivesAreInTheOrderOfSends) {
  const std::string text = complaint(
      "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B1,0B1,0RECV_B0,0B0\n1RECV_F1,1RECV_F0,1F1,1B1,1SEND_B1,1F0,1B0,1SEND_"
      "B0\n",
      {2, 2, 1});
  EXPECT_NE(text.find("1RECV_F1 takes what 0SEND_F0 sends: each is number 1 between stages 0 and 1"),
            std::string::npos)
      << text;
}

// Stage 1 sends its gradient before it takes the second input, stage 0 the other way round.
TEST(ScheduleText, ADeadlockOfTransfersNamesEachOnTheCycle) {
  const Schedule schedule = from_csv(
      "0F0,0SEND_F0,0F1,0RECV_B0,0B0,0SEND_F1,0RECV_B1,0B1\n"
      "1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n",
      "s.csv", {2, 2, 1});
  std::string text;
  try {
    check_rendezvous(schedule, schedule.transfers, false);
  } catch (const InputErrors& found) {
    text = found.what();
  }
  EXPECT_NE(text.find("1SEND_B0 from stage 1 to stage 0 waits for 0SEND_F1 from stage 0 to stage 1 waits for "
                      "1SEND_B0 from stage 1 to stage 0 [E-SCHEDULE-DEADLOCK]"),
            std::string::npos)
      << text;
}

TEST(ScheduleText, BadCells) {
  for (const char* cell :
       {"F0", "0F", "0X0", "0f0", "00", "0", "x", "0F-1", "-0F0", "0F99999999999", "0 F 0", "0FF0", "?"}) {
    const std::string text = complaint(std::string("0F0,") + cell + "\n", {1, 1, 1});
    EXPECT_TRUE(
        text.starts_with(std::string("s.csv:1:5: error: '") + cell + "' is no action [E-SCHEDULE-CSV]"))
        << text;
  }
}

TEST(ScheduleText, BadRowsOfTheLongForm) {
  EXPECT_EQ(complaint("stage,kind,chunk,micro\n0,F,0\n0,Q,0,-1\n7,F,0,0\n", {1, 1, 1}),
            "s.csv:2:1: error: a row has 4 cells, this one 3 [E-SCHEDULE-CSV]\n"
            "  0,F,0\n"
            "  ^\n"
            "  hint: stage,kind,chunk,micro\n"
            "s.csv:3:3: error: 'Q' is no kind of action [E-SCHEDULE-CSV]\n"
            "  0,Q,0,-1\n"
            "    ^\n"
            "  hint: F, B (whole backward), I (input gradient) or W (weight gradient)\n"
            "s.csv:3:7: error: '-1' is no whole number [E-SCHEDULE-CSV]\n"
            "  0,Q,0,-1\n"
            "        ^\n"
            "s.csv:4:1: error: there is no stage 7 [E-SCHEDULE-RANGE]\n"
            "  7,F,0,0\n"
            "  ^\n"
            "  hint: stages go from 0 to 0\n");
}

TEST(ScheduleText, HeaderAndRows) {
  EXPECT_NE(complaint("stage,chunk,kind,micro\n", {1, 1, 1}).find("the header is not understood"),
            std::string::npos);
  EXPECT_NE(complaint("", {1, 1, 1}).find("the schedule is empty"), std::string::npos);
  EXPECT_NE(complaint("0F0,0B0\n", {2, 1, 1}).find("1 rows for 2 stages"), std::string::npos);
  EXPECT_TRUE(complaint("0F0,0B0\n0F1\n", {1, 1, 1}).starts_with("s.csv:2:1: error: 2 rows for 1 stages"));
}

TEST(ScheduleText, PlacesOfMisplacedActions) {
  EXPECT_EQ(complaint("0F0,0B0,0F0\n1F0,0B0,1B0,1F5\n", {2, 1, 1}),
            "s.csv:1:1: error: 0F0 on stage 0 is action 0 and again 2 [E-SCHEDULE-TWICE]\n"
            "  0F0,0B0,0F0\n"
            "  ^\n"
            "  hint: each action runs once a step\n"
            "s.csv:2:5: error: 0B0 stands on stage 1, but chunk 0 lives on stage 0 [E-SCHEDULE-STAGE]\n"
            "  1F0,0B0,1B0,1F5\n"
            "      ^\n"
            "  hint: stage = chunk mod stages; layout.placement says how chunks lie\n"
            "s.csv:2:13: error: 1F5 on stage 1 is outside of the pipeline [E-SCHEDULE-RANGE]\n"
            "  1F0,0B0,1B0,1F5\n"
            "              ^\n"
            "  hint: chunks go from 0 to 1, micro-batches from 0 to 0\n");
}

TEST(ScheduleText, SplitBackwards) {
  EXPECT_EQ(complaint("0F0,0I0\n", {1, 1, 1}),
            "s.csv:1:5: error: 0W0 is missing on stage 0 [E-SCHEDULE-MISSING]\n"
            "  0F0,0I0\n"
            "      ^\n"
            "  hint: a split backward has both I and W\n");
  EXPECT_EQ(complaint("0F0,0W0\n", {1, 1, 1}),
            "s.csv:1:5: error: 0I0 is missing on stage 0 [E-SCHEDULE-MISSING]\n"
            "  0F0,0W0\n"
            "      ^\n"
            "  hint: a split backward has both I and W\n");
  EXPECT_EQ(complaint("0F0,0B0,0W0\n", {1, 1, 1}),
            "s.csv:1:9: error: 0B0 already holds 0W0 [E-SCHEDULE-TWICE]\n"
            "  0F0,0B0,0W0\n"
            "          ^\n"
            "  hint: B is the whole backward; a split one is I and W without B\n");
  EXPECT_EQ(complaint("0F0\n", {1, 1, 1}),
            "s.csv:1:1: error: 0B0 is missing on stage 0 [E-SCHEDULE-MISSING]\n"
            "  0F0\n"
            "  ^\n");
}

TEST(ScheduleText, LongListsAreCut) {
  const std::string text = complaint("0F0\n", {1, 50, 1});
  EXPECT_NE(text.find("and 79 more such errors"), std::string::npos) << text;
}

TEST(ScheduleText, DeadlockNamesTheCycleAndEveryBlockedStage) {
  EXPECT_EQ(complaint("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n", {2, 2, 1}),
            "s.csv:1:5: error: no progress after 2 of 8 actions: 0B0 waits for 1B0, which stands behind 1F1 "
            "on stage 1; "
            "1F1 waits for 0F1, which stands behind 0B0 on stage 0 [E-SCHEDULE-DEADLOCK]\n"
            "  0F0,0B0,0F1,0B1\n"
            "      ^\n"
            "  hint: actions of a stage run in the order listed\n"
            "s.csv:1:5: error: stage 0 stands at 0B0 (action 1), waiting for 1B0, which stands behind 1F1 on "
            "stage 1 "
            "[E-SCHEDULE-DEADLOCK]\n"
            "  0F0,0B0,0F1,0B1\n"
            "      ^\n"
            "s.csv:2:5: error: stage 1 stands at 1F1 (action 1), waiting for 0F1, which stands behind 0B0 on "
            "stage 0 "
            "[E-SCHEDULE-DEADLOCK]\n"
            "  1F0,1F1,1B0,1B1\n"
            "      ^\n");
}

TEST(ScheduleText, AStageCanBlockItself) {
  const std::string text = complaint("0F0,0W0,0I0\n", {1, 1, 1});
  EXPECT_NE(text.find("0W0 waits for 0I0, which stands behind 0W0 on stage 0"), std::string::npos) << text;
}

// Stage 2 hangs on the cycle of stages 0 and 1 without being part of it.
TEST(ScheduleText, TheCycleLeavesOutBystanders) {
  const std::string text = complaint("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n2F0,2F1,2B0,2B1\n", {3, 2, 1});
  EXPECT_NE(text.find("no progress after 3 of 12 actions: 0B0 waits for 1B0, which stands behind 1F1 on "
                      "stage 1; 1F1 waits "
                      "for 0F1, which stands behind 0B0 on stage 0 ["),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("stage 2 stands at 2F1 (action 1), waiting for 1F1 on stage 1"), std::string::npos)
      << text;
}

}  // namespace
}  // namespace rehearse
