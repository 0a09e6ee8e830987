// The commands of rehearse-calibrate, one file each; main.cpp holds the table.
#pragma once
#include <iosfwd>
#include <string>
#include <vector>

#include "sim/io/paths.hpp"

namespace rehearse::calibration {

inline constexpr int kDone = 0, kVerdictFails = 1, kBadInput = 2, kInternal = 3;

struct Invocation {
  std::vector<std::string> words;  // after the command's name
  std::string program;             // path of this program; `rehearse` stands beside it
  DataRoots roots;
};

// As those of rehearse: results to `out`, which reaches stdout only with kDone or kVerdictFails; InputErrors
// for bad input. Only rank 0 of a job prints.
using Command = int (*)(const Invocation& invocation, std::ostream& out);

int command_run(const Invocation& invocation, std::ostream& out);
int command_plan(const Invocation& invocation, std::ostream& out);
int command_probes(const Invocation& invocation, std::ostream& out);
int command_fit(const Invocation& invocation, std::ostream& out);
int command_compare(const Invocation& invocation, std::ostream& out);
int command_import(const Invocation& invocation, std::ostream& out);
int command_verify(const Invocation& invocation, std::ostream& out);

}  // namespace rehearse::calibration
