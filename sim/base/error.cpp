#include "sim/base/error.hpp"

#include <algorithm>
#include <string_view>

#include "sim/base/text.hpp"

namespace rehearse {

// The source line, cut around the column where it is long, and a caret below it; one column a character, tabs
// kept.
static std::string source_excerpt(const Place& place) {
  constexpr size_t widest = 150, before = 60;
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  const std::string whole = printable(place.source_line);
  std::string_view line = whole;
  size_t caret = static_cast<size_t>(place.column - 1);
  std::string lead;
  if (line.size() > widest) {
    size_t from = caret > before ? std::min(caret, line.size()) - before : 0;
    while (from > 0 && continues(line[from])) --from;
    size_t length = std::min(widest, line.size() - from);
    while (from + length < line.size() && continues(line[from + length])) --length;
    if (from > 0) lead = "...";
    line = line.substr(from, length);
    caret -= from;
  }
  std::string below(lead.size(), ' ');
  for (size_t i = 0; i < caret; ++i)
    if (i >= line.size() || !continues(line[i])) below += i < line.size() && line[i] == '\t' ? '\t' : ' ';
  return "  " + lead + std::string(line) + "\n  " + below + "^\n";
}

static std::string format_one(const InputError& e) {
  std::string text = printable(e.place.file);
  if (e.place.line > 0) text += ':' + std::to_string(e.place.line) + ':' + std::to_string(e.place.column);
  if (!text.empty()) text += ": ";
  text += "error: " + printable(e.message) + " [" + e.code + "]\n";
  if (!e.place.source_line.empty() && e.place.column > 0) text += source_excerpt(e.place);
  if (!e.hint.empty()) text += "  hint: " + printable(e.hint) + "\n";
  return text;
}

std::string InputErrors::format(const std::vector<InputError>& errors) {
  std::string text;
  for (const auto& e : errors) text += format_one(e);
  return text;
}

}  // namespace rehearse
