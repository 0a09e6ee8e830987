// What the readers of logs and tables share.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "calibration/import/import.hpp"
#include "sim/base/error.hpp"
#include "sim/io/nccl_log.hpp"

namespace rehearse::calibration::importing {

struct Line {
  std::string_view text;
  int number;  // from 1
};
std::vector<Line> lines_of(std::string_view text);

struct Word {
  std::string_view text;
  int column;  // from 1
};

[[noreturn]] void refuse(const std::string& file, const Line& line, int column, std::string code,
                         std::string message, std::string hint = {});

// A decimal number, not negative; false for anything else, "nan" and "inf" included.
bool read_number(std::string_view text, double& out);

// Whether a file of samples can hold it as a size or a dimension.
bool is_count(double value);
inline constexpr double kMostRanks = 1 << 20;  // larger than any job, and far from what an int holds

// Environment of an imported file, its id not yet set.
Environment environment_of(const std::string& file, const ImportOptions& options);

void take_nccl(const NcclLog& log, const std::string& file, const ImportOptions& options, Imported& out);
void read_csv(const std::string& text, const std::string& file, const ImportOptions& options, Imported& out);

}  // namespace rehearse::calibration::importing
