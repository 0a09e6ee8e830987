#include "sim/base/error.hpp"

namespace rehearse {

static std::string format_one(const InputError& e) {
  std::string text = e.place.file;
  if (e.place.line > 0) text += ':' + std::to_string(e.place.line) + ':' + std::to_string(e.place.column);
  if (!text.empty()) text += ": ";
  text += "error: " + e.message + " [" + e.code + "]\n";
  if (!e.place.source_line.empty() && e.place.column > 0) {
    text += "  " + e.place.source_line + "\n  ";
    for (int i = 1; i < e.place.column; ++i)
      text += e.place.source_line.size() >= size_t(i) && e.place.source_line[i - 1] == '\t' ? '\t' : ' ';
    text += "^\n";
  }
  if (!e.hint.empty()) text += "  hint: " + e.hint + "\n";
  return text;
}

std::string InputErrors::format(const std::vector<InputError>& errors) {
  std::string text;
  for (const auto& e : errors) text += format_one(e);
  return text;
}

}  // namespace rehearse
