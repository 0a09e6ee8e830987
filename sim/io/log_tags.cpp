#include "sim/io/log_tags.hpp"

#include <algorithm>

namespace rehearse {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }

// "Sun", "Jan": what changes in a tag with the day.
bool is_calendar(std::string_view word) {
  constexpr std::string_view kWords = "SunMonTueWedThuFriSatJanFebMarAprMayJunJulAugSepOctNovDec";
  if (word.size() < 3) return false;
  for (size_t at = 0; at < kWords.size(); at += 3)
    if (kWords.substr(at, 3) == word.substr(0, 3)) return true;
  return false;
}

CleanLine part(const CleanLine& line, size_t from) {
  return {line.text.substr(from), {line.columns.begin() + long(from), line.columns.end()}};
}

// The end of an escape "ESC [ ... letter" that begins at `at`.
size_t escape_end(std::string_view line, size_t at) {
  if (at + 1 >= line.size() || line[at + 1] != '[') return at + 1;
  const size_t end = line.find_first_not_of("0123456789;:?", at + 2);
  return end == std::string_view::npos ? line.size() : end + 1;
}

}  // namespace

std::string_view without_bom(std::string_view text) {
  return text.starts_with("\ufeff") ? text.substr(3) : text;
}

CleanLine plain_line(std::string_view line) {
  CleanLine plain;
  for (size_t at = 0; at < line.size();) {
    if (line[at] == '\x1b') {
      at = escape_end(line, at);
      continue;
    }
    const bool hard = line.substr(at, 2) == "\u00a0";
    if (line[at] != '\r') {
      plain.text += hard || line[at] == '\t' ? ' ' : line[at];
      plain.columns.push_back(static_cast<int>(at) + 1);
    }
    at += hard ? 2 : 1;
  }
  plain.columns.push_back(static_cast<int>(line.size()) + 1);
  return plain;
}

std::vector<LineTags::Piece> LineTags::shape_of(std::string_view tag) {
  std::vector<Piece> shape;
  for (size_t at = 0; at < tag.size();) {
    size_t end = at + 1;
    Piece piece{Piece::letter, tag[at], 1};
    if (is_digit(tag[at])) {
      while (end < tag.size() && is_digit(tag[end])) ++end;
      piece = {Piece::digits, 0, end - at};
    } else if (is_blank(tag[at])) {
      while (end < tag.size() && is_blank(tag[end])) ++end;
      piece = {Piece::blanks, 0, 0};
    } else if (is_calendar(tag.substr(at))) {
      end = at + 3;
      piece = {Piece::calendar, 0, 3};
    }
    shape.push_back(piece);
    at = end;
  }
  return shape;
}

size_t LineTags::end_of(const std::vector<Piece>& shape, std::string_view text, size_t at, bool inside) {
  for (const Piece& piece : shape) {
    const size_t from = at;
    switch (piece.kind) {
      case Piece::digits:
        while (at < text.size() && is_digit(text[at]) && !(inside && at - from == piece.length)) ++at;
        if (at == from || (inside && at - from < piece.length)) return std::string_view::npos;
        break;
      case Piece::blanks:
        while (at < text.size() && is_blank(text[at])) ++at;
        break;
      case Piece::calendar:
        if (!is_calendar(text.substr(std::min(at, text.size())))) return std::string_view::npos;
        at += 3;
        break;
      case Piece::letter:
        if (at >= text.size() || text[at] != piece.is) return std::string_view::npos;
        ++at;
    }
  }
  return at;
}

void LineTags::learn(std::string_view before) {
  shape_.clear(), repeated_.clear();
  while (!before.empty() && is_blank(before.back())) before.remove_suffix(1);
  if (before.empty()) return;
  shape_ = shape_of(before);
  // Of nested tags only the inner ones repeat. One without a bracket or bar is too like a figure of the
  // table.
  const size_t first = before.find_first_not_of(" \t");
  for (size_t at = first; at < before.size(); ++at) {
    const bool begins = at == first || before[at] == '[' || before[at] == '(' || is_blank(before[at - 1]);
    if (begins && !is_blank(before[at]) &&
        before.substr(at).find_first_of("[]()<>|") != std::string_view::npos)
      repeated_.push_back(shape_of(before.substr(at)));
  }
}

CleanLine LineTags::without(const CleanLine& line) const {
  const size_t blank = std::min(line.text.find_first_not_of(" \t"), line.text.size());
  size_t start = end_of(shape_, line.text, 0, false);
  if (start == std::string::npos) start = end_of(shape_, line.text, blank, false);
  CleanLine rest = start == std::string::npos ? line : part(line, start);
  for (const auto& shape : repeated_)
    for (size_t at = 0; at < rest.text.size(); ++at) {
      const size_t end = end_of(shape, rest.text, at, true);
      if (end == std::string::npos || end == at) continue;
      rest.text.erase(at, end - at);
      rest.columns.erase(rest.columns.begin() + long(at), rest.columns.begin() + long(end));
    }
  return rest;
}

}  // namespace rehearse
