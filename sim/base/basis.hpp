// What a number rests on; carried by every profile entry and repeated by the report.
#pragma once
#include <array>
#include <string>

namespace rehearse {

enum class Basis { measured, fitted, datasheet, guess };  // from best to worst
inline constexpr int kBases = 4;

struct Constant {
  double value = 0;
  Basis basis = Basis::guess;
  std::string source;  // where it comes from, one line
};

// Seconds by what they rest on.
struct BasisSeconds {
  std::array<double, kBases> by_basis{};
  double outside = 0;  // of these: read far from what was measured

  void add(Basis basis, bool is_outside, double seconds) {
    by_basis[static_cast<size_t>(basis)] += seconds;
    if (is_outside) outside += seconds;
  }
  void add(const BasisSeconds& other, double times) {
    for (size_t b = 0; b < kBases; ++b) by_basis[b] += other.by_basis[b] * times;
    outside += other.outside * times;
  }
};

}  // namespace rehearse
