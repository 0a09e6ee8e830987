// Drawings of a network: its nodes, switches and links.
#pragma once
#include <string>

#include "sim/cluster/fabric.hpp"

namespace rehearse {

struct DrawingBox {
  std::string label;
  int row = 0;          // 0: nodes; above them switches, by how far they are from a node
  double x = 0, y = 0;  // of its middle, pixels
};
struct DrawingLine {
  int from = 0, to = 0;     // boxes; alike: a loop, of links between those that the box stands for
  std::string label, name;  // "8 x 25 GB/s"; "NIC"
  int colour = 0;           // by kind of link
  bool changed = false;     // by an override
  bool shown = false;       // its label: the first of its kind, or one that is changed
};
// All nodes and switches, links one line for both ways; with more than 32 nodes one box for those of a kind.
struct Drawing {
  std::string title;
  std::vector<DrawingBox> boxes;
  std::vector<DrawingLine> lines;
  double width = 0, height = 0;
  double step = 90;  // between neighbours of a row, at least
};
Drawing draw(const Fabric& fabric);

// How far a line between two boxes of one row bows around those between them, by their distance.
inline double bow_height(double distance) { return 26 + 0.08 * distance; }

std::string to_dot(const Drawing& drawing);  // Graphviz
std::string to_svg(const Drawing& drawing);

}  // namespace rehearse
