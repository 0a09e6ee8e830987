// --set KEY.PATH=VALUE: changes to a document tree before it is read.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "sim/io/reader.hpp"

namespace rehearse {

// Turns a word into the mapping that it stands for ("model" -> the model file's keys, "precision" -> four
// keys), where a key below it is set. Gets the key path and the node; returns false where the word stands for
// no mapping, true with the node replaced, or true with problems noted.
using Expand = std::function<bool(const std::string& key_path, DocNode& node)>;

// Applies one `KEY=VALUE`. The value is one YAML scalar, or a mapping or list in braces; `null` takes the key
// away. What it puts in has its place in "--set KEY=VALUE", line 1. Notes E-SET and E-YAML-* problems.
void apply_set(DocNode& root, const std::string& set, const Expand& expand, Problems& problems);

}  // namespace rehearse
