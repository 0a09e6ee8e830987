#include "sim/view/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>

#include "sim/base/text.hpp"

namespace rehearse {

namespace {

constexpr double kWidth = 900, kLeft = 70, kRight = 30, kTop = 44;  // pixels

// As the page has them (view/page/theme.js).
constexpr const char* kPartColours[kParts] = {"#0072B2", "#56B4E9", "#D55E00", "#009E73", "#8C564B",
                                              "#E69F00", "#CC79A7", "#9AA0A6", "#F0E442", "#5F6368"};
struct MemoryPart {
  const char *name, *colour;
  double MemoryParts::*bytes;
};
constexpr MemoryPart kMemoryParts[] = {
    {"weights", "#0072B2", &MemoryParts::weights},     {"gradients", "#56B4E9", &MemoryParts::gradients},
    {"optimizer", "#F0E442", &MemoryParts::optimizer}, {"framework", "#9AA0A6", &MemoryParts::framework},
    {"buffers", "#009E73", &MemoryParts::buffers},     {"activations", "#E69F00", &MemoryParts::activations},
    {"logits", "#D55E00", &MemoryParts::logits}};

std::string open_svg(double height) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1:g}\" viewBox=\"0 0 {0} {1:g}\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
      kWidth, height);
}

std::string text(double x, double y, const char* anchor, const std::string& words,
                 const char* fill = "#222") {
  return fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\" text-anchor=\"{}\" fill=\"{}\">{}</text>\n", x, y,
                     anchor, fill, xml_text(words));
}

std::string line(double x1, double y1, double x2, double y2, const char* style) {
  return fmt::format("<line x1=\"{:.2f}\" y1=\"{:.2f}\" x2=\"{:.2f}\" y2=\"{:.2f}\" {}/>\n", x1, y1, x2, y2,
                     style);
}

std::string rectangle(double x, double y, double width, double height, const char* fill,
                      const std::string& title) {
  return fmt::format(
      "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" "
      "fill=\"{}\"><title>{}</title></rect>\n",
      x, y, width, height, fill, xml_text(title));
}

// Values of an axis onto pixels.
struct Scale {
  double from = 0, to = 1, begin = 0, end = 1;
  double operator()(double value) const { return begin + (value - from) / (to - from) * (end - begin); }
};

// 1, 2 or 5 times a power of ten: at most `most` steps over the range.
double tick_step(const Scale& scale, int most) {
  const double raw = (scale.to - scale.from) / most, power = std::pow(10.0, std::floor(std::log10(raw)));
  for (double m : {1.0, 2.0, 5.0})
    if (m * power >= raw) return m * power;
  return 10 * power;
}

constexpr const char* kGrid = "stroke=\"#e3e6ea\"";
constexpr const char* kDashed = "stroke=\"#222\" stroke-dasharray=\"5 3\"";

// Grid lines and their values along the bottom edge.
std::string x_axis(const Scale& x, double top, double bottom, const std::string& name) {
  const double step = tick_step(x, 9);
  std::string svg;
  for (auto i = int64_t(std::ceil(x.from / step - 1e-9)); double(i) * step <= x.to * (1 + 1e-9); ++i) {
    const double at = x(double(i) * step);
    svg += line(at, top, at, bottom, kGrid) +
           text(at, bottom + 14, "middle", fmt::format("{:g}", double(i) * step));
  }
  return svg + text((x.begin + x.end) / 2, bottom + 30, "middle", name, "#555");
}

std::string y_axis(const Scale& y, double left, double right, const std::string& name) {
  const double step = tick_step(y, 7);
  std::string svg;
  for (auto i = int64_t(std::ceil(y.from / step - 1e-9)); double(i) * step <= y.to * (1 + 1e-9); ++i) {
    const double at = y(double(i) * step);
    svg += line(left, at, right, at, kGrid) +
           text(left - 6, at + 4, "end", fmt::format("{:g}", double(i) * step));
  }
  const double middle = (y.begin + y.end) / 2;
  return svg + fmt::format(
                   "<text transform=\"translate(16 {:.2f}) rotate(-90)\" text-anchor=\"middle\" "
                   "fill=\"#555\">{}</text>\n",
                   middle, xml_text(name));
}

struct Entry {
  std::string name;
  const char* colour;
};
std::string legend(const std::vector<Entry>& entries) {
  std::string svg;
  double x = kLeft;
  for (const auto& entry : entries) {
    svg += fmt::format("<rect x=\"{:.2f}\" y=\"14\" width=\"11\" height=\"11\" fill=\"{}\"/>\n", x,
                       entry.colour) +
           text(x + 16, 24, "start", entry.name);
    x += 32 + 6.2 * double(entry.name.size());
  }
  return svg;
}

std::string capacity_line(double x1, double y1, double x2, double y2, double gib, bool upright) {
  return line(x1, y1, x2, y2, kDashed) +
         text(upright ? x1 - 4 : x2 - 4, y1 - 4, "end", fmt::format("capacity {:.4g} GiB", gib));
}

