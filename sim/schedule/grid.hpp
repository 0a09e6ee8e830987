// The timeline of a schedule as text: a row a stage, time from left to right.
#pragma once
#include <string>
#include <vector>

#include "sim/schedule/schedule.hpp"

namespace rehearse {

struct ActionSpan {
  double start = 0, end = 0;  // s
};

struct GridStyle {
  int width = 120;       // columns of the terminal; less than 40 counts as 40
  bool unicode = false;  // block elements; else ASCII
  bool colour = false;   // ANSI backgrounds
};

// spans[s][i] is when schedule.stages[s][i] ran. An action is drawn from its start to its end, with the
// number of its micro-batch where that fits. A pipeline too long for the width loses its middle; a note says
// how much. The text ends in a legend and a line break.
std::string draw_grid(const Schedule& schedule, const std::vector<std::vector<ActionSpan>>& spans,
                      const GridStyle& style);

}  // namespace rehearse
