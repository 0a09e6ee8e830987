// Name tables: everything pluggable is a row {name, help, value} in a constant array.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rehearse {

template <class T>
struct Named {
  std::string_view name;
  std::string_view help;  // one line
  T value;
};

template <class T, size_t N>
const Named<T>* find_named(const Named<T> (&table)[N], std::string_view name) {
  for (const auto& row : table)
    if (row.name == name) return &row;
  return nullptr;
}

template <class T, size_t N>
constexpr std::string_view name_of(const Named<T> (&table)[N], T value) {
  for (const auto& row : table)
    if (row.value == value) return row.name;
  return "?";
}

template <class T, size_t N>
std::vector<std::string_view> names_in(const Named<T> (&table)[N]) {
  std::vector<std::string_view> names;
  for (const auto& row : table) names.push_back(row.name);
  return names;
}

// The candidate nearest to `word` by edit distance, empty where none is near.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

// "did you mean 'x'? valid: a, b, c" for a hint.
std::string suggest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace rehearse
