// Typed reading of a document tree. Every problem is noted with its place, not just the first; what could not
// be read keeps the value it had.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/names.hpp"
#include "sim/base/range.hpp"
#include "sim/base/text.hpp"
#include "sim/base/units.hpp"
#include "sim/io/yaml.hpp"

namespace rehearse {

// What was found wrong in one or several files.
class Problems {
 public:
  void add(InputError error) { errors_.push_back(std::move(error)); }
  void add(const Mark& mark, std::string key_path, std::string code, std::string message,
           std::string hint = {});
  void add(const InputErrors& found);
  bool empty() const { return errors_.empty(); }
  // Throws InputErrors where there are any, in the order of the text, files in the order of their first
  // problem.
  void raise() const;

 private:
  std::vector<InputError> errors_;
};

struct IntRange {
  int64_t min = 0, max = 1'000'000'000;
};

// Readings of one value; `key` is its path in messages ("layout.tp"). False where a problem was noted.
bool read_value(const DocNode& node, const std::string& key, Problems& problems, int& out,
                IntRange range = {});
bool read_value(const DocNode& node, const std::string& key, Problems& problems, int64_t& out,
                IntRange range = {});
bool read_value(const DocNode& node, const std::string& key, Problems& problems, double& out,
                NumberRange range = {});
bool read_value(const DocNode& node, const std::string& key, Problems& problems, bool& out);
bool read_value(const DocNode& node, const std::string& key, Problems& problems, std::string& out);
bool read_value(const DocNode& node, const std::string& key, Problems& problems, std::vector<int>& out,
                IntRange range = {});
bool read_value(const DocNode& node, const std::string& key, Problems& problems, Bytes& out,
                NumberRange range = kPositive);
bool read_value(const DocNode& node, const std::string& key, Problems& problems, Seconds& out,
                NumberRange range = kNotNegative);
bool read_value(const DocNode& node, const std::string& key, Problems& problems, BytesPerSec& out,
                NumberRange range = kPositive);
bool read_value(const DocNode& node, const std::string& key, Problems& problems, Flop& out,
                NumberRange range = kPositive);
bool read_value(const DocNode& node, const std::string& key, Problems& problems, FlopPerSec& out,
                NumberRange range = kPositive);

// A word out of a list; the index in `names`, or -1.
int read_choice(const DocNode& node, const std::string& key, Problems& problems,
                const std::vector<std::string_view>& names);
template <class T, size_t N>
bool read_value(const DocNode& node, const std::string& key, Problems& problems, T& out,
                const Named<T> (&table)[N]) {
  const int i = read_choice(node, key, problems, names_in(table));
  if (i >= 0) out = table[i].value;
  return i >= 0;
}

// "an integer", "a list" ...: what a node is, for messages.
std::string describe(const DocNode& node);

// A cursor over one mapping. Each key is asked for once; finish() refuses those that nobody asked for.
class MapReader {
 public:
  // `path` is the mapping's key path, empty for a whole file. Not a mapping: a problem (E-TYPE), then reads
  // as empty.
  MapReader(const DocNode& node, std::string path, Problems& problems);

  // The value of a key, nullptr where it is absent; an empty value is a problem and reads as absent.
  const DocNode* find(std::string_view key);
  // The same; absence is a problem (E-KEY-MISSING).
  const DocNode* require(std::string_view key);

  // True where the key was there and could be read. Arguments after `out` as for read_value: a range or a
  // name table.
  template <class T, class... Rest>
  bool optional(std::string_view key, T& out, const Rest&... rest) {
    const DocNode* value = find(key);
    return value && read_value(*value, path_of(key), problems_, out, rest...);
  }
  template <class T, class... Rest>
  bool required(std::string_view key, T& out, const Rest&... rest) {
    const DocNode* value = require(key);
    return value && read_value(*value, path_of(key), problems_, out, rest...);
  }

  // Notes unknown keys (E-KEY-UNKNOWN) with the nearest spelling.
  void finish();

  // Keys of things that are not modelled yet (E-NOT-MODELLED): refused by name, and not offered as valid
  // ones.
  void refuse_not_modelled(std::initializer_list<std::string_view> keys, const std::string& hint);

  // No valid key, and no unknown one either: it may be taken away.
  void set_aside(std::string_view key) { asides_.emplace_back(key); }

  bool has(std::string_view key) const;
  std::string path_of(std::string_view key) const {
    return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
  }
  const DocNode& node() const { return node_; }
  Problems& problems() { return problems_; }
  void problem(const Mark& mark, std::string_view key, std::string code, std::string message,
               std::string hint = {});

 private:
  const DocNode& node_;
  std::string path_;
  Problems& problems_;
  bool usable_;
  std::vector<std::string> known_, asides_;
};

}  // namespace rehearse
