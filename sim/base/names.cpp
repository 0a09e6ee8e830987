#include "sim/base/names.hpp"

#include <algorithm>
#include <numeric>

namespace rehearse {

static size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  constexpr size_t longest = 64;  // nobody misspells a name of that length; keeps odd input cheap
  if (word.size() > longest) return {};
  std::string_view best;
  size_t best_distance = std::max<size_t>(2, word.size() / 3) + 1;
  for (auto candidate : candidates) {
    const size_t d = edit_distance(word, candidate);
    if (d < best_distance) best = candidate, best_distance = d;
  }
  return best;
}

std::string suggest(std::string_view word, std::span<const std::string_view> candidates) {
  std::string text;
  if (auto near = nearest(word, candidates); !near.empty())
    text = "did you mean '" + std::string(near) + "'? ";
  text += "valid: ";
  for (size_t i = 0; i < candidates.size(); ++i) text += (i ? ", " : "") + std::string(candidates[i]);
  return text;
}

}  // namespace rehearse
