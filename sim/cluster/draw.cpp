#include "sim/cluster/draw.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace rehearse {
namespace {

constexpr int kMostNodes = 32;
constexpr double kStep = 84, kGridStep = 170, kRow = 110, kMargin = 70, kTop = 50;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}
std::string gigabytes(double rate) { return number(rate / 1e9) + " GB/s"; }

// "rail0.leaf3" -> "rail.leaf": what alike ones share.
std::string kind_of(const std::string& name) {
  std::string kind;
  for (const char c : name)
    if (c < '0' || c > '9') kind += c;
  return kind;
}

// A link of the network both ways, or the NICs of a node.
struct Joint {
  int from, to;  // vertices
  std::string kind;
  std::string each;  // "8 x 25 GB/s", "50 GB/s"
  bool changed = false;
};

class Artist {
 public:
  explicit Artist(const Fabric& fabric) : fabric_(fabric), c_(fabric.cluster()), graph_(fabric.graph()) {}

  Drawing draw() {
    collect_nics();
    collect_links();
    c_.nodes > kMostNodes ? draw_kinds() : draw_all();
    drawing_.title =
        c_.name + ": " + std::to_string(c_.nodes) + " nodes of " + std::to_string(c_.gpus_per_node) + " GPUs";
    return std::move(drawing_);
  }

 private:
  void collect_nics() {
    const int each = c_.ports_per_node();
    for (int node = 0; node < c_.nodes; ++node) {
      std::map<int, std::pair<int, double>> entries;  // NICs, and the slowest
      for (int port = node * each; port < (node + 1) * each; ++port) {
        const int at = graph_.entry(port);
        if (at == node) continue;
        const LinkId down(fabric_.classes()[1].first + port);
        const double rate = std::min(rate_of(LinkId(port)), rate_of(down));
        auto& [count, least] = entries.try_emplace(at, 0, rate).first->second;
        ++count, least = std::min(least, rate);
      }
      for (const auto& [at, nics] : entries)
        joints_.push_back(
            {node, at, "NIC",
             (nics.first > 1 ? std::to_string(nics.first) + " x " : "") + gigabytes(nics.second),
             nics.second < c_.port().value});
    }
  }

  void collect_links() {
    std::map<std::pair<int, int>, std::pair<LinkId, double>> there;
    std::vector<Hop> hops;
    for (int v = 0; v < graph_.vertices; ++v) {
      hops.clear();
      graph_.out(v, hops);
      for (const Hop& hop : hops) {
        const double rate_there = rate_of(hop.link);
        const auto back = there.find({hop.to, v});
        if (back == there.end()) {
          there[{v, hop.to}] = {hop.link, rate_there};
          continue;
        }
        const LinkClass& own = fabric_.classes()[fabric_.link(back->second.first).link_class];
        const double rate = std::min(back->second.second, rate_there);
        joints_.push_back({hop.to, v, kind_of_class(own.name), gigabytes(rate), rate < own.rate.value});
        there.erase(back);
      }
    }
  }
  double rate_of(LinkId link) const { return fabric_.link(link).rate.value; }
  static std::string kind_of_class(const std::string& name) {
    for (const std::string_view end : {" up", " down", "+", "-"})
      if (name.ends_with(end)) return name.substr(0, name.size() - end.size());
    return name;
  }

  int colour_of(const std::string& kind) {
    const auto at = std::find(kinds_.begin(), kinds_.end(), kind);
    if (at != kinds_.end()) return static_cast<int>(at - kinds_.begin());
    kinds_.push_back(kind);
    return static_cast<int>(kinds_.size()) - 1;
  }
  void add_line(int from, int to, const std::string& kind, const std::string& label, bool changed) {
    const bool first = std::find(kinds_.begin(), kinds_.end(), kind) == kinds_.end();
    const int colour = colour_of(kind);
    drawing_.lines.push_back({from, to, label, kind, colour, changed, first || changed});
  }

  // Links from a vertex to the nearest node.
  std::vector<int> heights() const {
    std::vector<int> height(graph_.vertices, -1), queue;
    for (int n = 0; n < c_.nodes; ++n) height[n] = 0, queue.push_back(n);
    std::vector<std::vector<int>> next(graph_.vertices);
    for (const Joint& j : joints_) next[j.from].push_back(j.to), next[j.to].push_back(j.from);
    for (size_t i = 0; i < queue.size(); ++i)
      for (const int v : next[queue[i]])
        if (height[v] < 0) height[v] = height[queue[i]] + 1, queue.push_back(v);
    for (int& h : height) h = std::max(h, 0);
    return height;
  }

  // Rows go up by one: the switches of domains that join nodes lie below. Number of boxes so far.
  int raise_for_domains() {
    for (auto& box : drawing_.boxes) ++box.row;
    return static_cast<int>(drawing_.boxes.size());
  }
  std::string nvlinks() const {
    const std::string gpus = std::to_string(c_.gpus_per_node);
    return c_.nvlink.value > 0 ? gpus + " x " + gigabytes(c_.nvlink.value) : gpus + " GPUs";
  }

