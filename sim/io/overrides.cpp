#include "sim/io/overrides.hpp"

namespace rehearse {

namespace {

struct Segment {
  std::string name;
  int column;  // in KEY=VALUE, from 1
};

std::vector<Segment> segments_of(std::string_view key) {
  std::vector<Segment> segments;
  int column = 1;
  for (const auto name : split(key, '.')) {
    segments.push_back({std::string(name), column});
    column += static_cast<int>(name.size()) + 1;
  }
  return segments;
}

DocEntry& entry_of(DocNode& map, const std::string& key, const Mark& mark) {
  for (auto& entry : map.entries)
    if (entry.key == key) return entry;
  DocNode empty;
  empty.kind = NodeKind::absent;
  empty.mark = mark;
  map.entries.push_back({key, mark, empty});
  return map.entries.back();
}

// The value of KEY=VALUE as a tree; nothing where it is refused.
bool parse_set_value(const std::string& set, size_t equals, const std::shared_ptr<const SourceText>& source,
                     DocNode& value, Problems& problems) {
  const std::string key = set.substr(0, equals);
  const Mark at{source, 1, static_cast<int>(equals) + 2};
  const std::string_view text = std::string_view(set).substr(equals + 1);
  if (text.find_first_not_of(' ') == std::string_view::npos) {
    problems.add(at, key, "E-SET", "there is no value after the '='",
                 "to take the key away, try --set " + key + "=null");
    return false;
  }
  try {
    value = parse_yaml_part(text, equals + 1, source);
  } catch (const InputErrors& found) {
    if (found.errors.size() == 1 && found.errors.front().code == "E-YAML-EMPTY") {
      value.kind = NodeKind::absent;
      value.mark = at;
      return true;  // null
    }
    problems.add(found);
    return false;
  }
  if (!value.block) return true;
  problems.add(value.mark, key, "E-SET", "the value must be one scalar, or stand in braces",
               "write {key: value} or [item, item]");
  return false;
}

// Makes `node` a mapping that a key can be set in.
bool open_mapping(DocNode& node, const std::string& path, const Mark& mark, const Expand& expand,
                  Problems& problems) {
  if (node.kind == NodeKind::map) return true;
  if (node.kind == NodeKind::null || node.kind == NodeKind::absent) {
    node.kind = NodeKind::map;
    node.mark = mark;
    return true;
  }
  if (node.kind == NodeKind::scalar && expand(path, node)) return node.kind == NodeKind::map;
  problems.add(mark, path, "E-SET",
               path + " is " + describe(node) + ", not a mapping, so no key below it can be set",
               "set " + path + " itself");
  return false;
}

}  // namespace

void apply_set(DocNode& root, const std::string& set, const Expand& expand, Problems& problems) {
  auto source = std::make_shared<SourceText>();
  source->file = "--set " + set;
  source->lines = {set};
  const std::shared_ptr<const SourceText> shared = source;
  const size_t equals = set.find('=');
  const auto refuse = [&](int column, std::string message) {
    problems.add({shared, 1, column}, "", "E-SET", std::move(message),
                 "--set takes KEY.PATH=VALUE, as in --set layout.tp=4");
  };
  if (const auto bad = find_bad_utf8(set))
    return problems.add({shared, 1, static_cast<int>(*bad) + 1}, "", "E-YAML-ENCODING",
                        "this byte is not part of UTF-8 text");
  if (set.find('\n') != std::string::npos) return refuse(1, "the setting must be one line");
  if (equals == std::string::npos) return refuse(1, "there is no '=' in " + quote(set));
  const auto segments = segments_of(std::string_view(set).substr(0, equals));
  for (const auto& segment : segments)
    if (segment.name.empty()) return refuse(segment.column, "a name is missing in the key");
  DocNode value;
  if (!parse_set_value(set, equals, shared, value, problems)) return;
  DocNode* node = &root;
  std::string path;
  for (size_t i = 0; i < segments.size(); ++i) {
    const Mark mark{shared, 1, segments[i].column};
    if (i > 0 && !open_mapping(*node, path, mark, expand, problems)) return;
    DocEntry& entry = entry_of(*node, segments[i].name, mark);
    const bool last = i + 1 == segments.size();
    if (entry.value.kind == NodeKind::absent && !(last && value.kind == NodeKind::absent)) entry.mark = mark;
    path += (i ? "." : "") + segments[i].name;
    node = &entry.value;
  }
  *node = std::move(value);
}

}  // namespace rehearse
