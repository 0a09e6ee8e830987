#include "sim/study/condition.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace rehearse {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

Mark moved(Mark mark, int offset) {
  mark.column += offset;
  return mark;
}

}  // namespace

class ConditionParser {
 public:
  ConditionParser(std::string_view text, Condition& out) : text_(text), out_(out) {}

  void whole() {
    level(0);
    skip();
    if (at_ < text_.size()) wrong("nothing can follow here but an operator");
  }

 private:
  // Operators by how loosely they bind.
  static constexpr std::string_view kOr[] = {"or"}, kAnd[] = {"and"},
                                    kCompare[] = {"==", "!=", "<=", ">=", "<", ">"}, kSum[] = {"+", "-"},
                                    kProduct[] = {"*", "/", "%"};
  static constexpr std::span<const std::string_view> kLevels[] = {kOr, kAnd, kCompare, kSum, kProduct};
  static constexpr int kDeepest = 64;

  [[noreturn]] void wrong(std::string message) const { out_.refuse(int(at_), std::move(message)); }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool take(std::string_view token) {
    skip();
    if (!text_.substr(at_).starts_with(token)) return false;
    const size_t after = at_ + token.size();
    if (is_letter(token[0]) && after < text_.size() && (is_letter(text_[after]) || is_digit(text_[after])))
      return false;  // "order" is not "or"
    at_ = after;
    return true;
  }
  int add(Condition::Node node) {
    out_.nodes_.push_back(std::move(node));
    return int(out_.nodes_.size()) - 1;
  }
  std::string_view operator_of(size_t rank) {
    for (const auto op : kLevels[rank])
      if (take(op)) return op;
    return {};
  }

  int level(size_t rank) {
    if (rank == std::size(kLevels)) return unary();
    int left = level(rank + 1);
    for (;;) {
      skip();
      const int offset = int(at_);
      const std::string_view op = operator_of(rank);
      if (op.empty()) return left;
      const int right = level(rank + 1);
      left = add({.op = op, .left = left, .right = right, .offset = offset});
      if (kLevels[rank].size() == std::size(kCompare)) return left;  // a < b < c is no comparison
    }
  }

  int unary() {
    if (++depth_ > kDeepest) wrong("the condition is nested too deeply");
    skip();
    const int offset = int(at_);
    int node = -1;
    if (take("not")) {
      node = unary();
      node = add({.op = "not", .left = node, .offset = offset});
    } else if (take("(")) {
      node = level(0);
      if (!take(")")) wrong("a ')' is missing");
    } else {
      node = operand();
    }
    --depth_;
    return node;
  }

  int operand() {
    if (at_ == text_.size()) wrong("something is missing at the end");
    const char c = text_[at_];
    if (c == '\'' || c == '"') return word(c);
    if (is_digit(c) || c == '-') return number();
    if (is_letter(c)) return name();
    wrong("this is neither a key, a number nor a word in quotes");
  }
  int word(char quote_mark) {
    const int offset = int(at_);
    const size_t end = text_.find(quote_mark, at_ + 1);
    if (end == std::string_view::npos) wrong("the quote is not closed");
    const std::string_view text = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return add({.op = "value", .offset = offset, .text = std::string(text), .word = true});
  }
  int number() {
    const size_t from = at_++;
    const auto part = [&](size_t i) {
      const bool sign = (text_[i] == '-' || text_[i] == '+') && (text_[i - 1] == 'e' || text_[i - 1] == 'E');
      return is_digit(text_[i]) || is_letter(text_[i]) || text_[i] == '.' || sign;
    };
    while (at_ < text_.size() && part(at_)) ++at_;
    const std::string_view text = text_.substr(from, at_ - from);
    const auto parsed = parse_number(text);
    if (!parsed.value) {
      at_ = from;
      wrong(parsed.problem);
    }
    return add({.op = "value", .offset = int(from), .text = std::string(text)});
  }
  int name() {
    const size_t from = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]) || text_[at_] == '.')) ++at_;
    std::string text(text_.substr(from, at_ - from));
    if (text == "true" || text == "false") return add({.op = "value", .offset = int(from), .text = text});
    auto& names = out_.names_;
    const auto known = size_t(std::find(names.begin(), names.end(), text) - names.begin());
    if (known == names.size()) names.push_back(text), out_.name_offsets_.push_back(int(from));
    return add({.op = "name", .offset = int(from), .name = known});
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
  Condition& out_;
};

