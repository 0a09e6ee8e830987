#include "sim/study/axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/io/topology.hpp"

namespace rehearse {

namespace {

constexpr int64_t kMostValues = 1'000'000;  // of one axis

bool refuse(const Mark& mark, const std::string& key, Problems& problems, std::string message,
            std::string hint = {}) {
  problems.add(mark, key, "E-STUDY-AXIS", std::move(message), std::move(hint));
  return false;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + "\"";
}

// {from: 1, to: 16, times: 2, unit: Gb/s}
std::vector<std::string> read_range(MapReader& reader, const std::string& key) {
  double from = 0, to = 0, step = 1, times = 2;
  std::string unit;
  const bool starts = reader.required("from", from), ends = reader.required("to", to) && starts;
  const bool multiplies = reader.has("times"), adds = reader.has("step");
  const bool steps = multiplies ? reader.optional("times", times)
                     : adds     ? reader.optional("step", step)
                                : true;
  reader.find("step"), reader.find("times");  // named as valid keys, whichever stands there
  reader.optional("unit", unit);
  reader.finish();
  const Mark& mark = reader.node().mark;
  auto& problems = reader.problems();
  if (!ends || !steps) return {};
  if (multiplies == adds)
    return refuse(mark, key, problems, key + " needs one of step and times",
                  "{from: 1, to: 8, step: 1} or {from: 1, to: 8, times: 2}"),
           std::vector<std::string>{};
  const bool goes = multiplies ? times > 1 && from > 0 : step > 0;
  if (!goes || to < from)
    return refuse(mark, key, problems, key + ": this range does not come from its start to its end",
                  "step is above 0, times above 1 and its start above 0"),
           std::vector<std::string>{};
  std::vector<std::string> values;
  const double count = multiplies ? std::log(to / from) / std::log(times) : (to - from) / step;
  if (count > double(kMostValues))
    return refuse(mark, key, problems, key + ": this range has too many values"), std::vector<std::string>{};
  for (int64_t i = 0; double(i) <= count + 1e-9; ++i)
    values.push_back(fmt::format("{:.12g}{}{}",
                                 multiplies ? from * std::pow(times, double(i)) : from + double(i) * step,
                                 unit.empty() ? "" : " ", unit));
  return values;
}

std::vector<std::string> texts_of(const std::vector<int64_t>& numbers) {
  std::vector<std::string> texts;
  texts.reserve(numbers.size());
  for (const int64_t n : numbers) texts.push_back(std::to_string(n));
  return texts;
}

std::vector<std::string> read_divisors(MapReader& reader, const std::string& key, const StudyBase& base) {
  int64_t number = 0;
  std::string name;
  const IntRange range{1, int64_t{1} << 40};
  if (reader.has("divisors")) {
    reader.optional("divisors", number, range);
  } else if (reader.required("divisors_of", name)) {
    const auto text = base.value(name);
    const auto parsed = parse_int(text.value_or(""));
    number = parsed.value.value_or(0);
    if (number < range.min || number > range.max) {
      number = 0;
      refuse(reader.node().find("divisors_of")->mark, key, reader.problems(),
             key + ": " + quote(name) +
                 (text ? " is " + quote(*text) + ", not a count" : " is not given in the base"),
             "gpus, layers, heads, hidden, or a key of the base");
    }
  }
  reader.finish();
  return number > 0 ? texts_of(divisors(number)) : std::vector<std::string>{};
}

// Rows with the values of several keys at once.
void add_zip(const DocNode& node, const std::string& path, const StudyBase& base, Problems& problems,
             std::vector<AxisGroup>& groups) {
  const MapReader check(node, path, problems);
  AxisGroup group;
  for (const auto& entry : node.entries) {
    const auto values = read_axis_values(entry.value, path + "." + entry.key, base, problems);
    if (values.empty()) return;
    if (!group.keys.empty() && values.size() != group.rows.size()) {
      refuse(entry.value.mark, path, problems,
             fmt::format("{} has {} values, and {} has {}", entry.key, values.size(), group.keys.front(),
                         group.rows.size()),
             "keys that vary together have as many values each");
      return;
    }
    group.rows.resize(values.size());
    for (size_t i = 0; i < values.size(); ++i) group.rows[i].push_back(values[i]);
    group.keys.push_back(entry.key);
    group.marks.push_back(entry.mark);
  }
  if (node.kind == NodeKind::map && group.keys.size() < 2)
    refuse(node.mark, path, problems, path + " needs two keys or more, which vary together");
  groups.push_back(std::move(group));
}

void drop_repeats(AxisGroup& group) {
  std::set<std::vector<std::string>> seen;
  const auto repeats = [&](const auto& row) { return !seen.insert(row).second; };
  group.rows.erase(std::remove_if(group.rows.begin(), group.rows.end(), repeats), group.rows.end());
}

}  // namespace

StudyBase::StudyBase(ReadScenario read) : read_(std::move(read)) {
  if (const DocNode* cluster = read_.root.find("cluster")) cluster_ = merge_cluster(*cluster);
}

std::optional<std::string> StudyBase::value(const std::string& name) const {
  const ModelSpec& model = scenario().model;
  if (name == "gpus") return std::to_string(gpus());
  if (name == "layers") return std::to_string(model.layers);
  if (name == "heads") return std::to_string(model.heads);
  if (name == "hidden") return std::to_string(model.hidden);
  const auto find = [&](const DocNode* node, std::string_view path) {
    for (const auto key : split(path, '.')) node = node ? node->find(key) : nullptr;
    return node;
  };
  const DocNode* node =
      name.starts_with("cluster.") ? find(&cluster_, std::string_view(name).substr(8)) : nullptr;
  if (!node) node = find(&read_.root, name);
  if (!node || node->kind == NodeKind::absent || node->kind == NodeKind::null) return {};
  return flow_text(*node);
}

std::string flow_text(const DocNode& node) {
  std::string text;
  switch (node.kind) {
    case NodeKind::null:
    case NodeKind::absent:
      return "null";
    case NodeKind::scalar: {
      const bool risky =
          node.text.empty() || node.text.find_first_of(",[]{}:#\"'\\\n&*!|>%@`") != std::string::npos;
      return node.quoted || risky ? quoted(node.text) : node.text;
    }
    case NodeKind::list:
      for (const auto& item : node.items) text += (text.empty() ? "" : ", ") + flow_text(item);
      return "[" + text + "]";
    case NodeKind::map:
      for (const auto& entry : node.entries)
        text += (text.empty() ? "" : ", ") + entry.key + ": " + flow_text(entry.value);
      return "{" + text + "}";
  }
  return text;
}

std::vector<int64_t> divisors(int64_t n) {
  std::vector<int64_t> low, high;
  for (int64_t d = 1; d <= n / d; ++d) {
    if (n % d != 0) continue;
    low.push_back(d);
    if (d != n / d) high.push_back(n / d);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

std::vector<std::string> read_axis_values(const DocNode& node, const std::string& key, const StudyBase& base,
                                          Problems& problems) {
  std::vector<std::string> values;
  if (node.kind == NodeKind::list) {
    for (const auto& item : node.items) values.push_back(flow_text(item));
    if (values.empty()) refuse(node.mark, key, problems, key + " has no values");
    return values;
  }
  if (node.kind != NodeKind::map) {
    problems.add(node.mark, key, "E-TYPE",
                 key + " must be a list of values or a range, not " + describe(node),
                 "[1, 2, 4], {from: 1, to: 4, times: 2}, {divisors: 8} or {divisors_of: gpus}");
    return values;
  }
  MapReader reader(node, key, problems);
  const bool divides = reader.has("divisors") || reader.has("divisors_of");
  return divides ? read_divisors(reader, key, base) : read_range(reader, key);
}

std::vector<AxisGroup> read_axes(const DocNode& node, const StudyBase& base, Problems& problems) {
  const MapReader check(node, "axes", problems);
  std::vector<AxisGroup> groups;
  for (const auto& entry : node.entries) {
    if (entry.key != "zip") {
      AxisGroup group{{entry.key}, {entry.mark}, {}};
      for (auto& value : read_axis_values(entry.value, entry.key, base, problems))
        group.rows.push_back({std::move(value)});
      groups.push_back(std::move(group));
    } else if (entry.value.kind == NodeKind::list) {
      for (size_t i = 0; i < entry.value.items.size(); ++i)
        add_zip(entry.value.items[i], "zip[" + std::to_string(i) + "]", base, problems, groups);
    } else {
      add_zip(entry.value, "zip", base, problems, groups);
    }
  }
  std::vector<std::string> seen;
  for (auto& group : groups) {
    drop_repeats(group);
    for (size_t k = 0; k < group.keys.size(); ++k) {
      if (std::find(seen.begin(), seen.end(), group.keys[k]) != seen.end())
        refuse(group.marks[k], group.keys[k], problems, group.keys[k] + " varies twice");
      for (const auto& other : seen)
        if (other.starts_with(group.keys[k] + ".") || group.keys[k].starts_with(other + "."))
          refuse(group.marks[k], group.keys[k], problems,
                 group.keys[k] + " and " + other + " both vary, and one holds the other");
      seen.push_back(group.keys[k]);
    }
  }
  if (node.kind == NodeKind::map && node.entries.empty())
    refuse(node.mark, "axes", problems, "axes names no key that varies");
  return groups;
}

}  // namespace rehearse
