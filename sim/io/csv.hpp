// Tables of positive numbers: a header line, then one row a line, comma separated, no quotes.
#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "sim/io/reader.hpp"

namespace rehearse {

struct CsvColumn {
  std::string_view name;
  bool flag = false;  // 0 or 1 rather than a positive number
};

// Calls `row` with the numbers of each row in turn. Notes problems (E-PROFILE-CSV) with file, line and
// column: another header, too few or too many fields, what is not a number, not finite, not positive, rows
// whose first `keys` columns do not ascend, no rows at all. Only the first problem of a table is noted; no
// row comes after it. At most 8 columns.
void parse_csv(std::string_view text, const std::string& file, std::span<const CsvColumn> columns,
               size_t keys, Problems& problems, const std::function<void(const double*)>& row);

}  // namespace rehearse