  void draw_all() {
    const auto height = heights();
    for (int v = 0; v < graph_.vertices; ++v) drawing_.boxes.push_back({graph_.name(v), height[v]});
    for (const Joint& j : joints_) add_line(j.from, j.to, j.kind, j.each, j.changed);
    if (c_.nodes_per_domain > 1)
      for (int n = 0, below = raise_for_domains(); n < c_.nodes; ++n) {
        const int domain = n / c_.nodes_per_domain;
        if (n % c_.nodes_per_domain == 0) drawing_.boxes.push_back({"nvlink" + std::to_string(domain), 0});
        add_line(n, below + domain, "NVLink", nvlinks(), false);
      }
    if (c_.fabric == FabricShape::torus && c_.nodes_per_domain == 1)
      place_on_grid();
    else if (graph_.vertices == c_.nodes && c_.nodes_per_domain == 1)
      place_on_circle();
    else
      place_in_rows();
  }

  void draw_kinds() {
    const auto height = heights();
    std::map<std::string, int> boxes;
    std::vector<int> counts, box_of(graph_.vertices);
    for (int v = 0; v < graph_.vertices; ++v) {
      const auto [at, fresh] = boxes.emplace(kind_of(graph_.name(v)), static_cast<int>(counts.size()));
      if (fresh) drawing_.boxes.push_back({at->first, height[v]}), counts.push_back(0);
      box_of[v] = at->second;
      ++counts[at->second];
    }
    for (size_t i = 0; i < counts.size(); ++i)
      if (counts[i] > 1)
        drawing_.boxes[i].label = std::to_string(counts[i]) + " x " + drawing_.boxes[i].label;
    std::map<std::tuple<int, int, std::string, std::string, bool>, int> lines;
    for (const Joint& j : joints_) ++lines[{box_of[j.from], box_of[j.to], j.kind, j.each, j.changed}];
    for (const auto& [line, count] : lines) {
      const auto& [from, to, kind, each, changed] = line;
      add_line(from, to, kind, std::to_string(count) + " x (" + each + ")", changed);
      drawing_.lines.back().shown = true;
    }
    if (c_.nodes_per_domain > 1) {
      const int domain = raise_for_domains();
      drawing_.boxes.push_back({std::to_string(c_.nodes / c_.nodes_per_domain) + " x NVLink domain", 0});
      add_line(box_of[0], domain, "NVLink", std::to_string(c_.nodes) + " x (" + nvlinks() + ")", false);
      drawing_.lines.back().shown = true;
    }
    place_in_rows();
  }

  // Lines between boxes of the topmost row.
  bool bows_on_top() const {
    int top = 0;
    for (const auto& box : drawing_.boxes) top = std::max(top, box.row);
    return std::any_of(drawing_.lines.begin(), drawing_.lines.end(), [&](const DrawingLine& l) {
      return l.from != l.to && drawing_.boxes[l.from].row == top && drawing_.boxes[l.to].row == top;
    });
  }
  void place_in_rows() {
    std::map<int, std::vector<DrawingBox*>> rows;
    for (auto& box : drawing_.boxes) rows[box.row].push_back(&box);
    size_t widest = 0;
    for (const auto& row : rows) widest = std::max(widest, row.second.size());
    drawing_.width = std::max(640.0, kStep * double(widest)) + 2 * kMargin;
    const double bow = bows_on_top() ? bow_height(drawing_.width) : 0;
    drawing_.height = kTop + bow + kRow * double(rows.rbegin()->first + 1);
    for (auto& [row, boxes] : rows)
      for (size_t i = 0; i < boxes.size(); ++i) {
        boxes[i]->x = kMargin + (double(i) + 0.5) * (drawing_.width - 2 * kMargin) / double(boxes.size());
        boxes[i]->y = drawing_.height - kRow * (row + 0.5);
      }
  }
  void place_on_grid() {
    const int x = c_.dims[0], y = c_.dims.size() > 1 ? c_.dims[1] : 1, z = c_.nodes / x / y;
    drawing_.step = kGridStep;
    drawing_.width = 2 * kMargin + (x + 1) * kGridStep * z;
    drawing_.height = kTop + (y + 1) * kRow;
    for (int n = 0; n < c_.nodes; ++n) {
      const int column = n % x + (x + 1) * (n / x / y), row = n / x % y;
      drawing_.boxes[n].x = kMargin + kGridStep * (column + 0.5);
      drawing_.boxes[n].y = kTop + kRow * (row + 0.7);
    }
  }
  void place_on_circle() {
    const double pi = std::acos(-1.0), radius = std::max(150.0, kStep * c_.nodes / (2 * pi));
    drawing_.width = std::max(640.0, 2 * (radius + kMargin));
    drawing_.height = kTop + 2 * (radius + kMargin);
    for (int n = 0; n < c_.nodes; ++n) {
      drawing_.boxes[n].x = drawing_.width / 2 + radius * std::sin(2 * pi * n / c_.nodes);
      drawing_.boxes[n].y = kTop + kMargin + radius - radius * std::cos(2 * pi * n / c_.nodes);
    }
  }

  const Fabric& fabric_;
  const Cluster& c_;
  const NetworkGraph& graph_;
  std::vector<Joint> joints_;
  std::vector<std::string> kinds_;
  Drawing drawing_;
};

}  // namespace

Drawing draw(const Fabric& fabric) { return Artist(fabric).draw(); }

}  // namespace rehearse
