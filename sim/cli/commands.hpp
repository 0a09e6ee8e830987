// The commands, one file each; main.cpp holds the table.
#pragma once
#include "sim/cli/options.hpp"

namespace rehearse {

// Exit statuses (the README's contract).
inline constexpr int kDone = 0, kVerdictFails = 1, kBadInput = 2, kInternal = 3;

// A command prints its results to `out`, which reaches stdout only where it returns kDone or kVerdictFails:
// with an error stdout stays empty. It throws InputErrors for bad input; anything else that it throws is an
// internal error.
using Command = int (*)(const Invocation&, std::ostream& out);

int command_check(const Invocation& invocation, std::ostream& out);
int command_ledger(const Invocation& invocation, std::ostream& out);
int command_run(const Invocation& invocation, std::ostream& out);
int command_score(const Invocation& invocation, std::ostream& out);
int command_schedule(const Invocation& invocation, std::ostream& out);

}  // namespace rehearse
