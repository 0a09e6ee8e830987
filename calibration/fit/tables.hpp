// Samples gathered into the tables of a profile.
#pragma once
#include <string>
#include <vector>

#include "calibration/samples/sample.hpp"
#include "sim/spec/names.hpp"

namespace rehearse::calibration {

inline std::string word(DType t) { return std::string(name_of(kDTypeNames, t)); }

enum class TableKind : uint8_t { gemm, batched_gemm, memory, attention, collective };

struct TableRow {
  std::vector<double> keys;  // columns but the time, in the order of the table
  double seconds = 0;
  Work work;
};

struct FitTable {
  TableKind kind = TableKind::gemm;
  std::string file;      // "bf16_forward.csv"
  Work like;             // any of its works: type, role, kernel, operation
  bool of_role = false;  // GEMMs: of one role; else of all
  Basis basis = Basis::measured;
  std::string source, licence, caveats;
  std::string network;  // of collectives over nodes
  double node_network_bytes_per_s = 0, network_latency_s = 0;
  std::vector<TableRow> rows;  // ascending by keys, none twice
  std::string label() const;   // "gemm bf16 forward", "all_reduce 1x8"
};

// A file of samples and how far it counts. Borrowed: of another device, for want of own measurements.
struct FitInput {
  SampleFile samples;
  bool borrowed = false;
};

// A sample that takes part, with its environment.
struct Taken {
  const Sample* sample;
  const Environment* environment;
  bool borrowed;
};

struct Gathered {
  std::vector<Taken> taken;
  std::vector<std::pair<std::string, int>> left_out;  // reason, samples
};

// All that are ok and of use: with a time, not of one rank, not throttled, not from a warm cache.
Gathered gather(const std::vector<FitInput>& inputs);

// Imported collectives over nodes whose network is not named, {operation and why, samples}: no table can hold
// them, and constants alone are made of them.
std::vector<std::pair<std::string, int>> without_table(const std::vector<Taken>& taken);

// The tables of these samples. One table a kind, type and role, kernel or direction; imported collectives and
// attentions one an imported file, those first that come first. A shape that stands twice keeps its first
// time. Groups that are strided or run beside others make no table, nor
// do those over nodes whose network is not named.
std::vector<FitTable> tables_of(const std::vector<Taken>& taken);

std::string csv_of(const FitTable& table);
double seconds_of(const Sample& sample);  // device time, the host's where there is none

}  // namespace rehearse::calibration
