// The drawing of a schedule, to the letter.
#include <gtest/gtest.h>

#include "sim/schedule/grid.hpp"

namespace rehearse {
namespace {

// Two stages, two micro-batches, F = 1, B = 2: the textbook's smallest 1F1B.
const Schedule kSchedule = build_schedule("1f1b", {2, 2, 1});
const std::vector<std::vector<ActionSpan>> kSpans{{{0, 1}, {1, 2}, {4, 6}, {7, 9}},
                                                  {{1, 2}, {2, 4}, {4, 5}, {5, 7}}};

TEST(ScheduleGrid, Ascii) {
  EXPECT_EQ(draw_grid(kSchedule, kSpans, {40, false, false}),
            "stage\n"
            " 0 |F0--F1--........B0======....B1======\n"
            " 1 |....F0--B0======F1--B1======........\n"
            "    '0 s                '5 s\n"
            "F- forward  B= backward  .. idle  1 column = 250 ms\n");
}

TEST(ScheduleGrid, Blocks) {
  EXPECT_EQ(draw_grid(kSchedule, kSpans, {40, true, false}),
            "stage\n"
            " 0 │░0░░░1░░········▓0▓▓▓▓▓▓····▓1▓▓▓▓▓▓\n"
            " 1 │····░0░░▓0▓▓▓▓▓▓░1░░▓1▓▓▓▓▓▓········\n"
            "    ╵0 s                ╵5 s\n"
            "░░ forward  ▓▓ backward  ·· idle  1 column = 250 ms\n");
}

TEST(ScheduleGrid, ColourIsOffUnlessAskedFor) {
  EXPECT_EQ(draw_grid(kSchedule, kSpans, {40, true, false}).find('\x1b'), std::string::npos);
  EXPECT_NE(draw_grid(kSchedule, kSpans, {40, true, true}).find("\x1b[30;44m 0  "), std::string::npos);
}

TEST(ScheduleGrid, TheOriginIsTheFirstAction) {
  auto later = kSpans;
  for (auto& stage : later)
    for (auto& span : stage) span.start += 1000, span.end += 1000;
  EXPECT_EQ(draw_grid(kSchedule, later, {40, false, false}),
            draw_grid(kSchedule, kSpans, {40, false, false}));
}

TEST(ScheduleGrid, ChunksAndSplitBackwards) {
  const auto schedule = from_csv("0F0,1F0,1I0,0I0,1W0,0W0\n", "s.csv", {1, 1, 2});
  EXPECT_EQ(
      draw_grid(schedule, {{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}}}, {40, false, false}),
      "stage\n"
      " 0 |F0----f0----i0~~~~I0~~~~w0++++W0++++\n"
      "    '0 s                          '5 s\n"
      "F- forward, chunk 0  f- forward, chunk 1  I~ input gradient, chunk 0  i~ input gradient, chunk 1  "
      "W+ weight gradient, chunk 0  w+ weight gradient, chunk 1  .. idle  1 column = 166.7 ms\n");
}

// 100 actions do not fit; the middle goes, and the note says how much. Every action is drawn or counted.
TEST(ScheduleGrid, ALongPipelineLosesItsMiddle) {
  const auto schedule = build_schedule("gpipe", {1, 50, 1});
  std::vector<std::vector<ActionSpan>> spans(1);
  for (int i = 0; i < 100; ++i) spans[0].push_back({double(i), double(i + 1)});
  EXPECT_EQ(draw_grid(schedule, spans, {43, false, false}),
            "stage\n"
            " 0 |F0-F1-F2-F3-F4-F5- ~ B44B45B46B47B48B49\n"
            "    '0 s           '5 s     '95 s\n"
            "F- forward  B= backward  .. idle  1 column = 333.3 ms\n"
            "~ not drawn: 6 s to 94 s, 88 % of the time, with 88 actions\n");
}

TEST(ScheduleGrid, ActionsShorterThanAColumnAreCounted) {
  const auto schedule = build_schedule("gpipe", {1, 2, 1});
  const std::string text = draw_grid(schedule, {{{0, 1e-6}, {1e-6, 1}, {1, 2}, {2, 3}}}, {40, false, false});
  EXPECT_NE(text.find("shorter than a column, not drawn: 1 action\n"), std::string::npos) << text;
}

TEST(ScheduleGrid, NothingThatTakesTime) {
  const auto schedule = build_schedule("gpipe", {2, 1, 1});
  EXPECT_EQ(
      draw_grid(schedule, {{{0, 0}, {0, 0}}, {{0, 0}, {0, 0}}}, {40, false, false}),
      "stage\n 0 |\n 1 |\nF- forward  B= backward  .. idle\nshorter than a column, not drawn: 4 actions\n");
}

// No row is wider than asked, at any shape and width, and all rows are equally long.
TEST(ScheduleGrid, RowsKeepToTheWidth) {
  for (int m : {1, 3, 10, 47})
    for (int width : {40, 57, 80, 133})
      for (double tail : {0.01, 0.4, 1.0, 7.3}) {
        const auto schedule = build_schedule("gpipe", {1, m, 1});
        std::vector<std::vector<ActionSpan>> spans(1);
        for (int i = 0; i < 2 * m; ++i) spans[0].push_back({i * tail, (i + 1) * tail});
        const std::string text = draw_grid(schedule, spans, {width, false, false});
        const size_t from = text.find('\n') + 1;
        EXPECT_LE(text.find('\n', from) - from, size_t(width)) << text;
      }
}

}  // namespace
}  // namespace rehearse
