#include <map>

#include "calibration/probes/probe.hpp"
#include "calibration/samples/json.hpp"
#include "calibration/samples/work_json.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"

namespace rehearse::calibration {

std::string to_json_line(const Point& point) {
  nlohmann::ordered_json json{{"point", point_of(point.work)},
                              {"work", to_json(point.work)},
                              {"value", point.value},
                              {"seconds", point.seconds}};
  return json.dump();
}

namespace {

Point point_from(const nlohmann::json& object) {
  JsonFields f(object, "point");
  Point point;
  point.work = work_from(f.require("work"));
  point.value = f.number("value", 0, point.value);
  point.seconds = f.number("seconds", 0, point.seconds);
  const std::string name = point_of(point.work);
  if (const std::string given = f.text("point", name); given != name)
    throw JsonProblem("point.point is " + quote(given) + ", and the work is " + quote(name));
  f.finish();
  return point;
}

[[noreturn]] void refuse(const std::string& path, int line, const std::string& text, std::string message,
                         std::string hint = {}) {
  throw InputErrors({{shown_path(path), line, line ? 1 : 0, printable(text.substr(0, 160))},
                     "",
                     "E-POINTS",
                     std::move(message),
                     std::move(hint)});
}

}  // namespace

std::vector<Point> read_points(const std::string& path) {
  const std::string text = read_file(path, {}, size_t{1} << 28);
  std::vector<Point> points;
  std::map<std::string, int> lines;
  int number = 0;
  for (const auto part : split(text, '\n')) {
    const std::string line(part);
    ++number;
    if (line.empty()) continue;
    try {
      points.push_back(point_from(nlohmann::json::parse(line)));
    } catch (const nlohmann::json::exception&) {
      refuse(path, number, line, "the line is not JSON");
    } catch (const JsonProblem& problem) {
      refuse(path, number, line, problem.what());
    }
    const std::string name = point_of(points.back().work);
    if (const auto [first, fresh] = lines.emplace(name, number); !fresh)
      refuse(path, number, line,
             "the point " + quote(name) + " stands already in line " + std::to_string(first->second));
  }
  if (points.empty())
    refuse(path, 0, "", "no point stands in it", "rehearse-calibrate plan --for SCENARIO writes such a file");
  return points;
}

}  // namespace rehearse::calibration
