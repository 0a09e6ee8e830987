#include "sim/schedule/svg.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "sim/base/text.hpp"

namespace rehearse {

namespace {

constexpr double kWidth = 1200, kMargin = 60, kRow = 16, kTitle = 24, kGap = 18;  // pixels
// By kind, then even and odd chunks of a stage.
constexpr const char* kColours[4][2] = {
    {"#4c78a8", "#9ecae9"}, {"#54a24b", "#a1d99b"}, {"#f2a541", "#fdd49e"}, {"#b279a2", "#dcc3d8"}};
constexpr const char* kNames[4] = {"forward", "backward", "input gradient", "weight gradient"};

template <class... Args>
std::string print(const char* format, Args... args) {
  char text[320];
  std::snprintf(text, sizeof text, format, args...);
  return text;
}

struct Window {
  double begin = std::numeric_limits<double>::infinity(), end = 0;
};
Window window_of(const SvgPanel& panel) {
  Window window;
  for (const auto& stage : panel.spans)
    for (const auto& span : stage)
      window.begin = std::min(window.begin, span.start), window.end = std::max(window.end, span.end);
  return window;
}

void draw_stage(std::string& svg, const SvgPanel& panel, size_t s, double y, double begin, double scale) {
  svg += print("<text x=\"%g\" y=\"%g\" text-anchor=\"end\">%zu</text>\n", kMargin - 6, y + kRow - 4, s);
  for (size_t i = 0; i < panel.spans[s].size(); ++i) {
    const Action& a = panel.schedule.stages[s][i];
    const ActionSpan& span = panel.spans[s][i];
    const double x = kMargin + (span.start - begin) * scale, width = (span.end - span.start) * scale;
    const char* colour = kColours[int(a.kind)][local_chunk(a.chunk, panel.schedule.shape) % 2];
    svg +=
        print("<rect x=\"%.2f\" y=\"%g\" width=\"%.2f\" height=\"%g\" fill=\"%s\"><title>%s</title></rect>\n",
              x, y, width, kRow - 1, colour, short_name(a).c_str());
    const std::string number = std::to_string(a.micro.value);
    if (width >= 7.0 * double(number.size()) + 2)
      svg += print("<text x=\"%.2f\" y=\"%g\" text-anchor=\"middle\">%s</text>\n", x + width / 2,
                   y + kRow - 4, number.c_str());
  }
}

std::string legend(double y) {
  std::string svg;
  for (int kind = 0; kind < 4; ++kind) {
    const double x = kMargin + 150 * kind;
    svg += print("<rect x=\"%g\" y=\"%g\" width=\"12\" height=\"12\" fill=\"%s\"/>", x, y, kColours[kind][0]);
    svg += print("<rect x=\"%g\" y=\"%g\" width=\"12\" height=\"12\" fill=\"%s\"/>", x + 12, y,
                 kColours[kind][1]);
    svg += print("<text x=\"%g\" y=\"%g\">%s</text>\n", x + 30, y + 11, kNames[kind]);
  }
  return svg;
}

}  // namespace

std::string draw_svg(const std::vector<SvgPanel>& panels) {
  double longest = 0, height = kGap;
  for (const auto& panel : panels) {
    const Window window = window_of(panel);
    longest = std::max(longest, window.end - window.begin);
    height += kTitle + kRow * double(panel.spans.size()) + kGap;
  }
  const double scale = longest > 0 ? (kWidth - kMargin - 10) / longest : 0;
  std::string svg = print(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" font-family=\"sans-serif\" "
      "font-size=\"10\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
      kWidth, height + 24);
  double y = kGap;
  for (const auto& panel : panels) {
    svg += print("<text x=\"%g\" y=\"%g\" font-size=\"13\">", kMargin, y + kTitle - 8) +
           xml_text(panel.title) + "</text>\n";
    y += kTitle;
    const double begin = window_of(panel).begin;
    for (size_t s = 0; s < panel.spans.size(); ++s, y += kRow) draw_stage(svg, panel, s, y, begin, scale);
    y += kGap;
  }
  return svg + legend(y) + "</svg>\n";
}

}  // namespace rehearse
