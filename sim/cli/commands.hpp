// The commands, one file each; main.cpp holds the table.
#pragma once
#include "sim/cli/options.hpp"

namespace rehearse {

// A command prints its results to `out` and returns an exit status; see run_guarded().
using Command = int (*)(const Invocation&, std::ostream& out);

int command_batch(const Invocation& invocation, std::ostream& out);
int command_best(const Invocation& invocation, std::ostream& out);
int command_check(const Invocation& invocation, std::ostream& out);
int command_collective(const Invocation& invocation, std::ostream& out);
int command_compare(const Invocation& invocation, std::ostream& out);
int command_ledger(const Invocation& invocation, std::ostream& out);
int command_merge(const Invocation& invocation, std::ostream& out);
int command_report(const Invocation& invocation, std::ostream& out);
int command_run(const Invocation& invocation, std::ostream& out);
int command_schedules(const Invocation& invocation, std::ostream& out);
int command_sensitivity(const Invocation& invocation, std::ostream& out);
int command_scale(const Invocation& invocation, std::ostream& out);
int command_score(const Invocation& invocation, std::ostream& out);
int command_schedule(const Invocation& invocation, std::ostream& out);
int command_topology(const Invocation& invocation, std::ostream& out);
int command_sweep(const Invocation& invocation, std::ostream& out);

}  // namespace rehearse
