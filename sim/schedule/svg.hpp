// Timelines of schedules as SVG, one above the other on one time axis.
#pragma once
#include "sim/schedule/grid.hpp"

namespace rehearse {

struct SvgPanel {
  std::string title;
  Schedule schedule;
  std::vector<std::vector<ActionSpan>> spans;  // as for draw_grid
};

// One panel a schedule, a row a stage, time from left to right and the same for all panels. Hovering over an
// action names it.
std::string draw_svg(const std::vector<SvgPanel>& panels);

}  // namespace rehearse
