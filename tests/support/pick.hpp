// Draws for property tests.
#pragma once
#include <initializer_list>
#include <random>

namespace rehearse::test {

template <class T>
T pick(std::mt19937& random, std::initializer_list<T> choices) {
  return *(choices.begin() + std::uniform_int_distribution<size_t>(0, choices.size() - 1)(random));
}

}  // namespace rehearse::test
