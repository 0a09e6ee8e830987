#include "sim/words/words.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <boost/program_options.hpp>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <new>
#include <sstream>
#include <system_error>

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
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

// A descriptor that the caller closed would be given to the next file opened, and then be printed to: it gets
// one that refuses. A file beyond the size that the shell allows is an error and no end of the process.
void prepare_process() {
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(standard, F_GETFD) < 0) open("/dev/null", standard == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  std::signal(SIGXFSZ, SIG_IGN);
}

// What the system does not give is no fault of the program's.
int refused_by_system(const std::string& why) {
  std::cerr << InputErrors(InputError{{}, "", "E-SYSTEM", "the system refuses: " + why, ""}).what();
  return kBadInput;
}

}  // namespace

std::optional<std::vector<std::string>> parse_words(const std::vector<std::string>& words,
                                                    const CommandHelp& help,
                                                    const po::options_description& options,
                                                    std::ostream& out) {
  forget_files();
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
  prepare_process();
  try {
    std::ostringstream out;
    const int status = command(out);
    if (status == kInternal) return status;
    write_stdout(out.str());
    return status;
  } catch (const InputErrors& found) {
    std::cerr << found.what();
    return kBadInput;
  } catch (const std::system_error& e) {
    return refused_by_system(e.what());
  } catch (const std::bad_alloc&) {
    return refused_by_system("there is not enough memory");
  } catch (const std::exception& e) {
    std::cerr << "internal error: " << e.what() << '\n';
    return kInternal;
  }
}

void write_stdout(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw InputErrors(InputError{
        {}, "", "E-FILE-WRITE", std::string("cannot write to standard output: ") + std::strerror(errno), ""});
}

void refuse(const std::string& message, const std::string& hint) {
  throw InputErrors(InputError{{}, "", "E-CLI", message, hint});
}

void write_output(const std::string& path, const std::string& text, std::ostream& out) {
  if (path == "-") {
    out << text;
    return;
  }
  OutputFile file(path);
  file.write(text);
  file.commit();
}

std::string executable_path() {
  char path[PATH_MAX];
  const auto length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : std::string();
}

}  // namespace rehearse
