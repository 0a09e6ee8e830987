#include "sim/cli/variant.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

namespace rehearse {

Variant read_variant(const std::string& option, const std::string& text) {
  Variant variant{text, {}};
  for (std::string_view part : split(text, ';')) {
    part.remove_prefix(std::min(part.find_first_not_of(" \t"), part.size()));
    part.remove_suffix(part.size() - (part.find_last_not_of(" \t") + 1));
    if (part.empty()) continue;
    if (part.find('=') == std::string_view::npos || part.front() == '=')
      throw InputErrors(InputError{{},
                                   option,
                                   "E-CLI",
                                   option + ": " + quote(part) + " is no KEY=VALUE",
                                   "as in " + option + " 'layout.tp=4; layout.dp=null'"});
    variant.sets.emplace_back(part);
  }
  if (variant.sets.empty())
    throw InputErrors(InputError{{},
                                 option,
                                 "E-CLI",
                                 option + " names no setting",
                                 "as in " + option + " 'layout.tp=4; layout.dp=null'"});
  return variant;
}

}  // namespace rehearse
