// SI quantities as doubles tagged by dimension, so that bytes are never added to seconds.
#pragma once
#include <compare>

namespace rehearse {

template <class Dimension>
struct Quantity {
  double value = 0;

  constexpr Quantity() = default;
  constexpr explicit Quantity(double v) : value(v) {}
  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity o) {
    value += o.value;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity o) {
    value -= o.value;
    return *this;
  }
  constexpr Quantity& operator*=(double k) {
    value *= k;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value + b.value); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value - b.value); }
  friend constexpr Quantity operator*(Quantity a, double k) { return Quantity(a.value * k); }
  friend constexpr Quantity operator*(double k, Quantity a) { return Quantity(a.value * k); }
  friend constexpr Quantity operator/(Quantity a, double k) { return Quantity(a.value / k); }
  friend constexpr double operator/(Quantity a, Quantity b) { return a.value / b.value; }
};

using Seconds = Quantity<struct SecondsDimension>;
using Bytes = Quantity<struct BytesDimension>;
using Flop = Quantity<struct FlopDimension>;
using BytesPerSec = Quantity<struct BytesPerSecDimension>;
using FlopPerSec = Quantity<struct FlopPerSecDimension>;

constexpr Seconds operator/(Bytes b, BytesPerSec r) { return Seconds(b.value / r.value); }
constexpr Seconds operator/(Flop f, FlopPerSec r) { return Seconds(f.value / r.value); }
constexpr BytesPerSec operator/(Bytes b, Seconds t) { return BytesPerSec(b.value / t.value); }
constexpr FlopPerSec operator/(Flop f, Seconds t) { return FlopPerSec(f.value / t.value); }

inline constexpr double kKibi = 1024.0, kMebi = kKibi * kKibi, kGibi = kMebi * kKibi;

}  // namespace rehearse