// Between blue and yellow by way of grey; t in 0..1.
std::string ramp(double t) {
  constexpr double stops[4][3] = {{0, 45, 98}, {0, 114, 178}, {120, 125, 130}, {190, 140, 0}};
  const double at = std::clamp(t, 0.0, 0.9999) * 3;
  const int i = int(at);
  int c[3];
  for (int k = 0; k < 3; ++k)
    c[k] = int(std::lround(stops[i][k] + (stops[i + 1][k] - stops[i][k]) * (at - i)));
  return fmt::format("#{:02x}{:02x}{:02x}", c[0], c[1], c[2]);
}

}  // namespace

FigureRun figure_run(const Report& r) {
  FigureRun run{r.name, r.step_time_s, r.account, r.memory.capacity_bytes, {}};
  for (const auto& stage : r.memory.stages) run.peaks.push_back(stage.peak);
  return run;
}

FigureRun figure_run(const std::string& report_json) {
  const auto r = nlohmann::json::parse(report_json);
  FigureRun run{r.at("name"), r.at("step_time_s"), {}, r.at("memory").at("capacity_bytes"), {}};
  for (int part = 0; part < kParts; ++part)
    run.account[size_t(part)] = r.at("account_s").at(std::string(kPartNames[part]));
  for (const auto& stage : r.at("memory").at("stages")) {
    MemoryParts parts;
    for (const auto& part : kMemoryParts) parts.*part.bytes = stage.at("parts").at(part.name);
    run.peaks.push_back(parts);
  }
  return run;
}

std::string account_svg(const std::vector<FigureRun>& runs) {
  constexpr double row = 40, bar = 24;
  double longest = 0;
  size_t widest = 0;
  for (const auto& run : runs)
    longest = std::max(longest, run.step_s), widest = std::max(widest, run.label.size());
  const double left = 20 + std::min(260.0, 6.4 * double(widest)), bottom = kTop + row * double(runs.size());
  const Scale x{0, longest > 0 ? longest : 1, left, kWidth - kRight};
  std::vector<Entry> entries;
  for (int part = 0; part < kParts; ++part)
    if (std::any_of(runs.begin(), runs.end(),
                    [&](const FigureRun& r) { return r.account[size_t(part)] > 0; })) {
      std::string name(kPartNames[part]);
      std::replace(name.begin(), name.end(), '_', ' ');
      entries.push_back({name, kPartColours[part]});
    }
  std::string svg = open_svg(bottom + 40) + legend(entries) + x_axis(x, kTop, bottom, "s");
  for (size_t i = 0; i < runs.size(); ++i) {
    const double y = kTop + row * double(i) + (row - bar) / 2;
    svg += text(left - 8, y + bar / 2 + 4, "end", runs[i].label);
    double at = 0;
    for (int part = 0; part < kParts; ++part) {
      const double s = runs[i].account[size_t(part)], width = x(at + s) - x(at);
      if (s <= 0) continue;
      const double share = runs[i].step_s > 0 ? 100 * s / runs[i].step_s : 0;
      svg += rectangle(x(at), y, width, bar, kPartColours[part],
                       fmt::format("{}: {:.4g} s, {:.2f} %", kPartNames[part], s, share));
      const bool dark =
          part == int(Part::compute) || part == int(Part::exposed_tp) || part == int(Part::overhead);
      if (width > 44)
        svg += text(x(at) + width / 2, y + bar / 2 + 4, "middle", fmt::format("{:.1f} %", share),
                    dark ? "#fff" : "#222");
      at += s;
    }
  }
  return svg + "</svg>\n";
}

std::string memory_peak_svg(const FigureRun& run) {
  constexpr double row = 18, bar = 14;
  double most = run.capacity_bytes;
  for (const auto& parts : run.peaks) most = std::max(most, parts.total());
  const double bottom = kTop + 14 + row * double(run.peaks.size());
  const Scale x{0, most / kGibi * 1.03, kLeft, kWidth - kRight};
  std::vector<Entry> entries;
  for (const auto& part : kMemoryParts) entries.push_back({part.name, part.colour});
  std::string svg = open_svg(bottom + 40) + legend(entries) + x_axis(x, kTop + 14, bottom, "GiB");
  for (size_t s = 0; s < run.peaks.size(); ++s) {
    const double y = kTop + 14 + row * double(s) + (row - bar) / 2;
    svg += text(kLeft - 8, y + bar - 3, "end", fmt::format("stage {}", s));
    double at = 0;
    for (const auto& part : kMemoryParts) {
      const double gib = run.peaks[s].*part.bytes / kGibi;
      if (gib > 0)
        svg += rectangle(x(at), y, x(at + gib) - x(at), bar, part.colour,
                         fmt::format("{}: {:.3f} GiB", part.name, gib));
      at += gib;
    }
  }
  const double at = x(run.capacity_bytes / kGibi);
  return svg + capacity_line(at, kTop + 10, at, bottom, run.capacity_bytes / kGibi, true) + "</svg>\n";
}

