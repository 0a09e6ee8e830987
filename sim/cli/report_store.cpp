#include "sim/cli/report_store.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "sim/study/store.hpp"

namespace rehearse {

namespace {

struct Setting {
  std::string key, value;
};
// "layout.tp=8"
Setting read_setting(const std::string& text) {
  const size_t at = text.find('=');
  return {text.substr(0, at), at == std::string::npos ? "" : text.substr(at + 1)};
}

// Keys in the order in which studies name them, then as points do.
std::vector<std::string> keys_of(const Store& store, const std::vector<StoredPoint>& points) {
  std::vector<std::string> keys;
  const auto add = [&](const std::string& key) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  };
  for (const auto& study : store.studies())
    for (const auto& axis : study.axes) add(axis);
  for (const auto& stored : points)
    for (const auto& setting : stored.point.settings) add(read_setting(setting).key);
  std::erase_if(keys, [&](const std::string& key) {
    return std::none_of(points.begin(), points.end(), [&](const StoredPoint& stored) {
      return std::any_of(stored.point.settings.begin(), stored.point.settings.end(),
                         [&](const std::string& setting) { return read_setting(setting).key == key; });
    });
  });
  return keys;
}

const PageColumn* figure(const PageSweep& sweep, const std::string& name) {
  const auto found = std::find_if(sweep.figures.begin(), sweep.figures.end(),
                                  [&](const PageColumn& column) { return column.name == name; });
  return found == sweep.figures.end() ? nullptr : &*found;
}

}  // namespace

bool is_store(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed)) return false;
  std::string head(16, ' ');
  std::ifstream(path, std::ios::binary).read(head.data(), std::streamsize(head.size()));
  return head == std::string("SQLite format 3\0", 16);
}

PageSweep read_sweep(const std::string& path) {
  const Store store(path, Store::Mode::read);
  const auto points = store.points();
  const auto studies = store.studies();
  PageSweep sweep{.name = std::filesystem::path(path).stem().string(), .source = path};
  if (studies.size() == 1) sweep.name = studies.front().name;
  for (const auto& key : keys_of(store, points)) sweep.settings.push_back({key, {}, {}});
  for (const auto& row : figure_table()) sweep.figures.push_back({std::string(row.name), {}, {}});
  for (const auto& stored : points) {
    for (auto& column : sweep.settings) column.texts.push_back(value_of(stored.point, column.name));
    const auto& figures = stored.outcome.figures;
    for (size_t i = 0; i < sweep.figures.size(); ++i)
      sweep.figures[i].numbers.push_back(i < figures.size() ? figures[i] : std::nan(""));
    sweep.verdict.emplace_back(name_of(kVerdicts, stored.outcome.verdict));
    sweep.code.push_back(stored.outcome.code);
  }
  if (const PageColumn* capacity = figure(sweep, "memory.capacity_bytes"))
    for (double bytes : capacity->numbers)
      if (std::isfinite(bytes)) sweep.capacity_bytes = std::max(sweep.capacity_bytes, bytes);
  return sweep;
}

std::vector<FigurePoint> trade_offs(const PageSweep& sweep) {
  std::vector<FigurePoint> points;
  const PageColumn* step = figure(sweep, "step_time_s");
  const PageColumn* peak = figure(sweep, "memory.peak_bytes");
  for (size_t row = 0; step && peak && row < sweep.verdict.size(); ++row)
    if (std::isfinite(step->numbers[row]) && std::isfinite(peak->numbers[row]))
      points.push_back({step->numbers[row], peak->numbers[row]});
  return points;
}

}  // namespace rehearse
