#include "sim/study/scenario_text.hpp"

#include <filesystem>

#include "sim/io/scenario.hpp"
#include "sim/study/axes.hpp"

namespace rehearse {

namespace {

constexpr size_t kWidth = 110;

// Without keys that a setting took away.
DocNode present(const DocNode& node) {
  DocNode kept = node;
  kept.entries.clear();
  for (const auto& entry : node.entries)
    if (entry.value.kind != NodeKind::absent)
      kept.entries.push_back({entry.key, entry.mark, present(entry.value)});
  return kept;
}

std::string block_text(const DocNode& map, const std::string& indent) {
  std::string text;
  for (const auto& entry : map.entries) {
    const std::string flow = flow_text(entry.value);
    const bool fits = indent.size() + entry.key.size() + flow.size() < kWidth;
    if (fits || entry.value.kind != NodeKind::map || entry.value.entries.empty())
      text.append(indent).append(entry.key).append(": ").append(flow).append("\n");
    else
      text.append(indent).append(entry.key).append(":\n").append(block_text(entry.value, indent + "  "));
  }
  return text;
}

// A path that the base names beside itself is not beside the new file.
void make_absolute(DocNode& root, const std::string& key, FileKind kind, const std::string& folder,
                   const DataRoots& roots) {
  DocNode* node = root.find(key);
  if (!node) return;
  const bool schedule = kind == FileKind::schedule;
  const bool is_path = node->text.ends_with(schedule ? ".csv" : ".yaml") ||
                       (!schedule && node->text.find('/') != std::string::npos);
  if (!is_path) return;
  Problems problems;
  const auto found = resolve(*node, key, kind, folder, roots, problems);
  problems.raise();
  node->text = std::filesystem::absolute(*found).lexically_normal().string();
}

}  // namespace

std::string scenario_text(const std::string& path, const std::vector<std::string>& sets,
                          const std::string& name, const DataRoots& roots) {
  ScenarioFiles files;
  DocNode root = present(read_scenario(path, sets, roots, files).root);
  make_absolute(root, "profile", FileKind::profile, folder_of(path), roots);
  make_absolute(root, "schedule", FileKind::schedule, folder_of(path), roots);
  DocNode title;
  title.kind = NodeKind::scalar;
  title.text = name;
  title.quoted = true;
  if (DocNode* given = root.find("name"))
    *given = title;
  else
    root.entries.insert(root.entries.begin(), {"name", {}, title});
  return block_text(root, "");
}

}  // namespace rehearse
