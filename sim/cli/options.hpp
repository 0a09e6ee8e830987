// Command lines: what every command that takes a SCENARIO understands, and what it hands back.
#pragma once
#include <iosfwd>
#include <string>
#include <vector>

#include "sim/io/scenario.hpp"
#include "sim/step/plan.hpp"
#include "sim/words/words.hpp"

namespace rehearse {

// What a command gets: the words after its name, and where shipped data is.
struct Invocation {
  std::vector<std::string> words;
  DataRoots roots;
};

struct CommonOptions {
  std::string input;                // SCENARIO, or what the command takes in its place
  std::vector<std::string> inputs;  // all of them, where it takes several
  std::vector<std::string> sets;
  std::string json;  // file, "-" for stdout in place of the table, empty for none
  bool quiet = false;
};

// Reads the words of a command. `extra` holds the command's own options, bound to its variables. Returns
// false where --help was asked for and printed to `out`. Throws InputErrors (E-CLI).
bool parse_words(const Invocation& invocation, const CommandHelp& help,
                 const boost::program_options::options_description& extra, CommonOptions& options,
                 std::ostream& out);

// Reads the scenario with its settings and prints its warnings to stderr, once each, unless --quiet.
Plan load(const CommonOptions& options, const DataRoots& roots);

void print_warnings(const std::vector<Warning>& warnings, bool quiet);

// Results to where they belong: the table to `out` unless JSON takes its place, the JSON to `out` or to a
// file. Both texts end in a line break. Throws InputErrors (E-FILE-WRITE).
void emit(const CommonOptions& options, const std::string& table, const std::string& json, std::ostream& out);

}  // namespace rehearse
