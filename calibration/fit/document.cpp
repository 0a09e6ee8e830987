#include "calibration/fit/document.hpp"

#include "sim/base/text.hpp"

namespace rehearse::calibration {
namespace {

constexpr std::string_view kBases[] = {"measured", "fitted", "datasheet", "guess"};

DocNode scalar(std::string text, bool quoted) {
  DocNode node;
  node.kind = NodeKind::scalar;
  node.text = std::move(text);
  node.quoted = quoted;
  return node;
}

void put(DocNode& map, std::string key, DocNode value) {
  map.kind = NodeKind::map;
  map.entries.push_back({std::move(key), {}, std::move(value)});
}

std::string shown(const DocNode& node) { return node.quoted ? yaml_quoted(node.text) : node.text; }

// A constant stands on one line, what holds constants on several.
void write(const DocNode& node, int indent, std::string& out) {
  for (const auto& [key, mark, value] : node.entries) {
    out.append(static_cast<size_t>(indent), ' ').append(key).append(":");
    if (value.kind != NodeKind::map) {
      out.append(" ").append(shown(value)).append("\n");
    } else if (value.find("value")) {
      out += " {";
      for (const auto& part : value.entries) {
        // Text within braces may hold commas.
        out += (&part == value.entries.data() ? "" : ", ") + part.key + ": ";
        out += part.key == "source" ? yaml_quoted(part.value.text) : shown(part.value);
      }
      out += "}\n";
    } else {
      out += "\n";
      write(value, indent + 2, out);
    }
  }
}

}  // namespace

std::string yaml_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out.append(c == '\'' ? 2 : 1, c);
  return out + "'";
}

Constants::Constants(const std::string& text, const std::string& file) {
  root_.kind = NodeKind::map;
  if (!text.empty()) root_ = parse_yaml(text, file);
  if (root_.kind != NodeKind::map)
    throw InputErrors({place_of(root_.mark), "", "E-TYPE", "a file of constants is a mapping", ""});
  if (root_.find("default_stack")) return;
  put(root_, "default_stack", scalar("measured", false));
  DocNode help;
  put(help, "help", scalar("as measured; the rest are guesses", true));
  DocNode stacks;
  put(stacks, "measured", std::move(help));
  if (!root_.find("stacks")) put(root_, "stacks", std::move(stacks));
}

std::vector<std::string> Constants::steps_of(const std::string& path) const {
  std::vector<std::string> steps;
  for (const auto step : split(path, '.')) steps.emplace_back(step);
  if (steps[0] == "stacks") {
    // The set that others are `like` holds all constants.
    std::string stack = root_.find("default_stack")->text;
    const DocNode* stacks = root_.find("stacks");
    // Sets that are like each other in a ring are refused where the profile is read.
    for (size_t left = stacks ? stacks->entries.size() : 0; left > 0; --left) {
      const DocNode* set = stacks->find(stack);
      const DocNode* like = set ? set->find("like") : nullptr;
      if (!like) break;
      stack = like->text;
    }
    steps.insert(steps.begin() + 1, stack);
  }
  return steps;
}

const DocNode* Constants::find(const std::string& path) const {
  const DocNode* node = &root_;
  for (const auto& step : steps_of(path))
    if (!node || node->kind != NodeKind::map || !(node = node->find(step))) return nullptr;
  return node;
}

std::string Constants::value_of(const std::string& path) const {
  const DocNode* node = find(path);
  const DocNode* value = node && node->kind == NodeKind::map ? node->find("value") : nullptr;
  return value ? value->text : "";
}

bool Constants::add(const NamedConstant& constant) {
  if (find(constant.path)) return false;
  DocNode* node = &root_;
  for (const auto& step : steps_of(constant.path)) {
    if (node->kind != NodeKind::map && node->kind != NodeKind::null) return false;
    DocNode* next = node->find(step);
    if (!next) {
      put(*node, step, {});
      next = &node->entries.back().value;
    }
    node = next;
  }
  put(*node, "value", scalar(constant.value, false));
  put(*node, "basis", scalar(std::string(kBases[static_cast<int>(constant.basis)]), false));
  put(*node, "source", scalar(constant.source, true));
  return true;
}

std::string Constants::yaml() const {
  std::string out;
  DocNode rest;
  rest.kind = NodeKind::map;
  // `like` is first known above: the sets in the order of the file.
  for (const char* key : {"default_stack", "device", "algorithms", "stacks"})
    if (const DocNode* node = root_.find(key)) put(rest, key, *node);
  for (const auto& entry : root_.entries)
    if (!rest.find(entry.key)) put(rest, entry.key, entry.value);
  write(rest, 0, out);
  return out;
}

}  // namespace rehearse::calibration
