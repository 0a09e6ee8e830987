// Dispatches to the commands; one row each.
#include <ostream>

#include "sim/cli/commands.hpp"

namespace rehearse {

namespace {

constexpr Named<Command> kCommands[] = {
    {"run", "simulate one step and report it", command_run},
    {"check", "read and cross-check a scenario, and print its plan", command_check},
    {"topology", "what a cluster is made of: links, bisection, paths; drawings", command_topology},
    {"ledger", "the account book: what each axis cuts, sends and saves; the sayings settled", command_ledger},
    {"schedule", "draw the pipeline, and print its bubble and live activations", command_schedule},
    {"schedules", "compare pipeline schedules: step, bubble, memory, traffic", command_schedules},
    {"compare", "runs side by side, and their differences", command_compare},
    {"sensitivity", "the step against rates, latencies and sizes; where another layout overtakes",
     command_sensitivity},
    {"scale", "strong and weak scaling, the layout chosen anew at each size", command_scale},
    {"sweep", "price all points of a study, and go on where it was stopped", command_sweep},
    {"merge", "make one store of several", command_merge},
    {"best", "the best points of a study, and why they are", command_best},
    {"report", "results as one self-contained page to look at", command_report},
    {"collective", "one collective, size by size, as nccl-tests would print it", command_collective},
    {"score", "predictions against a file of measured steps", command_score},
    {"batch", "answer JSON lines with JSON lines, for other programs", command_batch},
};

void print_help(std::ostream& out) {
  out << "usage: rehearse COMMAND SCENARIO [options]\nRehearses a distributed training step.\n\ncommands:\n";
  for (const auto& command : kCommands) {
    std::string name(command.name);
    name.resize(14, ' ');
    out << "  " << name << command.help << '\n';
  }
  out << "\nrehearse COMMAND --help lists a command's options; rehearse --version names the version.\n"
         "exit status: 0 done, 1 done but the verdict fails, 2 bad command line or input, 3 internal error\n";
}

int dispatch(const std::vector<std::string>& words, std::ostream& out) {
  if (words.empty())
    throw InputErrors(InputError{{}, "", "E-CLI", "a command is missing", suggest("", names_in(kCommands))});
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    print_help(out);
    return kDone;
  }
  if (words[0] == "--version") {
    out << "rehearse " REHEARSE_VERSION "\n";
    return kDone;
  }
  const auto* command = find_named(kCommands, words[0]);
  if (!command)
    throw InputErrors(InputError{
        {}, "", "E-CLI", "unknown command " + quote(words[0]), suggest(words[0], names_in(kCommands))});
  const DataRoots roots = find_data_roots(executable_path(), REHEARSE_INSTALL_DATADIR, REHEARSE_SOURCE_DIR);
  return command->value({{words.begin() + 1, words.end()}, roots}, out);
}

}  // namespace

}  // namespace rehearse

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  return rehearse::run_guarded([&](std::ostream& out) { return rehearse::dispatch(words, out); });
}
