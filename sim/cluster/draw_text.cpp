// Drawings as Graphviz and SVG.
#include <algorithm>
#include <cmath>
#include <set>

#include "sim/base/text.hpp"
#include "sim/cluster/draw.hpp"

namespace rehearse {
namespace {

constexpr const char* kColours[] = {"#4c78a8", "#54a24b", "#f2a541", "#b279a2",
                                    "#9d755d", "#72b7b2", "#e45756"};
constexpr const char* kChanged = "#d62728";
constexpr double kBoxHeight = 26, kLetter = 6.4;

template <class... Args>
std::string print(const char* format, Args... args) {
  char text[512];
  std::snprintf(text, sizeof text, format, args...);
  return text;
}

const char* colour_of(const DrawingLine& line) {
  return line.changed ? kChanged : kColours[size_t(line.colour) % std::size(kColours)];
}

std::string dot_quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + '"';
}

double width_of(const DrawingBox& box) { return std::max(60.0, kLetter * double(box.label.size()) + 12); }

struct Point {
  double x, y;
};

// A line's way, and where its label stands.
struct Way {
  std::string path;
  Point label;
};

Way loop_of(const DrawingBox& box, int nth) {
  const double x = box.x + width_of(box) / 2, reach = 30 + 24.0 * nth, rise = 20 + 16.0 * nth;
  return {print("M%.1f %.1f C%.1f %.1f %.1f %.1f %.1f %.1f", x, box.y - 6, x + reach, box.y - rise, x + reach,
                box.y + rise, x, box.y + 6),
          {x + 100, box.y + 16.0 * nth - 16}};
}

// Straight between rows and neighbours; a bow around the boxes between two that stand in one row or column.
Way way_of(const DrawingBox& a, const DrawingBox& b, double step) {
  const double dx = b.x - a.x, dy = b.y - a.y, length = std::hypot(dx, dy);
  const bool beside = std::fabs(dy) < 1 || std::fabs(dx) < 1;
  if (!beside || length <= step || (std::fabs(dy) >= 1 && length < 115))
    return {print("M%.1f %.1f L%.1f %.1f", a.x, a.y, b.x, b.y), {a.x + dx * 0.5, a.y + dy * 0.5}};
  const double bow = bow_height(length), mx = (a.x + b.x) / 2, my = (a.y + b.y) / 2;
  const Point control = std::fabs(dy) < 1 ? Point{mx, my - 2 * bow} : Point{mx + 2 * bow, my};
  return {print("M%.1f %.1f Q%.1f %.1f %.1f %.1f", a.x, a.y, control.x, control.y, b.x, b.y),
          {(mx + control.x) / 2, (my + control.y) / 2}};
}

void draw_line(std::string& svg, std::string& labels, const Drawing& drawing, const DrawingLine& line,
               int loops) {
  const DrawingBox &a = drawing.boxes[line.from], &b = drawing.boxes[line.to];
  const Way way = line.from == line.to ? loop_of(a, loops) : way_of(a, b, drawing.step + 1);
  svg += print("<path d=\"%s\" fill=\"none\" stroke=\"%s\"%s><title>", way.path.c_str(), colour_of(line),
               line.changed ? " stroke-width=\"2.5\" stroke-dasharray=\"6 3\"" : "") +
         xml_text(line.name + " " + a.label + " - " + b.label + ": " + line.label) + "</title></path>\n";
  if (!line.shown) return;
  const char* anchor = line.from == line.to ? "start" : "middle";
  labels +=
      print(
          "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\" stroke=\"#fff\" stroke-width=\"4\" "
          "paint-order=\"stroke\">",
          way.label.x, way.label.y + 4, anchor, colour_of(line)) +
      xml_text(line.name + " " + line.label) + "</text>\n";
}

void draw_box(std::string& svg, const DrawingBox& box) {
  const double width = width_of(box);
  svg += print(
      "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%g\" rx=\"%d\" fill=\"%s\" stroke=\"#555\"/>\n",
      box.x - width / 2, box.y - kBoxHeight / 2, width, kBoxHeight, box.row == 0 ? 3 : 12,
      box.row == 0 ? "#e8eef5" : "#fff4dd");
  svg += print("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", box.x, box.y + 4) +
         xml_text(box.label) + "</text>\n";
}

}  // namespace

std::string to_dot(const Drawing& drawing) {
  std::string dot =
      "graph " + dot_quoted(drawing.title) + " {\n  label=" + dot_quoted(drawing.title) +
      "\n  node [shape=box, fontname=\"sans-serif\", fontsize=10]\n  edge [fontname=\"sans-serif\", "
      "fontsize=9]\n";
  for (size_t i = 0; i < drawing.boxes.size(); ++i)
    dot += "  b" + std::to_string(i) + " [label=" + dot_quoted(drawing.boxes[i].label) +
           (drawing.boxes[i].row > 0 ? ", style=rounded" : "") + "]\n";
  for (const auto& line : drawing.lines)  // what is above first, so that ranks come out upright
    dot += "  b" + std::to_string(line.to) + " -- b" + std::to_string(line.from) +
           " [label=" + dot_quoted(line.label) + ", color=\"" + colour_of(line) + "\"" +
           (line.changed ? ", style=dashed" : "") + "]\n";
  return dot + "}\n";
}

std::string to_svg(const Drawing& drawing) {
  std::string svg = print(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" font-family=\"sans-serif\" "
      "font-size=\"11\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
      drawing.width, drawing.height);
  svg += "<text x=\"20\" y=\"24\" font-size=\"14\">" + xml_text(drawing.title) + "</text>\n";
  std::string labels;
  std::vector<int> loops(drawing.boxes.size(), 0);
  for (const auto& line : drawing.lines)
    draw_line(svg, labels, drawing, line, line.from == line.to ? loops[line.from]++ : 0);
  for (const auto& box : drawing.boxes) draw_box(svg, box);
  return svg + labels + "</svg>\n";
}

}  // namespace rehearse
