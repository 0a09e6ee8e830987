// One visitor of a variant out of a function for each alternative.
#pragma once

namespace rehearse::calibration {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

}  // namespace rehearse::calibration
