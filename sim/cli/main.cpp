// Dispatches to the commands; one row each.
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <exception>
#include <iostream>
#include <sstream>

#include "sim/cli/commands.hpp"

namespace rehearse {

namespace {

constexpr Named<Command> kCommands[] = {
    {"run", "simulate one step and report it", command_run},
    {"ledger", "the account book: what each axis cuts, sends and saves; the sayings settled", command_ledger},
    {"score", "predictions against a file of measured steps", command_score},
    {"check", "read and cross-check a scenario, and print its plan", command_check},
    {"schedule", "draw the pipeline, and print its bubble and live activations", command_schedule},
};

std::string executable_path() {
  char path[PATH_MAX];
  const auto length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : std::string();
}

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

int run(const std::vector<std::string>& words) {
  std::ostringstream out;
  const int status = dispatch(words, out);
  if (status != kDone && status != kVerdictFails) return status;
  const std::string text = out.str();
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw InputErrors(InputError{{}, "", "E-FILE-WRITE", "cannot write to standard output", ""});
  return status;
}

}  // namespace

}  // namespace rehearse

int main(int argc, char** argv) {
  try {
    return rehearse::run({argv + 1, argv + argc});
  } catch (const rehearse::InputErrors& found) {
    std::cerr << found.what();
    return rehearse::kBadInput;
  } catch (const std::exception& e) {
    std::cerr << "internal error: " << e.what() << '\n';
    return rehearse::kInternal;
  }
}
