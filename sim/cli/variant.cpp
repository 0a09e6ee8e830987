#include "sim/cli/variant.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

namespace rehearse {

namespace {

// Where a second "KEY=" begins within one setting; npos where none does. What stands in quotes or braces is
// the value's own.
size_t second_key(std::string_view setting) {
  if (setting.find_first_of("\"'{[") != std::string_view::npos) return std::string_view::npos;
  const size_t equals = setting.find('=', setting.find('=') + 1);
  if (equals == std::string_view::npos) return equals;
  const size_t before = setting.substr(0, equals).find_last_of(" \t,&");
  return before == std::string_view::npos || before + 1 == equals ? std::string_view::npos : before + 1;
}

[[noreturn]] void refuse_setting(const std::string& option, std::string message, std::string hint) {
  throw InputErrors(InputError{{}, option, "E-CLI", option + std::move(message), std::move(hint)});
}

}  // namespace

Variant read_variant(const std::string& option, const std::string& text) {
  Variant variant{text, {}};
  const std::string example = "as in " + option + " 'layout.tp=4; layout.dp=null'";
  for (std::string_view part : split(text, ';')) {
    part.remove_prefix(std::min(part.find_first_not_of(" \t"), part.size()));
    part.remove_suffix(part.size() - (part.find_last_not_of(" \t") + 1));
    if (part.empty()) continue;
    if (part.find('=') == std::string_view::npos || part.front() == '=')
      refuse_setting(option, ": " + quote(part) + " is no KEY=VALUE", example);
    if (const size_t second = second_key(part); second != std::string_view::npos)
      refuse_setting(option, ": " + quote(part) + " holds two settings, and only ';' separates them",
                     "try " + option + " '" +
                         printable(part.substr(0, part.find_last_not_of(" \t,&", second - 1) + 1)) + "; " +
                         printable(part.substr(second)) + "'");
    variant.sets.emplace_back(part);
  }
  if (variant.sets.empty()) refuse_setting(option, " names no setting", example);
  return variant;
}

}  // namespace rehearse
