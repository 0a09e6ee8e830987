#include "sim/base/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "sim/base/names.hpp"

namespace rehearse {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

size_t digits_at(std::string_view text, size_t i) {
  size_t n = 0;
  while (i + n < text.size() && is_digit(text[i + n])) ++n;
  return n;
}

// Length of the longest prefix that is -?(0|[1-9][0-9]*); 0 where there is none.
size_t integer_prefix(std::string_view text) {
  const size_t sign = !text.empty() && text[0] == '-';
  const size_t n = digits_at(text, sign);
  if (n == 0 || (n > 1 && text[sign] == '0')) return 0;
  return sign + n;
}

// The same for a decimal number with fraction and exponent.
size_t number_prefix(std::string_view text) {
  size_t i = integer_prefix(text);
  if (i == 0) return 0;
  if (i < text.size() && text[i] == '.') {
    const size_t n = digits_at(text, i + 1);
    if (n == 0) return 0;
    i += 1 + n;
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    const size_t sign = i + 1 < text.size() && (text[i + 1] == '-' || text[i + 1] == '+');
    if (const size_t n = digits_at(text, i + 1 + sign); n > 0) i += 1 + sign + n;
  }
  return i;
}

struct Unit {
  Dimension dimension;
  std::string_view name;
  double times, over;  // SI value = number x times / over; two factors keep 2 us == 2e-6 exactly
};

constexpr double kKi = 1024.0;
constexpr Unit kUnits[] = {
    {Dimension::bytes, "B", 1, 1},
    {Dimension::bytes, "kB", 1e3, 1},
    {Dimension::bytes, "MB", 1e6, 1},
    {Dimension::bytes, "GB", 1e9, 1},
    {Dimension::bytes, "TB", 1e12, 1},
    {Dimension::bytes, "PB", 1e15, 1},
    {Dimension::bytes, "KiB", kKi, 1},
    {Dimension::bytes, "MiB", kKi* kKi, 1},
    {Dimension::bytes, "GiB", kKi* kKi* kKi, 1},
    {Dimension::bytes, "TiB", kKi* kKi* kKi* kKi, 1},
    {Dimension::bytes, "b", 1, 8},
    {Dimension::bytes, "kb", 1e3, 8},
    {Dimension::bytes, "Mb", 1e6, 8},
    {Dimension::bytes, "Gb", 1e9, 8},
    {Dimension::bytes, "Tb", 1e12, 8},
    {Dimension::seconds, "s", 1, 1},
    {Dimension::seconds, "ms", 1, 1e3},
    {Dimension::seconds, "us", 1, 1e6},
    {Dimension::seconds, "ns", 1, 1e9},
    {Dimension::bytes_per_s, "B/s", 1, 1},
    {Dimension::bytes_per_s, "kB/s", 1e3, 1},
    {Dimension::bytes_per_s, "MB/s", 1e6, 1},
    {Dimension::bytes_per_s, "GB/s", 1e9, 1},
    {Dimension::bytes_per_s, "TB/s", 1e12, 1},
    {Dimension::bytes_per_s, "KiB/s", kKi, 1},
    {Dimension::bytes_per_s, "MiB/s", kKi* kKi, 1},
    {Dimension::bytes_per_s, "GiB/s", kKi* kKi* kKi, 1},
    {Dimension::bytes_per_s, "TiB/s", kKi* kKi* kKi* kKi, 1},
    {Dimension::bytes_per_s, "b/s", 1, 8},
    {Dimension::bytes_per_s, "kb/s", 1e3, 8},
    {Dimension::bytes_per_s, "Mb/s", 1e6, 8},
    {Dimension::bytes_per_s, "Gb/s", 1e9, 8},
    {Dimension::bytes_per_s, "Tb/s", 1e12, 8},
    {Dimension::flop, "FLOP", 1, 1},
    {Dimension::flop, "MFLOP", 1e6, 1},
    {Dimension::flop, "GFLOP", 1e9, 1},
    {Dimension::flop, "TFLOP", 1e12, 1},
    {Dimension::flop, "PFLOP", 1e15, 1},
    {Dimension::flop, "EFLOP", 1e18, 1},
    {Dimension::flop_per_s, "FLOP/s", 1, 1},
    {Dimension::flop_per_s, "MFLOP/s", 1e6, 1},
    {Dimension::flop_per_s, "GFLOP/s", 1e9, 1},
    {Dimension::flop_per_s, "TFLOP/s", 1e12, 1},
    {Dimension::flop_per_s, "PFLOP/s", 1e15, 1},
    {Dimension::flop_per_s, "EFLOP/s", 1e18, 1},
};

const Unit* find_unit(Dimension dimension, std::string_view name) {
  for (const auto& unit : kUnits)
    if (unit.dimension == dimension && unit.name == name) return &unit;
  return nullptr;
}

std::string number_hint(std::string_view text) {
  if (text.find('_') != std::string_view::npos || text.find(',') != std::string_view::npos)
    return "write the digits without separators";
  if (text.starts_with("0x") || text.starts_with("0o") || text.starts_with("0b"))
    return "write it in decimal";
  if (text.size() > 1 && (text[0] == '0' || text.starts_with("-0")) && is_digit(text[1]))
    return "leave out leading zeros";
  if (text.starts_with('+')) return "leave out the '+'";
  if (text.starts_with('.') && text.size() > 1 && is_digit(text[1])) return "write a digit before the point";
  if (text.ends_with('.')) return "write a digit after the point";
  return {};
}

Parsed<double> to_double(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range || !std::isfinite(value))
    return {{}, quote(text) + " is outside the range of numbers (5e-324 to 1.8e308)", {}};
  return {value + 0.0, {}, {}};  // + 0.0 makes -0 plain zero
}

