#include "sim/io/reader.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rehearse {

namespace {

// Numbers in messages: as short as they can be.
std::string shown(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

bool refuse(const DocNode& node, const std::string& key, Problems& problems, const char* code,
            std::string message, std::string hint = {}) {
  problems.add(node.mark, key, code, std::move(message), std::move(hint));
  return false;
}

// The text of a scalar that is to be a number: not quoted.
const std::string* plain_text(const DocNode& node, const std::string& key, Problems& problems,
                              const std::string& wanted) {
  if (node.kind == NodeKind::scalar && !node.quoted) return &node.text;
  refuse(node, key, problems, "E-TYPE", key + " must be " + wanted + ", not " + describe(node),
         node.quoted ? "leave out the quotes" : "");
  return nullptr;
}

// As the quantities of sim/base/text.cpp: no product of accepted numbers leaves the range of doubles.
constexpr double kLeastNumber = 1e-15, kMostNumber = 1e24;

bool check_range(const DocNode& node, const std::string& key, Problems& problems, double value,
                 NumberRange range, const std::string& text) {
  const bool low = range.above ? value <= range.min : value < range.min;
  if (!low && value <= range.max) return true;
  std::string bound =
      low ? (range.above ? "more than " : "at least ") + shown(range.min) : "at most " + shown(range.max);
  return refuse(node, key, problems, "E-RANGE", key + " must be " + bound + ", not " + quote(text));
}

template <class Q>
bool read_quantity(const DocNode& node, const std::string& key, Problems& problems, Q& out,
                   Dimension dimension, NumberRange range) {
  const auto* text = plain_text(node, key, problems,
                                "a " + std::string(dimension_name(dimension)) + " such as " +
                                    std::string(dimension_example(dimension)));
  if (!text) return false;
  const auto parsed = parse_quantity(*text, dimension);
  if (!parsed.value) return refuse(node, key, problems, "E-UNIT", key + ": " + parsed.problem, parsed.hint);
  if (!check_range(node, key, problems, *parsed.value, range, *text)) return false;
  out = Q(*parsed.value);
  return true;
}

}  // namespace

void Problems::add(const Mark& mark, std::string key_path, std::string code, std::string message,
                   std::string hint) {
  errors_.push_back(
      {place_of(mark), std::move(key_path), std::move(code), std::move(message), std::move(hint)});
}

void Problems::add(const InputErrors& found) {
  errors_.insert(errors_.end(), found.errors.begin(), found.errors.end());
}

void Problems::raise() const {
  if (errors_.empty()) return;
  std::vector<std::string> files;
  const auto rank = [&](const InputError& e) {
    return std::find(files.begin(), files.end(), e.place.file) - files.begin();
  };
  for (const auto& e : errors_)
    if (size_t(rank(e)) == files.size()) files.push_back(e.place.file);
  auto sorted = errors_;
  std::stable_sort(sorted.begin(), sorted.end(), [&](const InputError& a, const InputError& b) {
    return std::make_tuple(rank(a), a.place.line, a.place.column) <
           std::make_tuple(rank(b), b.place.line, b.place.column);
  });
  throw InputErrors(std::move(sorted));
}

std::string describe(const DocNode& node) {
  switch (node.kind) {
    case NodeKind::null:
    case NodeKind::absent:
      return "nothing";
    case NodeKind::list:
      return "a list";
    case NodeKind::map:
      return "a mapping";
    case NodeKind::scalar:
      return node.quoted ? "the quoted text " + quote(node.text) : quote(node.text);
  }
  return "?";
}

bool read_value(const DocNode& node, const std::string& key, Problems& problems, int64_t& out,
                IntRange range) {
  const auto* text = plain_text(node, key, problems, "an integer");
  if (!text) return false;
  const auto parsed = parse_int(*text);
  if (!parsed.value) return refuse(node, key, problems, "E-NUMBER", key + ": " + parsed.problem, parsed.hint);
  if (*parsed.value < range.min || *parsed.value > range.max) {
    const bool low = *parsed.value < range.min;
    return refuse(node, key, problems, "E-RANGE",
                  key + " must be at " + (low ? "least " : "most ") +
                      std::to_string(low ? range.min : range.max) + ", not " + quote(*text));
  }
  out = *parsed.value;
  return true;
}

bool read_value(const DocNode& node, const std::string& key, Problems& problems, int& out, IntRange range) {
  int64_t value = 0;
  range.max = std::min<int64_t>(range.max, std::numeric_limits<int>::max());
  if (!read_value(node, key, problems, value, range)) return false;
  out = static_cast<int>(value);
  return true;
}

bool read_value(const DocNode& node, const std::string& key, Problems& problems, double& out,
                NumberRange range) {
  const auto* text = plain_text(node, key, problems, "a number");
  if (!text) return false;
  const auto parsed = parse_number(*text);
  if (!parsed.value) return refuse(node, key, problems, "E-NUMBER", key + ": " + parsed.problem, parsed.hint);
  if (!check_range(node, key, problems, *parsed.value, range, *text)) return false;
  const double size = std::abs(*parsed.value);
  if (size != 0 && (size < kLeastNumber || size > kMostNumber))
    return refuse(node, key, problems, "E-RANGE",
                  key + ": " + quote(*text) + " is outside what is accepted, 1e-15 to 1e24");
  out = *parsed.value;
  return true;
}

bool read_value(const DocNode& node, const std::string& key, Problems& problems, bool& out) {
  const bool plain = node.kind == NodeKind::scalar && !node.quoted;
  if (plain && (node.text == "true" || node.text == "false")) {
    out = node.text == "true";
    return true;
  }
  return refuse(node, key, problems, "E-TYPE", key + " must be true or false, not " + describe(node));
}

bool read_value(const DocNode& node, const std::string& key, Problems& problems, std::string& out) {
  if (node.kind != NodeKind::scalar)
    return refuse(node, key, problems, "E-TYPE", key + " must be a text, not " + describe(node));
  std::string_view text = node.text;
  if (text.ends_with('\n')) text.remove_suffix(1);  // of a folded block
  if (text.empty()) return refuse(node, key, problems, "E-TYPE", key + " must not be empty");
  for (const char c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      return refuse(node, key, problems, "E-TYPE", key + " must be one line without control characters");
  out = text;
  return true;
}

bool read_value(const DocNode& node, const std::string& key, Problems& problems, std::vector<int>& out,
                IntRange range) {
  if (node.kind != NodeKind::list)
    return refuse(node, key, problems, "E-TYPE", key + " must be a list of integers, not " + describe(node));
  std::vector<int> values(node.items.size());
  bool good = true;
  for (size_t i = 0; i < values.size(); ++i)
    good = read_value(node.items[i], key + "[" + std::to_string(i) + "]", problems, values[i], range) && good;
  if (good) out = std::move(values);
  return good;
}

bool read_value(const DocNode& node, const std::string& key, Problems& problems, Bytes& out,
                NumberRange range) {
  return read_quantity(node, key, problems, out, Dimension::bytes, range);
}
bool read_value(const DocNode& node, const std::string& key, Problems& problems, Seconds& out,
                NumberRange range) {
  return read_quantity(node, key, problems, out, Dimension::seconds, range);
}
bool read_value(const DocNode& node, const std::string& key, Problems& problems, BytesPerSec& out,
                NumberRange range) {
  return read_quantity(node, key, problems, out, Dimension::bytes_per_s, range);
}
bool read_value(const DocNode& node, const std::string& key, Problems& problems, Flop& out,
                NumberRange range) {
  return read_quantity(node, key, problems, out, Dimension::flop, range);
}
bool read_value(const DocNode& node, const std::string& key, Problems& problems, FlopPerSec& out,
                NumberRange range) {
  return read_quantity(node, key, problems, out, Dimension::flop_per_s, range);
}

int read_choice(const DocNode& node, const std::string& key, Problems& problems,
                const std::vector<std::string_view>& names) {
  std::string valid = "valid: ";
  for (size_t i = 0; i < names.size(); ++i) valid += (i ? ", " : "") + std::string(names[i]);
  if (node.kind != NodeKind::scalar) {
    refuse(node, key, problems, "E-TYPE", key + " must be a word, not " + describe(node), valid);
    return -1;
  }
  const auto found = std::find(names.begin(), names.end(), node.text);
  if (found != names.end()) return static_cast<int>(found - names.begin());
  refuse(node, key, problems, "E-CHOICE", key + " cannot be " + quote(node.text), suggest(node.text, names));
  return -1;
}

void MapReader::refuse_not_modelled(std::initializer_list<std::string_view> keys, const std::string& hint) {
  for (const auto key : keys) {
    set_aside(key);
    if (has(key))
      problem(node_.find(key)->mark, key, "E-NOT-MODELLED", path_of(key) + " is not modelled yet", hint);
  }
}

bool MapReader::has(std::string_view key) const {
  const DocNode* value = node_.find(key);
  return value && value->kind != NodeKind::absent;
}

MapReader::MapReader(const DocNode& node, std::string path, Problems& problems)
    : node_(node), path_(std::move(path)), problems_(problems), usable_(node.kind == NodeKind::map) {
  if (!usable_)
    problems_.add(node.mark, path_, "E-TYPE",
                  (path_.empty() ? "the file" : path_) + " must be a mapping, not " + describe(node),
                  path_.empty() || node.kind != NodeKind::scalar
                      ? ""
                      : "keys go below it: {KEY: VALUE}, or --set " + path_ + ".KEY=VALUE");
}

const DocNode* MapReader::find(std::string_view key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
  if (!has(key)) return nullptr;
  const DocNode* value = node_.find(key);
  if (value->kind != NodeKind::null) return value;
  problem(value->mark, key, "E-TYPE", path_of(key) + " has no value", "give one, or leave out the key");
  return nullptr;
}

const DocNode* MapReader::require(std::string_view key) {
  const DocNode* value = find(key);
  if (!value && usable_ && !has(key))
    problem(node_.mark, key, "E-KEY-MISSING", "the key '" + path_of(key) + "' is missing");
  return value;
}

void MapReader::finish() {
  const std::vector<std::string_view> names(known_.begin(), known_.end());
  const auto in = [](const std::vector<std::string>& keys, const std::string& key) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  bool listed = false;  // the valid keys are named once
  for (const auto& entry : node_.entries) {
    if (in(known_, entry.key) || in(asides_, entry.key)) continue;
    std::string hint;
    if (!listed)
      hint = suggest(entry.key, names);
    else if (const auto near = nearest(entry.key, names); !near.empty())
      hint = "did you mean '" + std::string(near) + "'?";
    listed = true;
    problem(entry.mark, entry.key, "E-KEY-UNKNOWN", "unknown key " + quote(path_of(entry.key)),
            std::move(hint));
  }
}

void MapReader::problem(const Mark& mark, std::string_view key, std::string code, std::string message,
                        std::string hint) {
  problems_.add(mark, path_of(key), std::move(code), std::move(message), std::move(hint));
}

}  // namespace rehearse