struct Condition::Value {
  enum class Kind { number, truth, word } kind = Kind::number;
  double number = 0;
  bool truth = false;
  std::string_view word = {};

  static Value of(bool b) { return {.kind = Kind::truth, .truth = b}; }
  static Value of(double d) { return {.kind = Kind::number, .number = d}; }
  static Value read(std::string_view text) {
    if (text == "true" || text == "false") return of(text == "true");
    if (const auto parsed = parse_number(text); parsed.value) return of(*parsed.value);
    return {.kind = Kind::word, .word = text};
  }
  const char* noun() const {
    return kind == Kind::number ? "a number" : kind == Kind::truth ? "true or false" : "a word";
  }
  bool same(const Value& o) const {
    return kind == Kind::number  ? number == o.number
           : kind == Kind::truth ? truth == o.truth
                                 : word == o.word;
  }
};

void Condition::refuse(int offset, std::string message) const {
  throw InputErrors(InputError{place_of(moved(mark_, offset)), key_, "E-STUDY-WHEN", std::move(message),
                               "such as layout.tp * layout.pp <= 64 and schedule != 'gpipe'"});
}

std::optional<Condition> Condition::read(const DocNode& node, const std::string& key, Problems& problems) {
  std::string text;
  if (!read_value(node, key, problems, text)) return {};
  Condition condition;
  condition.mark_ = moved(node.mark, node.quoted ? 1 : 0);
  condition.key_ = key;
  try {
    ConditionParser(text, condition).whole();
  } catch (const InputErrors& found) {
    problems.add(found);
    return {};
  }
  return condition;
}

void Condition::problem(size_t name, Problems& problems, std::string message, std::string hint) const {
  problems.add(moved(mark_, name_offsets_[name]), key_, "E-STUDY-WHEN", std::move(message), std::move(hint));
}

Condition::Value Condition::binary(const Node& node, const Value& left, const Value& right) const {
  const std::string_view op = node.op;
  const auto both = [&](Value::Kind kind, const char* wanted) {
    for (const Value* side : {&left, &right})
      if (side->kind != kind)
        refuse(node.offset, "'" + std::string(op) + "' takes " + wanted + ", not " + side->noun());
  };
  if (op == "and" || op == "or") {
    both(Value::Kind::truth, "what is true or false");
    return Value::of(op == "and" ? left.truth && right.truth : left.truth || right.truth);
  }
  if (op == "==" || op == "!=") {
    if (left.kind != right.kind)
      refuse(node.offset, std::string(left.noun()) + " and " + right.noun() + " are never the same");
    return Value::of(left.same(right) == (op == "=="));
  }
  both(Value::Kind::number, "numbers");
  const double a = left.number, b = right.number;
  if ((op == "/" || op == "%") && b == 0) refuse(node.offset, "this divides by 0");
  if (op == "<") return Value::of(a < b);
  if (op == "<=") return Value::of(a <= b);
  if (op == ">") return Value::of(a > b);
  if (op == ">=") return Value::of(a >= b);
  return Value::of(op == "+"   ? a + b
                   : op == "-" ? a - b
                   : op == "*" ? a * b
                   : op == "/" ? a / b
                               : std::fmod(a, b));
}

Condition::Value Condition::value(int at, const std::vector<std::string_view>& values) const {
  const Node& node = nodes_[size_t(at)];
  if (node.op == "name") return Value::read(values[node.name]);
  if (node.op == "value")
    return node.word ? Value{.kind = Value::Kind::word, .word = node.text} : Value::read(node.text);
  const Value left = value(node.left, values);
  if (node.op != "not") return binary(node, left, value(node.right, values));
  if (left.kind != Value::Kind::truth)
    refuse(node.offset, std::string("'not' takes what is true or false, not ") + left.noun());
  return Value::of(!left.truth);
}

bool Condition::holds(const std::vector<std::string_view>& values) const {
  const Value whole = value(int(nodes_.size()) - 1, values);
  if (whole.kind != Value::Kind::truth)
    refuse(0, std::string("a condition is true or false, and this is ") + whole.noun());
  return whole.truth;
}

}  // namespace rehearse
