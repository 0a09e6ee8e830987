#include "sim/io/scenario_files.hpp"

#include "sim/base/file.hpp"
#include "sim/io/profile.hpp"

namespace rehearse {

const DocNode& ScenarioFiles::document(const std::string& path, const Place& named) {
  if (const auto at = documents_.find(path); at != documents_.end()) return at->second;
  std::string text = read_file(path, named);
  DocNode tree = parse_yaml(text, shown_path(path));
  contents_[path] = std::move(text);
  return documents_[path] = std::move(tree);
}

void ScenarioFiles::hold(const std::string& path, const std::string& text) {
  documents_[path] = parse_yaml(text, path);
  contents_[path] = text;
}

std::shared_ptr<const DeviceProfile> ScenarioFiles::profile(const std::string& path) {
  if (const auto at = profiles_.find(path); at != profiles_.end()) return at->second;
  auto profile = load_profile(path);
  contents_[path] = "profile " + profile->digest;
  return profiles_[path] = std::move(profile);
}

const std::string& ScenarioFiles::contents(const std::string& path) {
  if (const auto at = contents_.find(path); at != contents_.end()) return at->second;
  try {
    return contents_[path] = read_file(path);
  } catch (const InputErrors&) {
    return contents_[path] = "unreadable";
  }
}

}  // namespace rehearse
