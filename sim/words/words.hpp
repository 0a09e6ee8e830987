// Command lines and standard output, for both programs.
#pragma once
#include <boost/program_options/options_description.hpp>
#include <boost/program_options/variables_map.hpp>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rehearse {

// Exit statuses of both programs (README).
inline constexpr int kDone = 0, kVerdictFails = 1, kBadInput = 2, kInternal = 3;

struct CommandHelp {
  std::string_view name;       // "check"
  std::string_view argument;   // "SCENARIO"; empty: takes none
  std::string_view text;       // one line
  size_t least = 1, most = 1;  // how many arguments
};

// Reads the words of a command into the variables bound to `options`; the arguments are returned. Nothing
// where --help was asked for and printed to `out`. Throws InputErrors (E-CLI): unknown options with the
// nearest spelling, values that do not parse or are empty, too few or too many arguments.
std::optional<std::vector<std::string>> parse_words(
    const std::vector<std::string>& words, const CommandHelp& help,
    const boost::program_options::options_description& options, std::ostream& out);

// Runs a command whose results go to the stream it is given. They reach stdout where it returns, not where it
// throws: with an error stdout stays empty, unless a part of the input could be answered (kBadInput
// returned). InputErrors, and what the system refuses (E-SYSTEM: no memory, no process, no descriptor), are
// printed to stderr and end in kBadInput, whatever else is thrown in kInternal.
int run_guarded(const std::function<int(std::ostream& out)>& command);

// Writes a whole file, or to `out` for "-". Throws InputErrors: E-FILE-WRITE, E-CLI where it was read.
void write_output(const std::string& path, const std::string& text, std::ostream& out);

// To standard output at once. Throws InputErrors (E-FILE-WRITE).
void write_stdout(std::string_view text);

// Throws InputErrors (E-CLI).
[[noreturn]] void refuse(const std::string& message, const std::string& hint = {});

// Path of the running program, empty where it cannot be told.
std::string executable_path();

}  // namespace rehearse
