// Strict readings of numbers, quantities with units, and UTF-8. Nothing here knows about files.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rehearse {

// What a reading gave: a value, or why not (a phrase that completes "X ...", and a hint).
template <class T>
struct Parsed {
  std::optional<T> value;
  std::string problem;  // "'0x10' is not a decimal integer"
  std::string hint;     // may be empty
};

// -?(0|[1-9][0-9]*), in the range of int64.
Parsed<int64_t> parse_int(std::string_view text);

// -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)?, finite and not lost to underflow.
Parsed<double> parse_number(std::string_view text);

enum class Dimension { bytes, seconds, bytes_per_s, flop, flop_per_s };

// A number and a unit, with or without a space between: "400 Gb/s", "80GiB", "2 us", "312 TFLOP/s". k M G T P
// are powers of 1000, Ki Mi Gi Ti of 1024; b is a bit, B a byte. The value is in SI units: bytes, seconds,
// FLOP.
Parsed<double> parse_quantity(std::string_view text, Dimension dimension);

std::string_view dimension_name(Dimension dimension);         // "bandwidth"
std::string_view dimension_example(Dimension dimension);      // "'400 Gb/s' or '50 GB/s'"
std::vector<std::string_view> units_of(Dimension dimension);  // "B", "kB" ...

// Offset of the first byte that is not part of well-formed UTF-8.
std::optional<size_t> find_bad_utf8(std::string_view text);

std::vector<std::string_view> split(std::string_view text, char separator);

// The text with control characters and bytes that are no UTF-8 replaced by '?', one for one; tabs stay.
std::string printable(std::string_view text);

// Printable, with what XML would read as markup spelt out.
std::string xml_text(std::string_view text);

// The text in single quotes, printable, cut where it is long: for messages.
std::string quote(std::string_view text);

}  // namespace rehearse
