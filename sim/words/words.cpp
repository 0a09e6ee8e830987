#include "sim/words/words.hpp"

#include <unistd.h>

#include <boost/program_options.hpp>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "sim/base/error.hpp"
#include "sim/base/names.hpp"
#include "sim/base/text.hpp"

namespace rehearse {

namespace po = boost::program_options;

namespace {

std::string program_name() { return std::filesystem::path(executable_path()).filename().string(); }

[[noreturn]] void refuse(const std::string& message, const CommandHelp& help) {
  throw InputErrors(InputError{
      {}, "", "E-CLI", message, "see " + program_name() + " " + std::string(help.name) + " --help"});
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

void check_count(const std::vector<std::string>& inputs, const CommandHelp& help) {
  const std::string argument(help.argument);
  if (inputs.size() < help.least) refuse(argument + " is missing", help);
  if (inputs.size() <= help.most) return;
  if (help.most == 0) refuse(quote(inputs[0]) + " is not taken", help);
  if (help.most == 1) refuse("one " + argument + " is taken, and " + quote(inputs[1]) + " is a second", help);
  refuse(std::to_string(help.most) + " are taken, and " + quote(inputs[help.most]) + " is one more", help);
}

bool same_file(const std::string& a, const std::string& b) {
  namespace fs = std::filesystem;
  if (a.empty() || b.empty() || a == "-" || b == "-") return false;
  std::error_code failed;
  return fs::weakly_canonical(fs::absolute(a), failed) == fs::weakly_canonical(fs::absolute(b), failed) &&
         !fs::is_character_file(a, failed);
}

}  // namespace

std::optional<std::vector<std::string>> parse_words(const std::vector<std::string>& words,
                                                    const CommandHelp& help,
                                                    const po::options_description& options,
                                                    std::ostream& out) {
  po::options_description visible("options");
  visible.add(options);
  visible.add_options()("help", "this text");
  const auto values = parse(words, visible, help);
  if (values.count("help")) {
    out << "usage: " << program_name() << ' ' << help.name << (help.argument.empty() ? "" : " ")
        << help.argument << " [options]\n"
        << help.text << "\n\n"
        << visible;
    return std::nullopt;
  }
  const auto inputs =
      values.count("input") ? values["input"].as<std::vector<std::string>>() : std::vector<std::string>{};
  check_count(inputs, help);
  for (const auto& [name, value] : values)
    if (const auto* text = boost::any_cast<std::string>(&value.value());
        text && text->empty() && !value.defaulted())
      refuse("--" + name + " needs a value", help);
  return inputs;
}

int run_guarded(const std::function<int(std::ostream& out)>& command) {
  try {
    std::ostringstream out;
    const int status = command(out);
    if (status == kInternal) return status;
    const std::string text = out.str();
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
      throw InputErrors(InputError{{}, "", "E-FILE-WRITE", "cannot write to standard output", ""});
    return status;
  } catch (const InputErrors& found) {
    std::cerr << found.what();
    return kBadInput;
  } catch (const std::exception& e) {
    std::cerr << "internal error: " << e.what() << '\n';
    return kInternal;
  }
}

void refuse(const std::string& message, const std::string& hint) {
  throw InputErrors(InputError{{}, "", "E-CLI", message, hint});
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

void check_outputs(const std::vector<std::string>& inputs,
                   const std::vector<std::pair<std::string, std::string>>& outputs) {
  const auto clash = [](const std::string& message) {
    throw InputErrors(InputError{{}, "", "E-CLI", message, "name another file"});
  };
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto& [option, path] = outputs[i];
    for (const auto& input : inputs)
      if (same_file(path, input)) clash(option + " would overwrite " + quote(input));
    for (size_t j = 0; j < i; ++j)
      if (same_file(path, outputs[j].second)) clash(outputs[j].first + " and " + option + " name one file");
  }
}

std::string executable_path() {
  char path[PATH_MAX];
  const auto length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : std::string();
}

}  // namespace rehearse
