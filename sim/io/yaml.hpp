// YAML as this project takes it: one document of mappings, lists and scalars, every key and value with its
// place. Refused: duplicate keys, anchors, aliases, merge keys, tags, directives, further documents, keys
// that are not text, deep nesting, bytes that are not UTF-8 text.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/error.hpp"

namespace rehearse {

// A text that was read, kept for the source lines of messages.
struct SourceText {
  std::string file;  // as messages name it
  std::vector<std::string> lines;
};

struct Mark {
  std::shared_ptr<const SourceText> source;
  int line = 0, column = 0;  // from 1; column counts bytes
};
Place place_of(const Mark& mark);

enum class NodeKind {
  null,
  scalar,
  list,
  map,
  absent,  // taken away by --set KEY=null: not there, yet a misspelt key is still found
};

struct DocEntry;
struct DocNode {
  NodeKind kind = NodeKind::null;
  std::string text;               // scalar
  bool quoted = false;            // scalar in quotes or a block: never a number
  bool block = false;             // mapping or list by indentation rather than in braces
  Mark mark;                      // of a null: where its key stands
  std::vector<DocNode> items;     // list
  std::vector<DocEntry> entries;  // mapping, in order of the text

  const DocNode* find(std::string_view key) const;
  DocNode* find(std::string_view key);
};
struct DocEntry {
  std::string key;
  Mark mark;  // of the key
  DocNode value;
};

struct YamlLimits {
  size_t bytes = 16u << 20;
  int depth = 64;
};

// Throws InputErrors (E-YAML-*), all that was found at once. `indent` shifts columns on the first line: a
// text that was cut out of a longer one (--set KEY=VALUE) keeps its place; `source` then holds the longer
// one.
DocNode parse_yaml(std::string_view text, const std::string& file, const YamlLimits& limits = {});
DocNode parse_yaml_part(std::string_view text, size_t indent,
                        const std::shared_ptr<const SourceText>& source);

// Reads and parses a file; also E-FILE-READ. "-" reads standard input.
DocNode parse_yaml_file(const std::string& path);

}  // namespace rehearse
