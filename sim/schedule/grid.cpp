#include "sim/schedule/grid.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace rehearse {

namespace {

using Spans = std::vector<std::vector<ActionSpan>>;

// How one kind of action looks: [0] on the stage's even chunks, [1] on its odd ones.
struct Look {
  const char* block[2];
  char letter[2];
  char fill;
  int background[2];  // ANSI
};
constexpr Look kLooks[] = {{{"░", "▒"}, {'F', 'f'}, '-', {44, 104}},
                           {{"▓", "█"}, {'B', 'b'}, '=', {42, 102}},
                           {{"▚", "▞"}, {'I', 'i'}, '~', {43, 103}},
                           {{"▖", "▗"}, {'W', 'w'}, '+', {45, 105}}};

int digits(int number) { return int(std::to_string(number).size()); }

// Columns of time: all of [0, total), or without the middle [head, tail).
struct Scale {
  double origin = 0, per_second = 0;
  int64_t total = 0, head = 0, tail = 0;
  bool elided() const { return tail > head; }
  int64_t column(double t) const { return int64_t(std::floor((t - origin) * per_second + 0.5 + 1e-6)); }
  double time(int64_t column) const { return double(column) / per_second; }
  int64_t shown() const { return total - (tail - head) + (elided() ? kGap : 0); }
  // Where a column is drawn; -1 in the middle that is left out.
  int64_t drawn(int64_t column) const {
    if (column < head || !elided()) return column;
    return column < tail ? -1 : column - tail + head + kGap;
  }
  static constexpr int kGap = 3;
};

// The shortest action, but no less than a quarter of the median one: what the scale must show.
double unit_of(const Spans& spans) {
  std::vector<double> durations;
  for (const auto& stage : spans)
    for (const auto& span : stage)
      if (span.end > span.start) durations.push_back(span.end - span.start);
  if (durations.empty()) return 0;
  std::sort(durations.begin(), durations.end());
  return std::max(durations.front(), durations[durations.size() / 2] / 4);
}

Scale scale_for(const Schedule& schedule, const Spans& spans, int columns) {
  Scale scale;
  double end = 0;
  scale.origin = INFINITY;
  for (const auto& stage : spans)
    for (const auto& span : stage) {
      scale.origin = std::min(scale.origin, span.start);
      end = std::max(end, span.end);
    }
  const double unit = unit_of(spans);
  if (unit == 0) return scale;  // nothing takes time
  const int labelled = digits(schedule.shape.micro_batches - 1) + 1, widest = labelled + 4;
  const double fit = columns * unit / (end - scale.origin) * (1 + 1e-9);
  const double whole =
      fit >= 2 ? std::floor(fit) : fit;  // a whole number aligns durations that are commensurate
  const double per_unit = fit >= 1.5 ? std::min<double>(whole, widest) : labelled;
  scale.per_second = per_unit / unit;
  scale.total = scale.head = scale.tail = std::max<int64_t>(1, scale.column(end));
  if (scale.total > columns) {
    scale.head = (columns - Scale::kGap + 1) / 2;
    scale.tail = scale.total - (columns - Scale::kGap) / 2;
  }
  return scale;
}

struct Column {
  std::string glyph;
  int background = 0;
  bool operator==(const Column&) const = default;
};

Column column_of(const Look& look, int odd, bool first, const GridStyle& style) {
  if (style.colour) return {" ", look.background[odd]};
  if (style.unicode) return {look.block[odd], 0};
  return {std::string(1, first ? look.letter[odd] : look.fill), 0};
}

// A cell of `width` columns: a mark of its kind, the micro-batch where it fits, and filling.
std::vector<Column> cell_of(const Action& action, const PipelineShape& shape, int64_t width,
                            const GridStyle& style) {
  const Look& look = kLooks[size_t(action.kind)];
  const int odd = local_chunk(action.chunk, shape) % 2;
  std::vector<Column> cell;
  for (int64_t i = 0; i < width; ++i) cell.push_back(column_of(look, odd, i == 0, style));
  const std::string number = std::to_string(action.micro.value);
  if (width > int64_t(number.size()))
    for (size_t i = 0; i < number.size(); ++i) cell[i + 1].glyph = number[i];
  return cell;
}

struct Counts {
  int64_t left_out = 0, too_short = 0;
};

std::vector<Column> row_of(const Schedule& schedule, size_t stage, const std::vector<ActionSpan>& spans,
                           const Scale& scale, const GridStyle& style, Counts& counts) {
  std::vector<Column> row(size_t(scale.shown()), Column{style.unicode ? "·" : ".", 0});
  for (size_t i = 0; i < spans.size(); ++i) {
    const int64_t from = scale.column(spans[i].start), to = scale.column(spans[i].end);
    if (scale.elided() && from >= scale.head && to <= scale.tail) {
      ++counts.left_out;
      continue;
    }
    if (from == to) ++counts.too_short;
    const auto cell =
        cell_of(schedule.stages[stage][i], schedule.shape, std::min<int64_t>(to, scale.total) - from, style);
    const bool cut =
        scale.elided() && from < scale.tail && to > scale.head;  // no number without its whole cell
    const Look& look = kLooks[size_t(schedule.stages[stage][i].kind)];
    const int odd = local_chunk(schedule.stages[stage][i].chunk, schedule.shape) % 2;
    for (size_t k = 0; k < cell.size(); ++k)
      if (const int64_t at = scale.drawn(from + int64_t(k)); at >= 0)
        row[size_t(at)] = cut ? column_of(look, odd, k == 0, style) : cell[k];
  }
  if (scale.elided())
    for (int i = 0; i < Scale::kGap; ++i)
      row[size_t(scale.head + i)] = {i == 1 ? (style.unicode ? "⋯" : "~") : " ", 0};
  return row;
}

std::string text_of(const std::vector<Column>& row) {
  std::string text;
  int background = 0;
  for (const Column& column : row) {
    if (column.background != background)
      text += column.background == 0 ? "\x1b[0m" : "\x1b[30;" + std::to_string(column.background) + "m";
    background = column.background;
    text += column.glyph;
  }
  return background == 0 ? text : text + "\x1b[0m";
}

std::string seconds(double t) {
  char text[32];
  const double size = std::abs(t);
  const double factor = size == 0 || size >= 1 ? 1 : size >= 1e-3 ? 1e3 : 1e6;
  std::snprintf(text, sizeof text, "%.4g %s", t * factor, factor == 1 ? "s" : factor == 1e3 ? "ms" : "us");
  return text;
}

// 1, 2 or 5 times a power of ten, no less than `least`.
double round_step(double least) {
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (double factor : {1, 2, 5})
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

// Round times since the first action, under the columns where they fall.
std::string axis(const Scale& scale, bool unicode) {
  constexpr int spacing = 14;  // columns, room for a label
  const double step = round_step(spacing / scale.per_second);
  std::string text;
  int64_t used = 0;  // columns of `text`
  const std::pair<int64_t, int64_t> parts[] = {{0, scale.elided() ? scale.head : scale.total},
                                               {scale.tail, scale.elided() ? scale.total : 0}};
  for (const auto& [from, to] : parts)
    for (auto n = int64_t(std::ceil(scale.time(from) / step - 1e-9)); scale.time(to) > double(n) * step;
         ++n) {
      const std::string label = seconds(double(n) * step);
      const int64_t at = scale.drawn(std::llround(double(n) * step * scale.per_second));
      if (at < used || at + 1 + int64_t(label.size()) > scale.shown()) continue;
      text += std::string(size_t(at - used), ' ') + (unicode ? "╵" : "'") + label;
      used = at + 1 + int64_t(label.size());
    }
  return text;
}

std::string legend(const Schedule& schedule, const Scale& scale, const GridStyle& style) {
  bool seen[4][2] = {};
  for (const auto& stage : schedule.stages)
    for (const Action& a : stage) seen[int(a.kind)][local_chunk(a.chunk, schedule.shape) % 2] = true;
  static constexpr const char* kNames[] = {"forward", "backward", "input gradient", "weight gradient"};
  std::string text;
  for (int kind = 0; kind < 4; ++kind)
    for (int odd = 0; odd < 2; ++odd)
      if (seen[kind][odd]) {
        const Column mark = column_of(kLooks[kind], odd, true, style);
        text += text_of(
            {mark, style.unicode || style.colour ? mark : Column{std::string(1, kLooks[kind].fill), 0}});
        text += std::string(" ") + kNames[kind];
        if (schedule.shape.chunks > 1)
          text += schedule.shape.chunks == 2 ? (odd ? ", chunk 1" : ", chunk 0")
                                             : (odd ? ", odd chunks" : ", even chunks");
        text += "  ";
      }
  text += std::string(style.unicode ? "··" : "..") + " idle";
  if (scale.per_second > 0) text += "  1 column = " + seconds(1 / scale.per_second);
  return text + "\n";
}

std::string counted(int64_t actions) {
  return std::to_string(actions) + (actions == 1 ? " action" : " actions");
}

std::string notes(const Scale& scale, const Counts& counts, bool unicode) {
  std::string text;
  if (scale.elided()) {
    const double part = 100.0 * double(scale.tail - scale.head) / double(scale.total);
    char percent[16];
    std::snprintf(percent, sizeof percent, "%.0f", part);
    text += std::string(unicode ? "⋯" : "~") + " not drawn: " + seconds(scale.time(scale.head)) + " to " +
            seconds(scale.time(scale.tail)) + ", " + percent + " % of the time, with " +
            counted(counts.left_out) + "\n";
  }
  if (counts.too_short > 0) text += "shorter than a column, not drawn: " + counted(counts.too_short) + "\n";
  return text;
}

}  // namespace

std::string draw_grid(const Schedule& schedule, const Spans& spans, const GridStyle& style) {
  const int margin = digits(schedule.shape.stages - 1) + 3;
  const Scale scale = scale_for(schedule, spans, std::max(style.width, 40) - margin);
  const std::string bar = style.unicode ? "│" : "|";
  std::string text = "stage\n";
  Counts counts;
  for (size_t s = 0; s < spans.size(); ++s) {
    const std::string name = std::to_string(s);
    text.append(size_t(margin) - 2 - name.size(), ' ').append(name).append(" ").append(bar);
    text += text_of(row_of(schedule, s, spans[s], scale, style, counts)) + "\n";
  }
  if (scale.total > 0) text += std::string(size_t(margin), ' ') + axis(scale, style.unicode) + "\n";
  return text + legend(schedule, scale, style) + notes(scale, counts, style.unicode);
}

}  // namespace rehearse
