#include "sim/cli/options.hpp"

#include <boost/program_options.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>

namespace rehearse {

namespace po = boost::program_options;

namespace {

[[noreturn]] void refuse(const std::string& message, const CommandHelp& help) {
  throw InputErrors(
      InputError{{}, "", "E-CLI", message, "see rehearse " + std::string(help.name) + " --help"});
}

// The long names, for the nearest spelling.
std::string option_hint(const std::string& word, const po::options_description& all) {
  std::vector<std::string> names;
  for (const auto& option : all.options())
    names.push_back(option->canonical_display_name(po::command_line_style::allow_long));
  return suggest(word, std::vector<std::string_view>(names.begin(), names.end()));
}

po::variables_map parse(const std::vector<std::string>& words, const po::options_description& visible,
                        const CommandHelp& help) {
  po::options_description all;
  all.add(visible);
  all.add_options()("input", po::value<std::vector<std::string>>());
  po::positional_options_description positional;
  positional.add("input", -1);
  const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
  po::variables_map values;
  try {
    po::store(po::command_line_parser(words).options(all).positional(positional).style(style).run(), values);
    po::notify(values);
  } catch (const po::unknown_option& e) {
    const std::string name = e.get_option_name();
    throw InputErrors(
        InputError{{}, "", "E-CLI", "unknown option '" + name + "'", option_hint(name, visible)});
  } catch (const po::error& e) {
    refuse(e.what(), help);
  }
  return values;
}

}  // namespace

bool parse_words(const Invocation& invocation, const CommandHelp& help, const po::options_description& extra,
                 CommonOptions& options, std::ostream& out) {
  po::options_description visible("options");
  visible.add_options()  //
      ("set", po::value(&options.sets)->value_name("KEY.PATH=VALUE"),
       "vary the scenario (repeatable; null removes the key)")                                      //
      ("json", po::value(&options.json)->value_name("FILE|-"), "write JSON; - replaces the table")  //
      ("quiet", po::bool_switch(&options.quiet), "no notes or warnings on stderr")                  //
      ("help", "this text");
  visible.add(extra);
  const auto values = parse(invocation.words, visible, help);
  if (values.count("help")) {
    out << "usage: rehearse " << help.name << ' ' << help.argument << " [options]\n"
        << help.text << "\n\n"
        << visible;
    return false;
  }
  if (!values.count("input")) refuse(std::string(help.argument) + " is missing", help);
  const auto& inputs = values["input"].as<std::vector<std::string>>();
  if (inputs.size() > 1)
    refuse("one " + std::string(help.argument) + " is taken, and " + quote(inputs[1]) + " is a second", help);
  for (const auto& [name, value] : values)
    if (const auto* text = boost::any_cast<std::string>(&value.value());
        text && text->empty() && !value.defaulted())
      refuse("--" + name + " needs a value", help);
  options.input = inputs.front();
  return true;
}

LoadedScenario load(const CommonOptions& options, const DataRoots& roots) {
  LoadedScenario loaded = load_scenario(resolve_scenario(options.input, roots), options.sets, roots);
  print_warnings(loaded.scenario.warnings, options.quiet);
  return loaded;
}

void print_warnings(const std::vector<Warning>& warnings, bool quiet) {
  if (quiet) return;
  for (const auto& warning : warnings)
    std::cerr << "warning: " << warning.message << " [" << warning.code << "]\n";
}

void write_output(const std::string& path, const std::string& text, std::ostream& out) {
  if (path == "-") {
    out << text;
    return;
  }
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file)
    throw InputErrors(
        InputError{{}, "", "E-FILE-WRITE", "cannot write " + quote(path) + ": " + std::strerror(errno), ""});
}

void emit(const CommonOptions& options, const std::string& table, const std::string& json,
          std::ostream& out) {
  if (!options.json.empty()) write_output(options.json, json, out);
  if (options.json != "-") out << table;
}

}  // namespace rehearse
