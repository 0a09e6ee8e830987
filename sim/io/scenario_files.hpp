// Files that scenarios name, each read and parsed once: for many scenarios that share them.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "sim/io/yaml.hpp"
#include "sim/spec/profile.hpp"

namespace rehearse {

class ScenarioFiles {
 public:
  // A YAML file as a tree. Throws InputErrors (E-FILE-READ at `named`, E-YAML-*), each time anew.
  const DocNode& document(const std::string& path, const Place& named = {});
  // A text in the place of a file of that name. Throws InputErrors (E-YAML-*).
  void hold(const std::string& path, const std::string& text);
  // As load_profile().
  std::shared_ptr<const DeviceProfile> profile(const std::string& path);
  // What tells the contents of a file from others, tables that it names included; a word of its own for one
  // that cannot be read.
  const std::string& contents(const std::string& path);

 private:
  std::map<std::string, DocNode> documents_;
  std::map<std::string, std::shared_ptr<const DeviceProfile>> profiles_;
  std::map<std::string, std::string> contents_;
};

}  // namespace rehearse
