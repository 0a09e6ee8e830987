#include "sim/study/study.hpp"

#include <algorithm>
#include <filesystem>

#include "sim/base/file.hpp"
#include "sim/base/text.hpp"
#include "sim/step/plan.hpp"
#include "sim/study/axes.hpp"
#include "sim/study/condition.hpp"

namespace rehearse {

namespace {

constexpr int64_t kMostPoints = 1'000'000, kMostProducts = 100'000'000;

void read_sets(const DocNode& node, Problems& problems, std::vector<std::string>& sets) {
  if (node.kind == NodeKind::map) {
    for (const auto& entry : node.entries) sets.push_back(entry.key + "=" + flow_text(entry.value));
  } else if (node.kind == NodeKind::list) {
    for (size_t i = 0; i < node.items.size(); ++i)
      if (std::string set; read_value(node.items[i], "set[" + std::to_string(i) + "]", problems, set))
        sets.push_back(set);
  } else {
    problems.add(node.mark, "set", "E-TYPE",
                 "set must be a list of KEY=VALUE, or a mapping of keys to values, not " + describe(node));
  }
}

void read_prices(const DocNode& node, Problems& problems, Study& study) {
  MapReader reader(node, "prices", problems);
  reader.optional("gpu_hour", study.dollars_per_gpu_hour, kPositive);
  reader.optional("watts", study.watts_per_gpu, kPositive);
  reader.finish();
}

std::vector<Condition> read_conditions(const DocNode& node, Problems& problems) {
  std::vector<Condition> conditions;
  const auto add = [&](const DocNode& one, const std::string& key) {
    if (auto condition = Condition::read(one, key, problems)) conditions.push_back(std::move(*condition));
  };
  if (node.kind != NodeKind::list) add(node, "when");
  for (size_t i = 0; i < node.items.size(); ++i) add(node.items[i], "when[" + std::to_string(i) + "]");
  return conditions;
}

std::string_view unquoted(std::string_view text) {
  const bool quotes = text.size() > 1 && text.front() == '"' && text.back() == '"';
  return quotes ? text.substr(1, text.size() - 2) : text;
}

// The key that varies and changes what a name means, where the name is read of the base.
const std::string* changed_by(const std::string& name, const std::vector<std::string>& keys) {
  const bool of_cluster = name == "gpus", of_model = name == "layers" || name == "heads" || name == "hidden";
  for (const auto& key : keys)
    if ((of_cluster && key.starts_with("cluster")) || (of_model && key.starts_with("model")) ||
        name.starts_with(key + "."))
      return &key;
  return nullptr;
}

// Conditions with the places of their keys among those that vary.
class Filter {
 public:
  Filter(std::vector<Condition> conditions, const std::vector<std::string>& keys, const StudyBase& base,
         Problems& problems)
      : conditions_(std::move(conditions)) {
    for (const auto& condition : conditions_) {
      std::vector<Source> sources;
      for (size_t n = 0; n < condition.names().size(); ++n) {
        const std::string& name = condition.names()[n];
        const auto at = std::find(keys.begin(), keys.end(), name);
        const auto given = base.value(name);
        if (const auto* key = at == keys.end() ? changed_by(name, keys) : nullptr)
          condition.problem(n, problems, quote(name) + " is the base's, and " + *key + " varies",
                            "let the condition read " + *key);
        if (at == keys.end() && !given) {
          const std::vector<std::string_view> known(keys.begin(), keys.end());
          condition.problem(n, problems, quote(name) + " neither varies nor is given in the base",
                            suggest(name, known));
        }
        sources.push_back({at - keys.begin(), given.value_or("")});
      }
      sources_.push_back(std::move(sources));
    }
  }
  bool wants(const std::vector<std::string>& row) const {
    std::vector<std::string_view> values;
    for (size_t c = 0; c < conditions_.size(); ++c) {
      values.clear();
      for (const auto& [column, constant] : sources_[c])
        values.push_back(unquoted(size_t(column) < row.size() ? row[size_t(column)] : constant));
      if (!conditions_[c].holds(values)) return false;
    }
    return true;
  }

 private:
  using Source = std::pair<std::ptrdiff_t, std::string>;  // column of a row, or the base's value
  std::vector<Condition> conditions_;
  std::vector<std::vector<Source>> sources_;
};

// A key that no scenario has would refuse every point.
void check_keys(const std::vector<AxisGroup>& groups, const Study& study, const DataRoots& roots,
                ScenarioFiles& files, Problems& problems) {
  for (const auto& group : groups)
    for (size_t k = 0; k < group.keys.size() && !group.rows.empty(); ++k) {
      auto sets = study.sets;
      sets.push_back(group.keys[k] + "=" + group.rows.front()[k]);
      try {
        read_scenario(study.base, sets, roots, files);
      } catch (const InputErrors& found) {
        for (const auto& error : found.errors)
          if (error.code == "E-KEY-UNKNOWN" || error.code == "E-SET")
            problems.add(group.marks[k], group.keys[k], error.code, error.message, error.hint);
      }
    }
}

// The axes come after the settings of all points.
void check_sets(const std::vector<std::string>& keys, const Study& study, const DocNode& axes,
                Problems& problems) {
  for (const auto& set : study.sets)
    for (const auto& key : keys) {
      const std::string set_key = set.substr(0, set.find('='));
      if ((set_key == key || set_key.starts_with(key + ".")) && !set.ends_with("=null"))
        problems.add(axes.mark, key, "E-STUDY-AXIS",
                     key + " varies, so that " + quote(set) + " has no effect", "leave one of them out");
    }
}

void each_product(const std::vector<AxisGroup>& groups, const EmitRow& emit) {
  std::vector<size_t> at(groups.size(), 0);
  for (;;) {
    std::vector<std::string> row;
    for (size_t g = 0; g < groups.size(); ++g)
      row.insert(row.end(), groups[g].rows[at[g]].begin(), groups[g].rows[at[g]].end());
    emit(row);
    size_t g = groups.size();
    while (g > 0 && ++at[g - 1] == groups[g - 1].rows.size()) at[--g] = 0;
    if (g == 0) return;
  }
}

// Points of the axes or the search, in order.
class Points {
 public:
  Points(Study& study, const DocNode& place, Problems& problems)
      : study_(study), place_(place), problems_(problems) {}

