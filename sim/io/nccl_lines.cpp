#include "sim/io/nccl_lines.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "sim/base/text.hpp"
#include "sim/io/nccl_log.hpp"

namespace rehearse {

std::vector<Word> words_of(std::string_view text, size_t at) {
  std::vector<Word> words;
  while ((at = text.find_first_not_of(" \t", at)) != std::string_view::npos) {
    const size_t end = std::min(text.find_first_of(" \t", at), text.size());
    words.push_back({text.substr(at, end - at), at});
    at = end;
  }
  return words;
}

bool is_integer(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}
size_t header_in(const std::vector<Word>& words) {
  for (size_t i = 0; i + 2 < words.size(); ++i)
    if (words[i + 2].text == "type" && ((words[i].text == "size" && words[i + 1].text == "count") ||
                                        (words[i].text == "bytes" && words[i + 1].text == "N")))
      return i;
  return words.size();
}

std::string_view column_of(std::string_view word) {
  static constexpr std::pair<std::string_view, std::string_view> kOfVersion1[] = {
      {"bytes", "size"}, {"N", "count"}, {"op", "redop"}, {"res", "error"}};
  static constexpr std::string_view kKnown[] = {"size",  "count", "type",  "redop", "root",
                                                "time",  "algbw", "busbw", "error", "#wrong",
                                                "i_min", "i_max", "i_p99", "i_cv%", "timestamp"};
  for (const auto& [old, name] : kOfVersion1)
    if (word == old) return name;
  const auto known = std::find(std::begin(kKnown), std::end(kKnown), word);
  return known == std::end(kKnown) ? std::string_view() : *known;
}

size_t row_in(const std::vector<Word>& words) {
  for (size_t i = 0; i + 2 < words.size(); ++i) {
    const double width = nccl_width(words[i + 2].text);
    if (width <= 0 || !is_integer(words[i].text) || !is_integer(words[i + 1].text)) continue;
    const double size = std::strtod(std::string(words[i].text).c_str(), nullptr),
                 bytes = std::strtod(std::string(words[i + 1].text).c_str(), nullptr) * width;
    if (i == 0 || (bytes > 0 ? size > 0 && std::fmod(size, bytes) == 0 : size == 0)) return i;
  }
  return words.size();
}

bool is_figure(std::string_view word) { return word == "N/A" || parse_number(word).value; }

size_t sender_end(std::string_view text, size_t at, const std::string& host) {
  if (text.substr(at, host.size()) != host) return std::string_view::npos;
  at += host.size();
  for (int i = 0; i < 2; ++i) {
    if (at >= text.size() || text[at] != ':') return std::string_view::npos;
    const size_t end = std::min(text.find_first_not_of("0123456789", at + 1), text.size());
    if (end == at + 1) return std::string_view::npos;
    at = end;
  }
  return at;
}

bool is_ellipsis(std::string_view text) {
  for (const std::string_view word : {"omitted", "truncated", "elided", "snipped"})
    if (text.find(word) != std::string_view::npos) return true;
  text.remove_prefix(std::min(text.find_first_not_of(" <>[](){}-"), text.size()));
  for (const std::string_view word : {"...", "\u2026", "snip"})
    if (text.starts_with(word)) return true;
  return false;
}

std::vector<std::string> presumed_columns(const std::vector<Word>& words) {
  std::vector<std::string> columns{"size", "count", "type"};
  if (!parse_number(words[3].text).value) columns.emplace_back("redop");
  size_t left = words.size() - columns.size();
  if (left == 9 || left == 7 || left == 5) columns.emplace_back("root"), --left;
  const size_t half = left == 3 || left == 6 ? 3 : 4;
  if (left != half && left != 2 * half) return {};
  for (size_t i = 0; i < left; ++i)
    columns.emplace_back(std::array{"time", "algbw", "busbw", "#wrong"}.at(i % half));
  return columns;
}

}  // namespace rehearse
