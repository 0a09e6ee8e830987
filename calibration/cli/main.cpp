// Dispatches to the commands; one row each.
#include <ostream>

#include "calibration/cli/commands.hpp"
#include "sim/base/error.hpp"
#include "sim/base/names.hpp"
#include "sim/base/text.hpp"

namespace rehearse::calibration {

namespace {

constexpr Named<Command> kCommands[] = {
    {"run", "measure this machine, the most valuable shapes first", command_run},
    {"probes", "what is measured", command_probes},
    {"plan", "the kernels and collectives that scenarios need, and the minutes to measure them",
     command_plan},
    {"verify", "run a simulated step for real, side by side", command_verify},
    {"import", "samples out of logs of nccl-tests and tables of others", command_import},
    {"fit", "a profile out of samples, and how good it is", command_fit},
    {"compare", "how two profiles or two runs differ", command_compare},
};

void print_help(std::ostream& out) {
  out << "usage: rehearse-calibrate COMMAND [options]\nMeasures a machine and makes a profile of it.\n\n"
         "commands:\n";
  for (const auto& command : kCommands) {
    std::string name(command.name);
    name.resize(14, ' ');
    out << "  " << name << command.help << '\n';
  }
  out << "\nrehearse-calibrate COMMAND --help lists a command's options; --version names the version.\n"
         "exit status: 0 done, 1 done but something was rejected or missed, 2 bad command line or input, or "
         "no "
         "device, 3 internal error\n";
}

int dispatch(const std::vector<std::string>& words, std::ostream& out) {
  const auto hint = [&](const std::string& word) { return suggest(word, names_in(kCommands)); };
  if (words.empty()) throw InputErrors(InputError{{}, "", "E-CLI", "a command is missing", hint("")});
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    print_help(out);
    return kDone;
  }
  if (words[0] == "--version") {
    out << "rehearse-calibrate " REHEARSE_VERSION "\n";
    return kDone;
  }
  const auto* command = find_named(kCommands, words[0]);
  if (!command)
    throw InputErrors(InputError{{}, "", "E-CLI", "unknown command " + quote(words[0]), hint(words[0])});
  const std::string program = executable_path();
  return command->value({{words.begin() + 1, words.end()},
                         program,
                         find_data_roots(program, REHEARSE_INSTALL_DATADIR, REHEARSE_SOURCE_DIR)},
                        out);
}

}  // namespace

}  // namespace rehearse::calibration

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  return rehearse::run_guarded(
      [&](std::ostream& out) { return rehearse::calibration::dispatch(words, out); });
}