std::string memory_svg(const MemoryReport& memory, double step_s) {
  constexpr double height = 380;
  double least = memory.capacity_bytes;
  for (const auto& stage : memory.stages)
    for (const auto& sample : stage.over_time) least = std::min(least, sample.parts.total());
  const Scale x{0, step_s > 0 ? step_s : 1, kLeft, kWidth - kRight};
  const Scale y{std::max(0.0, std::floor(least / kGibi / 10 - 0.2) * 10),
                std::max(memory.capacity_bytes, memory.peak_bytes) / kGibi * 1.03, height - 40, kTop};
  const size_t n = memory.stages.size();
  std::vector<std::string> colours;
  for (size_t s = 0; s < n; ++s) colours.push_back(ramp(n > 1 ? double(s) / double(n - 1) : 0));
  std::vector<Entry> entries;
  for (size_t s = 0; s < n && n <= 12; ++s)
    entries.push_back({fmt::format("stage {}", s), colours[s].c_str()});
  std::string svg = open_svg(height) + legend(entries) + x_axis(x, kTop, height - 40, "s") +
                    y_axis(y, kLeft, kWidth - kRight, "GiB");
  for (size_t s = 0; s < n; ++s) {
    std::string path;
    for (const auto& sample : memory.stages[s].over_time) {
      const double px = x(sample.time_s), py = y(sample.parts.total() / kGibi);
      path += path.empty() ? fmt::format("M{:.2f} {:.2f}", px, py) : fmt::format(" H{:.2f} V{:.2f}", px, py);
    }
    svg += fmt::format("<path d=\"{} H{:.2f}\" fill=\"none\" stroke=\"{}\"><title>stage {}</title></path>\n",
                       path, x(x.to), colours[s], s);
  }
  const double at = y(memory.capacity_bytes / kGibi);
  return svg + capacity_line(kLeft, at, kWidth - kRight, at, memory.capacity_bytes / kGibi, false) +
         "</svg>\n";
}

std::vector<FigurePoint> pareto_front(std::vector<FigurePoint> points) {
  std::sort(points.begin(), points.end(), [](const FigurePoint& a, const FigurePoint& b) {
    return std::tie(a.step_s, a.peak_bytes) < std::tie(b.step_s, b.peak_bytes);
  });
  std::vector<FigurePoint> front;
  for (const auto& p : points)
    if (front.empty() || p.peak_bytes < front.back().peak_bytes) front.push_back(p);
  return front;
}

std::string pareto_svg(const std::string& title, const std::vector<FigurePoint>& points,
                       double capacity_bytes) {
  constexpr double height = 460;
  double low = std::numeric_limits<double>::infinity(), high = 0, most = capacity_bytes;
  for (const auto& p : points)
    low = std::min(low, p.step_s), high = std::max(high, p.step_s), most = std::max(most, p.peak_bytes);
  if (points.empty()) low = 0, high = 1;
  const double room = high > low ? 0.03 * (high - low) : 0.1 * std::max(high, 1e-9);
  const Scale x{std::max(0.0, low - room), high + room, kLeft, kWidth - kRight};
  const Scale y{0, std::max(most, 1.0) / kGibi * 1.05, height - 40, kTop};
  std::string svg = open_svg(height) + text(kLeft, 24, "start", title) +
                    x_axis(x, kTop, height - 40, "step, s") +
                    y_axis(y, kLeft, kWidth - kRight, "peak memory, GiB");
  svg += "<g fill=\"#0072B2\" fill-opacity=\"0.35\">\n";
  for (const auto& p : points)
    svg +=
        fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2\"/>\n", x(p.step_s), y(p.peak_bytes / kGibi));
  svg += "</g>\n";
  std::string path, dots;
  for (const auto& p : pareto_front(points)) {
    const double px = x(p.step_s), py = y(p.peak_bytes / kGibi);
    path += path.empty() ? fmt::format("M{:.2f} {:.2f}", px, py) : fmt::format(" H{:.2f} V{:.2f}", px, py);
    dots += fmt::format(
        "<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"4\"><title>{:.4g} s, {:.2f} GiB</title></circle>\n", px, py,
        p.step_s, p.peak_bytes / kGibi);
  }
  if (!path.empty())
    svg += fmt::format(
        "<path d=\"{}\" fill=\"none\" stroke=\"#D55E00\" stroke-width=\"1.5\"/>\n<g fill=\"#fff\" "
        "stroke=\"#D55E00\" stroke-width=\"2\">\n{}</g>\n",
        path, dots);
  if (capacity_bytes > 0) {
    const double at = y(capacity_bytes / kGibi);
    svg += capacity_line(kLeft, at, kWidth - kRight, at, capacity_bytes / kGibi, false);
  }
  return svg + "</svg>\n";
}

}  // namespace rehearse
