// Places in texts that a parser of bytes tells by their offset.
#pragma once
#include <string>
#include <string_view>

#include "sim/base/error.hpp"

namespace rehearse {

// `byte` counts from 1; beyond the text is its end. A source line that is too long to show stays out.
Place place_in_text(const std::string& file, std::string_view text, size_t byte);

}  // namespace rehearse
