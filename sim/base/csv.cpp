#include "sim/base/csv.hpp"

#include <string_view>

#include "sim/base/text.hpp"

namespace rehearse {

std::string csv_cell(const std::string& text) {
  constexpr std::string_view kFormula = "=+-@\t\r";
  const bool formula =
      !text.empty() && kFormula.find(text[0]) != std::string_view::npos && !parse_number(text).value;
  std::string plain = (formula ? "'" : "") + text;
  if (plain.find_first_of(",\"\r\n") == std::string::npos) return plain;
  std::string quoted = "\"";
  for (const char c : plain) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

}  // namespace rehearse
