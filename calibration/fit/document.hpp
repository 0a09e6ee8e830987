// The constants of a profile as a tree of YAML: filled from several sources, the first that knows one stands.
#pragma once
#include <string>
#include <vector>

#include "sim/io/yaml.hpp"
#include "sim/spec/profile.hpp"

namespace rehearse::calibration {

// A constant with its unit: "2039 GB/s", Basis::datasheet, "H100 data sheet".
struct NamedConstant {
  std::string path;  // "device.hbm", "algorithms.ring-ll.base"; stacks.* stands for the default stack
  std::string value;
  Basis basis = Basis::guess;
  std::string source;
};

class Constants {
 public:
  // The file's text; empty: nothing known.
  Constants(const std::string& text, const std::string& file);

  // Sets what is not there; whether it was set.
  bool add(const NamedConstant& constant);
  // The number of a constant that is there, without its unit's factor; empty where it is not.
  std::string value_of(const std::string& path) const;
  // device, algorithms, stacks and default_stack as a profile holds them.
  std::string yaml() const;

  // What stands there; nullptr where nothing does.
  const DocNode* find(const std::string& path) const;

 private:
  std::vector<std::string> steps_of(const std::string& path) const;
  DocNode root_;
};

// In single quotes.
std::string yaml_quoted(const std::string& text);

// What stands where neither a file nor samples know better: guesses, marked so.
const std::vector<NamedConstant>& default_constants();

}  // namespace rehearse::calibration
