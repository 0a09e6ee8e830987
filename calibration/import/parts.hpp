// What the readers of logs and tables share.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "calibration/import/import.hpp"
#include "sim/base/error.hpp"

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

// One line of nccl-tests, text or JSON.
struct NcclRow {
  double bytes = 0, count = 0;
  std::string type;
  struct Half {
    double time_us = 0, algbw = 0, busbw = 0, wrong = 0;
    double algbw_step = 0, busbw_step = 0;  // of the last digit printed; how far rounding may be off
  };
  std::vector<Half> halves;  // out of place, in place
};

// What a row says against itself, if anything: code and message.
struct Contradiction {
  std::string code, message;
};
std::optional<Contradiction> contradiction(const NcclRow& row, CollectiveOp op, int ranks);
std::optional<DType> nccl_type(std::string_view word);

struct Job {
  CollectiveOp op;
  int nodes, per_node;
};
// The row as a sample; of two halves the faster one. Rejected where either had wrong results.
Sample sample_of(const NcclRow& row, const Job& job, DType dtype);

// What a log that found wrong results says of them at its end: where no row tells which size they are of,
// none is believed.
void reject_wrong(Imported& in, bool rows_tell, const std::string& reason);

// Environment of an imported file, its id not yet set.
Environment environment_of(const std::string& file, const ImportOptions& options);

void read_nccl_text(const std::string& text, const std::string& file, const ImportOptions& options,
                    Imported& out);
void read_nccl_json(const std::string& text, const std::string& file, const ImportOptions& options,
                    Imported& out);
void read_csv(const std::string& text, const std::string& file, const ImportOptions& options, Imported& out);

}  // namespace rehearse::calibration::importing
