// Conditions on points of a study: "layout.tp * layout.pp <= 64 and schedule != 'gpipe'".
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/reader.hpp"

namespace rehearse {

// Numbers, true, false, words in quotes, and keys, which stand for their values; ( ), not, * / %, + -,
// == != < <= > >=, and, or, which bind in this order. Words and truths compare with == and != alone; % and /
// are those of real numbers.
class Condition {
 public:
  // Notes E-STUDY-WHEN, and returns nothing, where the text cannot be read.
  static std::optional<Condition> read(const DocNode& node, const std::string& key, Problems& problems);

  // The keys in it, each once; problem() places one.
  const std::vector<std::string>& names() const { return names_; }
  void problem(size_t name, Problems& problems, std::string message, std::string hint) const;

  // Whether it holds for these values of its names. Throws InputErrors (E-STUDY-WHEN) where kinds do not go
  // together, or where something is divided by 0.
  bool holds(const std::vector<std::string_view>& values) const;

 private:
  friend class ConditionParser;
  struct Node {
    std::string_view op;  // of kOperators; "name", "value"
    int left = -1, right = -1;
    int offset = 0;  // of its text, for places
    size_t name = 0;
    std::string text = {};  // value
    bool word = false;      // value in quotes
  };
  struct Value;
  Value value(int node, const std::vector<std::string_view>& values) const;
  Value binary(const Node& node, const Value& left, const Value& right) const;
  [[noreturn]] void refuse(int offset, std::string message) const;

  Mark mark_;
  std::string key_;
  std::vector<std::string> names_;
  std::vector<int> name_offsets_;
  std::vector<Node> nodes_;  // operands before their operator; the last is the whole
};

}  // namespace rehearse
