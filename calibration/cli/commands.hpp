// The commands of rehearse-calibrate, one file each; main.cpp holds the table.
#pragma once
#include <iosfwd>
#include <string>
#include <vector>

#include "sim/io/paths.hpp"
#include "sim/words/words.hpp"

namespace rehearse::calibration {

struct Invocation {
  std::vector<std::string> words;  // after the command's name
  std::string program;             // path of this program; `rehearse` stands beside it
  DataRoots roots;
};

// Results to `out`, as run_guarded() has it. Only rank 0 of a job prints.
using Command = int (*)(const Invocation& invocation, std::ostream& out);

int command_run(const Invocation& invocation, std::ostream& out);
int command_plan(const Invocation& invocation, std::ostream& out);
int command_probes(const Invocation& invocation, std::ostream& out);
int command_fit(const Invocation& invocation, std::ostream& out);
int command_compare(const Invocation& invocation, std::ostream& out);
int command_import(const Invocation& invocation, std::ostream& out);
int command_verify(const Invocation& invocation, std::ostream& out);

}  // namespace rehearse::calibration
