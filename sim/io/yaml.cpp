#include "sim/io/yaml.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <sstream>
#include <unordered_map>

#include "sim/base/file.hpp"
#include "sim/base/text.hpp"

namespace rehearse {

namespace {

using Source = std::shared_ptr<const SourceText>;

Mark to_mark(const Source& source, const YAML::Mark& mark) {
  return {source, mark.line + 1, mark.column + 1};
}

// The character at a mark; 0 at the end of a line.
char character_at(const Mark& mark) {
  const auto line = static_cast<size_t>(mark.line - 1), column = static_cast<size_t>(mark.column - 1);
  const auto& lines = mark.source->lines;
  return line < lines.size() && column < lines[line].size() ? lines[line][column] : '\0';
}

struct TooDeep {};

// Builds the tree from yaml-cpp's events; what is refused is noted and the building goes on.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(Source source, int max_depth) : source_(std::move(source)), max_depth_(max_depth) {}

  DocNode root;
  int documents = 0;
  Mark last_document;  // where the last document starts
  std::vector<InputError> errors;

  void OnDocumentStart(const YAML::Mark& mark) override {
    ++documents;
    last_document = to_mark(source_, mark);
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    leaf(NodeKind::null, to_mark(source_, mark), {}, false);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    refuse(to_mark(source_, mark), "E-YAML-ALIAS", "aliases are not accepted", "write the value out");
    leaf(NodeKind::null, to_mark(source_, mark), {}, false);
  }
  void OnAnchor(const YAML::Mark& mark, const std::string& name) override {
    refuse(to_mark(source_, mark), "E-YAML-ANCHOR", "anchors are not accepted", "leave out '&" + name + "'");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& value) override {
    const Mark at = to_mark(source_, mark);
    const char first = character_at(at);
    const bool quoted = tag == "!" && first != '!';  // "!" is also what yaml-cpp calls everything in quotes
    if (!quoted) check_tag(tag, at);
    leaf(NodeKind::scalar, at, value, quoted);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value style) override {
    open(NodeKind::list, to_mark(source_, mark), tag, style);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                  YAML::EmitterStyle::value style) override {
    open(NodeKind::map, to_mark(source_, mark), tag, style);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  struct Frame {
    DocNode node;
    bool has_key = false;  // mapping: the next node is the value of `key`
    bool is_key = false;   // this node stands where a key should
    std::string key;
    Mark key_mark;
    std::unordered_map<std::string, int> lines;  // of its keys
  };

  void refuse(const Mark& mark, std::string code, std::string message, std::string hint) {
    errors.push_back({place_of(mark), "", std::move(code), std::move(message), std::move(hint)});
  }

  void check_tag(const std::string& tag, const Mark& mark) {
    if (!tag.empty() && tag != "?")
      refuse(mark, "E-YAML-TAG", "tags are not accepted", "leave out the word that starts with '!'");
  }

  bool expects_key() const {
    return !stack_.empty() && stack_.back().node.kind == NodeKind::map && !stack_.back().has_key;
  }

  void open(NodeKind kind, const Mark& mark, const std::string& tag, YAML::EmitterStyle::value style) {
    if (int(stack_.size()) >= max_depth_) {
      refuse(mark, "E-YAML-DEPTH", "nested deeper than " + std::to_string(max_depth_) + " levels", "");
      throw TooDeep{};
    }
    check_tag(tag, mark);
    Frame frame;
    frame.is_key = expects_key();
    frame.node.kind = kind;
    frame.node.mark = mark;
    frame.node.block = style == YAML::EmitterStyle::Block;
    if (frame.is_key) refuse(mark, "E-YAML-KEY", "a key must be a word, not a list or a mapping", "");
    stack_.push_back(std::move(frame));
  }

  void close() {
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    if (frame.is_key)
      take_key("", frame.node.mark, false);
    else
      attach(std::move(frame.node));
  }

  void leaf(NodeKind kind, const Mark& mark, const std::string& text, bool quoted) {
    if (expects_key()) {
      if (kind == NodeKind::null) refuse(mark, "E-YAML-KEY", "a key must be a word, not empty", "");
      take_key(text, mark, kind == NodeKind::scalar);
      if (kind == NodeKind::scalar && !quoted && text == "<<")
        refuse(mark, "E-YAML-MERGE", "merge keys are not accepted", "write the keys out");
      return;
    }
    DocNode node;
    node.kind = kind;
    node.text = text;
    node.quoted = quoted;
    node.mark = mark;
    if (kind == NodeKind::null && !stack_.empty() && stack_.back().has_key)
      node.mark = stack_.back().key_mark;
    attach(std::move(node));
  }

  void take_key(const std::string& text, const Mark& mark, bool usable) {
    Frame& map = stack_.back();
    if (usable) {
      const auto [before, is_new] = map.lines.try_emplace(text, mark.line);
      if (!is_new)
        refuse(mark, "E-YAML-DUPLICATE", "the key " + quote(text) + " stands twice in one mapping",
               "it was first given on line " + std::to_string(before->second));
    }
    map.has_key = true;
    map.key = text;
    map.key_mark = mark;
  }

  void attach(DocNode node) {
    if (stack_.empty()) {
      if (documents == 1) root = std::move(node);
      return;
    }
    Frame& parent = stack_.back();
    if (parent.node.kind == NodeKind::list) {
      parent.node.items.push_back(std::move(node));
    } else {
      parent.node.entries.push_back({std::move(parent.key), std::move(parent.key_mark), std::move(node)});
      parent.has_key = false;
    }
  }

  Source source_;
  int max_depth_;
  std::vector<Frame> stack_;
};

InputError error_at(const Mark& mark, std::string code, std::string message, std::string hint = {}) {
  return {place_of(mark), "", std::move(code), std::move(message), std::move(hint)};
}

Source split_lines(std::string_view text, const std::string& file) {
  auto source = std::make_shared<SourceText>();
  source->file = file;
  for (auto line : split(text, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    source->lines.emplace_back(line);
  }
  return source;
}

// Bytes that are not UTF-8 text, control characters, and directives, which yaml-cpp drops where a document
// ends.
void check_text(const Source& source) {
  for (size_t n = 0; n < source->lines.size(); ++n) {
    const std::string& line = source->lines[n];
    const auto at = [&](size_t i) { return Mark{source, int(n + 1), int(i + 1)}; };
    if (const auto bad = find_bad_utf8(line))
      throw InputErrors(error_at(at(*bad), "E-YAML-ENCODING", "this byte is not part of UTF-8 text",
                                 "save the file as UTF-8"));
    for (size_t i = 0; i < line.size(); ++i)
      if ((static_cast<unsigned char>(line[i]) < 0x20 && line[i] != '\t') || line[i] == 0x7F)
        throw InputErrors(
            error_at(at(i), "E-YAML-ENCODING", "a control character has no place in a text file"));
    if (line.starts_with('%'))
      throw InputErrors(
          error_at(at(0), "E-YAML-DIRECTIVE", "directives are not accepted", "leave out this line"));
  }
}

void parse_documents(std::string_view text, const Source& source, TreeBuilder& tree) {
  std::istringstream in{std::string(text)};
  try {
    YAML::Parser parser(in);
    while (tree.documents < 2 && parser.HandleNextDocument(tree)) {
    }
  } catch (const TooDeep&) {  // noted by the builder
  } catch (const YAML::Exception& e) {
    std::erase_if(tree.errors,
                  [](const InputError& error) { return error.code == "E-YAML-KEY"; });  // its doing
    tree.errors.push_back(
        error_at(to_mark(source, e.mark), "E-YAML-SYNTAX", "this is not valid YAML: " + e.msg));
  }
}

DocNode parse_source(std::string_view text, const Source& source, const YamlLimits& limits) {
  if (text.size() > limits.bytes)
    throw InputErrors(error_at({source, 1, 1}, "E-YAML-SIZE",
                               "the text is longer than " + std::to_string(limits.bytes) + " bytes"));
  check_text(source);
  TreeBuilder tree(source, limits.depth);
  parse_documents(text, source, tree);
  if (tree.documents > 1) {
    const bool marked = character_at(tree.last_document) == '-';
    tree.errors.push_back(
        error_at(tree.last_document, "E-YAML-DOCUMENTS",
                 marked ? "a second document starts here" : "this stands after the end of the document",
                 "keep one document a file"));
  }
  if (tree.errors.empty() && tree.root.kind == NodeKind::null)
    tree.errors.push_back(error_at({source, 1, 1}, "E-YAML-EMPTY", "there is nothing in it"));
  if (!tree.errors.empty()) throw InputErrors(std::move(tree.errors));
  return std::move(tree.root);
}

}  // namespace

Place place_of(const Mark& mark) {
  if (!mark.source) return {};
  Place place{mark.source->file, mark.line, mark.column, {}};
  const auto line = static_cast<size_t>(mark.line - 1);
  if (line < mark.source->lines.size()) place.source_line = mark.source->lines[line];
  return place;
}

const DocNode* DocNode::find(std::string_view key) const {
  for (const auto& entry : entries)
    if (entry.key == key) return &entry.value;
  return nullptr;
}

DocNode* DocNode::find(std::string_view key) { return const_cast<DocNode*>(std::as_const(*this).find(key)); }

DocNode parse_yaml(std::string_view text, const std::string& file, const YamlLimits& limits) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  return parse_source(text, split_lines(text, file), limits);
}

DocNode parse_yaml_part(std::string_view text, size_t indent,
                        const std::shared_ptr<const SourceText>& source) {
  try {
    return parse_source(std::string(indent, ' ') + std::string(text), source, {});
  } catch (const InputErrors& found) {
    auto errors = found.errors;
    for (auto& error :
         errors) {  // yaml-cpp places what is missing at the end before the start or on the next line
      const int first = static_cast<int>(indent) + 1;
      if (error.place.line == 1 && error.place.column >= first) continue;
      error.place = place_of({source, 1, first});
    }
    throw InputErrors(std::move(errors));
  }
}

DocNode parse_yaml_file(const std::string& path) { return parse_yaml(read_file(path), shown_path(path)); }

}  // namespace rehearse
