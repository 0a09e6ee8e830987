// What all ranks must see alike: the first rank's trouble is everybody's.
#pragma once
#include <optional>
#include <string>
#include <utility>

#include "calibration/backends/backend.hpp"

namespace rehearse::calibration {

// The text of the lowest rank that has one, on all ranks; where there are several ranks, with its number.
inline std::optional<std::string> first_of(Ranks& ranks, const std::optional<std::string>& mine) {
  const auto has = ranks.gather(mine ? 1 : 0);
  for (int rank = 0; rank < ranks.size(); ++rank) {
    if (has[size_t(rank)] == 0) continue;
    const std::string text = ranks.broadcast(mine.value_or(""), rank);
    return ranks.size() > 1 ? "rank " + std::to_string(rank) + ": " + text : text;
  }
  return std::nullopt;
}

// Runs it on every rank; a BackendError of one is thrown on all, so that none waits for another.
template <class F>
void together(Ranks& ranks, F&& body) {
  std::optional<std::string> trouble;
  try {
    std::forward<F>(body)();
  } catch (const BackendError& e) {
    trouble = e.what();
  }
  if (const auto text = first_of(ranks, trouble)) throw BackendError(*text);
}

}  // namespace rehearse::calibration