// What is accepted, beside nothing at all: far beyond any machine, and so near together that no sum or ratio
// of accepted quantities leaves the range of doubles.
struct Bounds {
  Dimension dimension;
  double least, most;
  std::string_view shown;
};
constexpr Bounds kBounds[] = {
    {Dimension::bytes, 1e-3, 1e21, "0.001 B to 1000000 PB"},
    {Dimension::seconds, 1e-18, 1e9, "1e-18 s to 1e9 s"},
    {Dimension::bytes_per_s, 1e-3, 1e21, "0.001 B/s to 1e12 GB/s"},
    {Dimension::flop, 1e-3, 1e30, "0.001 FLOP to 1e12 EFLOP"},
    {Dimension::flop_per_s, 1e-3, 1e30, "0.001 FLOP/s to 1e12 EFLOP/s"},
};

const Bounds& bounds_of(Dimension dimension) {
  return *std::find_if(std::begin(kBounds), std::end(kBounds),
                       [&](const Bounds& b) { return b.dimension == dimension; });
}

// Length of the sequence that starts at text[i]; 0 where it is ill-formed (Unicode 15, table 3-7).
size_t utf8_length(std::string_view text, size_t i) {
  const auto byte = [&](size_t k) {
    return i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0U;
  };
  const auto tail = [&](size_t k) { return byte(k) >= 0x80 && byte(k) <= 0xBF; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return tail(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    if (lead == 0xE0 && byte(1) < 0xA0) return 0;
    if (lead == 0xED && byte(1) > 0x9F) return 0;
    return tail(1) && tail(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    if (lead == 0xF0 && byte(1) < 0x90) return 0;
    if (lead == 0xF4 && byte(1) > 0x8F) return 0;
    return tail(1) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

Parsed<int64_t> parse_int(std::string_view text) {
  if (text.empty() || integer_prefix(text) != text.size()) {
    std::string hint = number_hint(text);
    return {{}, quote(text) + " is not a decimal integer", std::move(hint)};
  }
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return {{}, quote(text) + " is far too large", {}};
  return {value, {}, {}};
}

Parsed<double> parse_number(std::string_view text) {
  if (text.empty() || number_prefix(text) != text.size())
    return {{}, quote(text) + " is not a decimal number", number_hint(text)};
  return to_double(text);
}

Parsed<double> parse_quantity(std::string_view text, Dimension dimension) {
  const std::string wanted =
      "write a number and a unit, such as " + std::string(dimension_example(dimension));
  const size_t length = number_prefix(text);
  if (length == 0) return {{}, quote(text) + " is not a " + std::string(dimension_name(dimension)), wanted};
  size_t at = length;
  while (at < text.size() && text[at] == ' ') ++at;
  const auto unit_name = text.substr(at);
  if (unit_name.empty()) return {{}, quote(text) + " has no unit", wanted};
  const Unit* unit = find_unit(dimension, unit_name);
  if (!unit)
    return {{},
            quote(unit_name) + " is not a unit of " + std::string(dimension_name(dimension)),
            suggest(unit_name, units_of(dimension))};
  auto number = to_double(text.substr(0, length));
  if (!number.value) return number;
  const double value = *number.value * unit->times / unit->over;
  const Bounds& bounds = bounds_of(dimension);
  if (!std::isfinite(value) ||
      (*number.value != 0 && (std::abs(value) < bounds.least || std::abs(value) > bounds.most)))
    return {{}, quote(text) + " is outside what is accepted, " + std::string(bounds.shown), {}};
  return {value, {}, {}};
}

std::string_view dimension_name(Dimension dimension) {
  switch (dimension) {
    case Dimension::bytes:
      return "size";
    case Dimension::seconds:
      return "time";
    case Dimension::bytes_per_s:
      return "bandwidth";
    case Dimension::flop:
      return "number of FLOPs";
    case Dimension::flop_per_s:
      return "rate of FLOPs";
  }
  return "?";
}

std::string_view dimension_example(Dimension dimension) {
  switch (dimension) {
    case Dimension::bytes:
      return "'160 MB' or '80 GiB'";
    case Dimension::seconds:
      return "'2 us' or '1.5 ms'";
    case Dimension::bytes_per_s:
      return "'400 Gb/s' or '50 GB/s'";
    case Dimension::flop:
      return "'2 TFLOP'";
    case Dimension::flop_per_s:
      return "'312 TFLOP/s'";
  }
  return "?";
}

std::vector<std::string_view> units_of(Dimension dimension) {
  std::vector<std::string_view> names;
  for (const auto& unit : kUnits)
    if (unit.dimension == dimension) names.push_back(unit.name);
  return names;
}

std::optional<size_t> find_bad_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t n = utf8_length(text, i);
    if (n == 0) return i;
    i += n;
  }
  return {};
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  size_t from = 0;
  for (size_t i = 0; i <= text.size(); ++i)
    if (i == text.size() || text[i] == separator) {
      parts.push_back(text.substr(from, i - from));
      from = i + 1;
    }
  return parts;
}

std::string printable(std::string_view text) {
  std::string shown(text);
  for (char& c : shown)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F) c = '?';
  size_t from = 0;
  while (const auto bad = find_bad_utf8(std::string_view(shown).substr(from))) {
    from += *bad;
    shown[from] = '?';
  }
  return shown;
}

std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : printable(text))
    out += c == '<'   ? "&lt;"
           : c == '>' ? "&gt;"
           : c == '&' ? "&amp;"
           : c == '"' ? "&quot;"
                      : std::string(1, c);
  return out;
}

std::string quote(std::string_view text) {
  constexpr size_t longest = 60;
  std::string shown(text);
  if (text.size() > longest) {
    size_t keep = longest - 3;
    while (keep > 0 && (static_cast<unsigned char>(text[keep]) & 0xC0) == 0x80)
      --keep;  // not inside a character
    shown = std::string(text.substr(0, keep)) + "...";
  }
  shown = printable(shown);
  std::replace(shown.begin(), shown.end(), '\t', '?');
  return "'" + shown + "'";
}

}  // namespace rehearse
