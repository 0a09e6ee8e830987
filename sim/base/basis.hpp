// What a number rests on; carried by every profile entry and repeated by the report.
#pragma once
#include <string>

namespace rehearse {

enum class Basis { measured, fitted, datasheet, guess };

struct Constant {
  double value = 0;
  Basis basis = Basis::guess;
  std::string source;  // where it comes from, one line
};

}  // namespace rehearse
