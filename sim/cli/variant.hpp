// A scenario varied in one option: "KEY.PATH=VALUE; KEY.PATH=VALUE".
#pragma once
#include <string>
#include <vector>

namespace rehearse {

struct Variant {
  std::string text;               // as given
  std::vector<std::string> sets;  // as of --set
};

// Throws InputErrors (E-CLI) where a part is no KEY=VALUE.
Variant read_variant(const std::string& option, const std::string& text);

}  // namespace rehearse
