#include "sim/base/place_in_text.hpp"

#include <algorithm>

namespace rehearse {

static constexpr size_t kLongestShown = 160;

Place place_in_text(const std::string& file, std::string_view text, size_t byte) {
  const size_t at = std::min(std::max<size_t>(byte, 1) - 1, text.size());
  const std::string_view before = text.substr(0, at);
  const size_t begin = before.rfind('\n') + 1;  // 0 where there is none
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::string_view shown = text.substr(begin, text.find('\n', begin) - begin);
  return {file, int(line), int(at - begin) + 1,
          shown.size() <= kLongestShown ? std::string(shown) : std::string()};
}

}  // namespace rehearse