  void fill(const std::function<void(const EmitRow&)>& each, const Filter& filter) {
    each([&](const std::vector<std::string>& row) {
      if (study_.points.size() > size_t(kMostPoints) || !filter.wants(row)) return;
      Point point;
      for (size_t k = 0; k < row.size(); ++k) point.settings.push_back(study_.axes[k] + "=" + row[k]);
      study_.points.push_back(std::move(point));
    });
    if (study_.points.size() > size_t(kMostPoints))
      refuse("more than " + std::to_string(kMostPoints) + " points");
    if (study_.points.empty()) refuse("no point");
  }
  void refuse(const std::string& what) {
    problems_.add(place_.mark, "", "E-STUDY-POINTS", "the study has " + what, "");
  }

 private:
  Study& study_;
  const DocNode& place_;
  Problems& problems_;
};

double products(const std::vector<AxisGroup>& groups) {
  double count = 1;
  for (const auto& group : groups) count *= double(group.rows.size());
  return count;
}

struct Parts {
  const DocNode* axes = nullptr;
  const DocNode* search = nullptr;
  const DocNode* when = nullptr;
};

Parts read_head(MapReader& reader, const std::string& path, const DataRoots& roots, Study& study) {
  Problems& problems = reader.problems();
  study.name = path == "-" ? "stdin" : printable(std::filesystem::path(path).stem().string());
  if (reader.optional("name", study.name) &&
      (study.name.empty() || study.name.size() > 100 || study.name.find('/') != std::string::npos))
    reader.problem(reader.node().find("name")->mark, "name", "E-STUDY-NAME",
                   "the study's name is that of its store: up to 100 bytes, and no '/'");
  if (const DocNode* base = reader.require("base"))
    if (const auto found = resolve(*base, "base", FileKind::scenario, folder_of(path), roots, problems))
      study.base = *found;
  if (const DocNode* sets = reader.find("set")) read_sets(*sets, problems, study.sets);
  if (const DocNode* prices = reader.find("prices")) read_prices(*prices, problems, study);
  const Parts parts{reader.find("axes"), reader.find("search"), reader.find("when")};
  reader.finish();
  if (reader.node().kind == NodeKind::map && !parts.axes == !parts.search &&
      (parts.axes || !(reader.has("axes") || reader.has("search"))))
    problems.add(
        reader.node().mark, "", "E-STUDY-KIND",
        parts.axes ? "a study has axes or a search, not both" : "the study has neither axes nor a search",
        "give one of axes: and search: layout");
  return parts;
}

void unroll(const Parts& parts, const StudyBase& base, const DataRoots& roots, ScenarioFiles& files,
            Problems& problems, Study& study) {
  auto conditions = parts.when ? read_conditions(*parts.when, problems) : std::vector<Condition>{};
  Points points(study, parts.axes ? *parts.axes : *parts.search, problems);
  if (parts.search) {
    const auto search = read_search(*parts.search, base, problems);
    if (!search) return;
    study.axes = search->keys;
    study.sets.insert(study.sets.end(), search->sets.begin(), search->sets.end());
    const Filter filter(std::move(conditions), study.axes, base, problems);
    if (problems.empty()) points.fill(search->each, filter);
    return;
  }
  const auto groups = read_axes(*parts.axes, base, problems);
  check_keys(groups, study, roots, files, problems);
  for (const auto& group : groups) study.axes.insert(study.axes.end(), group.keys.begin(), group.keys.end());
  check_sets(study.axes, study, *parts.axes, problems);
  const Filter filter(std::move(conditions), study.axes, base, problems);
  if (!problems.empty()) return;
  if (products(groups) > double(kMostProducts))
    return points.refuse("more than " + std::to_string(kMostProducts) + " products of its axes");
  points.fill([&](const EmitRow& emit) { each_product(groups, emit); }, filter);
}

}  // namespace

std::string value_of(const Point& point, const std::string& key) {
  for (auto it = point.settings.rbegin(); it != point.settings.rend(); ++it)
    if (it->starts_with(key + '=')) return it->substr(key.size() + 1);
  return "";
}

Study read_study(const std::string& path, const std::vector<std::string>& sets, const DataRoots& roots) {
  Study study;
  study.file = path;
  Problems problems;
  const DocNode root = parse_yaml_file(path);
  MapReader reader(root, "", problems);
  const Parts parts = read_head(reader, path, roots, study);
  study.sets.insert(study.sets.end(), sets.begin(), sets.end());
  problems.raise();
  ScenarioFiles files;
  resolve(read_job(study.base, {}, roots, files));
  const StudyBase base(read_scenario(study.base, study.sets, roots, files));
  unroll(parts, base, roots, files, problems, study);
  problems.raise();
  return study;
}

}  // namespace rehearse
